'use strict';
// The two pipes beside the output: lines of JSON to messages, and back. Drops what is no message.

const fs = require('node:fs');
const net = require('node:net');

const LINE_BYTES = 33554432; // of one line without its line feed
const LINE_FEED = 0x0a;
const PROTOCOL_ERROR = 76; // the usual exit status

// Take a descriptor out of the environment, where nobody else shall find it.
function descriptor(variable) {
  const text = process.env[variable];
  delete process.env[variable];
  if (!/^[0-9]+$/.test(text ?? '')) {
    process.stderr.write(`${variable} is not set: this program is started by a host of the sideband contract\n`);
    process.exit(PROTOCOL_ERROR);
  }
  return Number(text);
}

class Sideband {
  // Call *hear* with each message, and *end* when the host has gone.
  constructor(hear, end) {
    this.hear = hear;
    this.end = end;
    this.held = []; // of a line whose end has not come
    this.size = 0; // bytes of it
    const input = descriptor('MCP_CONSOLE_IPC_READ_FD');
    this.output = descriptor('MCP_CONSOLE_IPC_WRITE_FD');
    this.socket = new net.Socket({ fd: input, readable: true, writable: false });
    this.socket.on('data', (data) => this.receive(data));
    for (const event of ['end', 'error', 'close']) this.socket.on(event, end);
  }

  // Write messages that belong together at once, and wait until they are written.
  send(...messages) {
    let rest = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
    try {
      while (rest.length > 0) rest = rest.subarray(fs.writeSync(this.output, rest));
    } catch {
      this.end(); // nobody is there to be told
    }
  }

  receive(data) {
    let begin = 0;
    for (let end = data.indexOf(LINE_FEED); end >= 0; end = data.indexOf(LINE_FEED, begin)) {
      this.hold(data.subarray(begin, end));
      this.finishLine();
      begin = end + 1;
    }
    this.hold(data.subarray(begin));
  }

  // Keep a part of a line, but no more than a line may have.
  hold(part) {
    this.size += part.length;
    if (this.size <= LINE_BYTES) this.held.push(part);
    else this.held = [];
  }

  finishLine() {
    const line = this.size <= LINE_BYTES ? Buffer.concat(this.held) : null;
    this.held = [];
    this.size = 0;
    const message = line === null ? null : decode(line);
    if (message !== null) this.hear(message);
  }
}

// Return the object on *line*, or null if there is none.
function decode(line) {
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line));
    return typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

module.exports = { Sideband };
