'use strict';
// Points of a curve to a PNG of one size, in grey.

const zlib = require('node:zlib');

const WIDTH = 320;
const HEIGHT = 200;
const MARGIN = 8; // pixels around the curve
const PAPER = 255;
const AXIS = 190;
const INK = 0;

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

function crc32(data) {
  let crc = 0xffffffff;
  for (const byte of data) crc = CRC_TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'ascii'), data]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(data.length, 0);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc32(body), body.length + 4);
  return frame;
}

function png(rows) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(WIDTH, 0);
  header.writeUInt32BE(HEIGHT, 4);
  header.set([8, 0, 0, 0, 0], 8); // 8 bits of grey; the usual compression, filters, order
  const lines = rows.map((row) => Buffer.concat([Buffer.from([0]), row])); // 0: as it is
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', zlib.deflateSync(Buffer.concat(lines))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

// Return a PNG of the curve through *points*, its values from left to right. What is no number is left out.
function draw(points) {
  const rows = Array.from({ length: HEIGHT }, () => Buffer.alloc(WIDTH, PAPER));
  const finite = points.filter((point) => Number.isFinite(point));
  const low = Math.min(0, ...finite);
  const high = Math.max(0, ...finite);
  const row = (value) =>
    Math.round(HEIGHT - 1 - MARGIN - ((value - low) / (high - low || 1)) * (HEIGHT - 1 - 2 * MARGIN));
  rows[row(0)].fill(AXIS);
  let last = null;
  points.forEach((point, at) => {
    const here = Number.isFinite(point) ? row(point) : null;
    const column = MARGIN + Math.round((at / Math.max(1, points.length - 1)) * (WIDTH - 1 - 2 * MARGIN));
    if (here !== null) {
      const from = last ?? here;
      for (let y = Math.min(from, here); y <= Math.max(from, here); y += 1) rows[y][column] = INK;
    }
    last = here;
  });
  return png(rows);
}

module.exports = { draw };
