'use strict';

const MAX_LINE = 1048576;
const PROTOCOL = 'rterm.plugin.v1';
const READ_WAIT_MS = 250; // half of what a host gives us to exit

class ToolError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// A Map and not a plain object: a request for the tool "constructor" must not
// find what every object inherits.
const tools = new Map([
  ['greet', greet],
  ['add', add],
]);

function greet(input) {
  const name = input?.name;
  if (typeof name !== 'string' || name === '') {
    throw new ToolError('invalid_input', 'name must be a non-empty string');
  }
  return { text: `Hello ${name}` };
}

function add(input) {
  const numbers = input?.numbers;
  if (!Array.isArray(numbers) || !numbers.every((n) => typeof n === 'number')) {
    throw new ToolError('invalid_input', 'numbers must be a list of numbers');
  }
  const sum = numbers.reduce((total, n) => total + n, 0);
  // JSON.stringify would quietly write an overflow as null.
  if (!Number.isFinite(sum)) {
    throw new ToolError('invalid_input', 'the sum is beyond the range of a double');
  }
  return { sum };
}

// Not node:readline, which also ends a line at U+2028 and U+2029: both may
// stand raw inside a JSON string.
async function* readLines(stream) {
  let parts = [];
  let size = 0;
  for await (let chunk of stream) {
    for (;;) {
      const end = chunk.indexOf(0x0a);
      const part = end < 0 ? chunk : chunk.subarray(0, end);
      size += part.length;
      if (size > MAX_LINE) throw new Error(`a line is longer than ${MAX_LINE} bytes`);
      parts.push(part);
      if (end < 0) break;
      yield Buffer.concat(parts);
      parts = [];
      size = 0;
      chunk = chunk.subarray(end + 1);
    }
  }
  if (size > 0) throw new Error('the input ended inside a line');
}

// Returns undefined at the end of the input.
async function readMessage(lines, type) {
  const { value: line, done } = await lines.next();
  if (done) return undefined;
  // Fatal, because a name with replacement characters is not the one we got.
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
  const message = JSON.parse(text);
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw new Error(`expected a ${type}, got no JSON object`);
  }
  if (message.type !== type) throw new Error(`expected a message of type ${type}`);
  return message;
}

function encode(message) {
  const line = JSON.stringify(message);
  if (Buffer.byteLength(line) > MAX_LINE) {
    throw new ToolError('output_too_large', `the response is longer than ${MAX_LINE} bytes`);
  }
  return line + '\n';
}

function send(line) {
  return new Promise((resolve, reject) => {
    process.stdout.write(line, (err) => (err ? reject(err) : resolve()));
  });
}

function respond(request) {
  const response = { type: 'response', request_id: request.request_id };
  try {
    const tool = tools.get(request.tool_name);
    if (!tool) throw new ToolError('unknown_tool', 'the tools are greet and add');
    return encode({ ...response, status: 'ok', output: tool(request.input) });
  } catch (err) {
    if (!(err instanceof ToolError)) throw err;
    const { code, message } = err;
    return encode({ ...response, status: 'error', error: { code, message } });
  }
}

async function main() {
  const lines = readLines(process.stdin);

  const hello = await readMessage(lines, 'handshake');
  if (!hello) return;
  if (hello.protocol_version !== PROTOCOL) throw new Error(`the host does not speak ${PROTOCOL}`);
  await send(encode({
    type: 'handshake',
    manifest: {
      plugin_id: 'greeter-node',
      plugin_version: '1.0.0',
      protocol_version: PROTOCOL,
      exposed_tools: [...tools.keys()],
    },
  }));

  const request = await readMessage(lines, 'request');
  if (!request) return;
  if (typeof request.request_id !== 'string' || typeof request.tool_name !== 'string') {
    throw new Error('request_id and tool_name must be strings');
  }
  await send(respond(request));
  await untilRead(lines);
}

// A host closes our input once it has read the answer. Some stop reading as
// soon as we are gone, and would lose an answer that is still in the pipe.
function untilRead(lines) {
  const late = new Promise((resolve) => setTimeout(resolve, READ_WAIT_MS));
  return Promise.race([lines.next().catch(() => {}), late]);
}

function fail(err) {
  console.error(`greeter-node: ${err.message}`);
  process.exit(1);
}

// A failed write also raises this event, and nobody listening would be a crash
// with a stack trace.
process.stdout.on('error', fail);

// Explicitly, because an open stdin would keep the process alive.
main().then(() => process.exit(0), fail);
