'use strict';
// Standard output and standard error, as they are.

const fs = require('node:fs');

const STDOUT = 1;
const STDERR = 2;

// Write all of *text*, and wait until it is written: what is printed comes before what is then said of it.
function write(descriptor, text) {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(descriptor, rest));
    } catch (problem) {
      if (problem.code !== 'EPIPE') throw problem;
      return; // nobody reads it
    }
  }
}

module.exports = { STDERR, STDOUT, write };
