'use strict';
// Standard input: bytes that were announced, to text. Whoever asked first is given first, whenever the bytes come.

class Stdin {
  constructor() {
    this.chunks = [];
    this.size = 0;
    this.waiting = []; // each: how many bytes, and whom to give them to
    process.stdin.on('data', (data) => this.receive(data));
  }

  // Resolve to the next *count* bytes, as text.
  take(count) {
    return new Promise((resolve) => {
      this.waiting.push({ count, resolve });
      this.serve();
    });
  }

  receive(data) {
    this.chunks.push(data);
    this.size += data.length;
    this.serve();
  }

  serve() {
    while (this.waiting.length > 0 && this.size >= this.waiting[0].count) {
      const { count, resolve } = this.waiting.shift();
      const all = Buffer.concat(this.chunks);
      this.chunks = [all.subarray(count)];
      this.size -= count;
      resolve(all.toString('utf8', 0, count));
    }
  }
}

module.exports = { Stdin };
