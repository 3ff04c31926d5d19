'use strict';
// A request of the host's: what it was announced with, what is answered to it, and whether it was interrupted.

const { CalculatorError } = require('./language.js');

class Interrupted extends CalculatorError {
  constructor() {
    super('interrupted');
  }
}

class Request {
  constructor({ request_id: id, mark, image_mark: imageMark }) {
    this.id = id;
    this.mark = mark;
    this.imageMark = imageMark;
    this.pictures = 0;
    this.isNew = true; // it was announced in this turn of the loop, or in the one before; nothing of it runs yet
    this.begun = new Promise(setImmediate)
      .then(() => new Promise(setImmediate))
      .then(() => {
        this.isNew = false;
      });
    this.interruption = new AbortController();
    this.answers = '';
    this.heard = () => {}; // whoever waits for an answer
    this.interruption.signal.addEventListener('abort', () => this.heard());
  }

  answer(text) {
    this.answers += text;
    this.heard();
  }

  // Return the next line that was answered, with its line feed, or null.
  line() {
    const end = this.answers.indexOf('\n') + 1;
    if (end === 0) return null;
    const line = this.answers.slice(0, end);
    this.answers = this.answers.slice(end);
    return line;
  }

  // Resolve when there is something new: an answer, or an interrupt.
  news() {
    return new Promise((resolve) => {
      this.heard = resolve;
    });
  }

  // Return the mark of the next picture: the request's own, and their number in its last eight digits.
  nextImageMark() {
    this.pictures += 1;
    const count = (parseInt(this.imageMark.slice(-8), 16) + this.pictures) % 2 ** 32;
    return this.imageMark.slice(0, -8) + count.toString(16).padStart(8, '0');
  }

  interrupt() {
    this.answers = '';
    this.interruption.abort();
  }

  checkOn() {
    if (this.interruption.signal.aborted) throw new Interrupted();
  }
}

module.exports = { Request };
