'use strict';
// A worker of the `sideband` contract without an SDK: announced requests to output and messages, one after the other.
// Ends when the host says so, when the host is gone, or with `quit()`.

const { setTimeout: pause } = require('node:timers/promises');

const { CalculatorError, parse, evaluate, show } = require('./language.js');
const { STDERR, STDOUT, write } = require('./output.js');
const { draw } = require('./picture.js');
const { Request } = require('./request.js');
const { Sideband } = require('./sideband.js');
const { Stdin } = require('./stdin.js');

const LONGEST_SLEEP_MS = 2 ** 31 - 1; // of a timer of Node's; a longer one would go off at once
const SAMPLES = 300; // of a curve
const HELP = `numbers, "texts", + - * / ^, NAME = VALUE, sqrt sin cos exp log abs round
print(…) warn(…) input(PROMPT) plot(EXPRESSION WITH x, FROM, TO) repeat(TIMES, EXPRESSION) sleep(SECONDS) quit(STATUS)
`;

class Quit extends Error {
  constructor(status) {
    super('quit');
    this.status = status;
  }
}

class Calculator {
  constructor() {
    this.names = new Map([['pi', Math.PI], ['e', Math.E]]);
    this.stdin = new Stdin();
    this.pictures = 0;
    this.request = null; // that runs, or waits for its turn
    this.lastId = 0; // ids rise
    this.turn = Promise.resolve();
    process.on('SIGINT', () => this.hearSignal()); // before the host knows that there is anybody to interrupt
    this.sideband = new Sideband((message) => this.hear(message), () => process.exit(0));
    this.sideband.send({
      type: 'backend_info',
      language: 'calculator',
      supports_images: true,
      plughost: {
        worker: 'calculator-node',
        version: '1.0.0',
        request_ids: true,
        marks: true,
        image_marks: true,
        pid: process.pid,
      },
    });
  }

  // A signal names no request. One that was meant for the last request was sent before the next one was announced, but
  // may be heard behind it: the loop looks at signals last, and at one that came meanwhile in its next turn. So until
  // then a request does not begin, and no signal is for it.
  hearSignal() {
    if (this.request !== null && !this.request.isNew) this.request.interrupt();
  }

  hear(message) {
    if (message.type === 'session_end') process.exit(0);
    const id = message.request_id;
    if (id !== undefined && !(Number.isSafeInteger(id) && id >= 1)) return;
    if (message.type === 'interrupt') this.interrupt(id);
    if (message.type === 'stdin_write' && id !== undefined && isAnnouncement(message)) this.take(message);
  }

  interrupt(id) {
    const running = this.request !== null && (id === undefined || id === this.request.id);
    const named = id === undefined ? {} : { request_id: id };
    this.sideband.send({ type: 'interrupted', outcome: running ? 'delivered' : 'idle', ...named });
    if (running) this.request.interrupt();
  }

  // Take exactly what was announced from standard input: the code of a request, or an answer to one.
  take(message) {
    const payload = this.stdin.take(Buffer.byteLength(message.text));
    if (this.request?.id === message.request_id) {
      const { request } = this;
      payload.then((given) => request === this.request && request.answer(given));
      return;
    }
    if (message.request_id <= this.lastId) return; // an answer that came too late: forgotten, and never run
    this.lastId = message.request_id;
    const request = new Request(message);
    this.turn = this.turn.then(() => {
      this.request = request;
      return request.begun.then(() => payload).then((code) => this.serve(request, code));
    });
    this.request ??= request; // an interrupt may come before its turn
  }

  async serve(request, code) {
    let failure = null;
    try {
      await this.run(request, code);
    } catch (problem) {
      failure = problem;
    }
    if (failure !== null && !(failure instanceof Quit)) {
      // A RangeError is a nesting too deep for the stack. Anything else is a mistake of ours, and says where.
      const known = failure instanceof CalculatorError || failure instanceof RangeError;
      write(STDERR, `${known ? `error: ${failure.message}` : failure.stack}\n`);
    }
    this.request = null;
    this.finish(request, failure);
  }

  finish(request, failure) {
    const end = { type: 'request_end', request_id: request.id };
    if (request.mark !== undefined) {
      for (const stream of [STDOUT, STDERR]) write(stream, `\x1e${request.mark}\x1e`);
      end.marked = true;
    }
    if (failure instanceof Quit) {
      this.sideband.send(end, { type: 'session_end', reason: 'exit', status: failure.status });
      process.exit(failure.status);
    }
    if (failure !== null) end.error = true;
    this.sideband.send(end);
  }

  // Read all of the code before any of it is run, and show the value of its last expression.
  async run(request, code) {
    const statements = parse(code);
    const verbs = this.verbs(request);
    let value = null;
    for (const { name, expression } of statements) {
      await this.breathe(request);
      const result = await evaluate(expression, this.names, verbs);
      if (name !== null) this.names.set(name, result);
      value = name === null ? result : null;
    }
    if (value !== null) write(STDOUT, `${show(value)}\n`);
  }

  // Let an interrupt be heard, between any two steps.
  async breathe(request) {
    await new Promise(setImmediate);
    request.checkOn();
  }

  // What code can do besides arithmetic. Each is given its arguments as they stand in the code.
  verbs(request) {
    const value = (expression) => evaluate(expression, this.names, this.verbs(request));
    const values = async (expressions) => {
      const found = [];
      for (const expression of expressions) found.push(await value(expression));
      return found;
    };
    const printer = (stream) => async (args) => {
      write(stream, `${(await values(args)).map(show).join(' ')}\n`);
      return null;
    };
    return {
      print: printer(STDOUT),
      warn: printer(STDERR),
      repeat: async ([times, body]) => {
        const count = await value(times);
        for (let at = 0; at < count; at += 1) {
          await this.breathe(request);
          await value(body);
        }
        return null;
      },
      input: async (args) => this.ask(request, show((await values(args))[0] ?? '')),
      sleep: async (args) => {
        const [seconds] = await values(args);
        if (!(seconds >= 0)) throw new CalculatorError('sleep wants seconds');
        const { signal } = request.interruption;
        await pause(Math.min(seconds * 1000, LONGEST_SLEEP_MS), null, { signal }).catch(() => request.checkOn());
        return null;
      },
      plot: async (args) => this.plot(request, args, await values(args.slice(1))),
      help: async () => {
        write(STDOUT, HELP);
        return null;
      },
      quit: async (args) => {
        throw new Quit((await values(args))[0] & 0xff);
      },
    };
  }

  async ask(request, prompt) {
    const named = { prompt, request_id: request.id };
    let line = request.line();
    const start = { type: 'readline_start', ...named };
    if (line === null) {
      this.sideband.send(start);
      while ((line = request.line()) === null) {
        request.checkOn();
        await request.news();
      }
      this.sideband.send({ type: 'readline_result', line, ...named });
    } else {
      this.sideband.send(start, { type: 'readline_result', line, ...named });
    }
    const text = line.trimEnd();
    return String(Number(text)) === text ? Number(text) : text;
  }

  // plot(expression with x, from, to)
  async plot(request, [curve], [from, to]) {
    if (curve === undefined || !(Number.isFinite(from) && Number.isFinite(to) && from < to)) {
      throw new CalculatorError('plot wants an expression with x, and where x begins and ends');
    }
    const verbs = this.verbs(request);
    const points = [];
    for (let at = 0; at < SAMPLES; at += 1) {
      const names = new Map(this.names).set('x', from + ((to - from) * at) / (SAMPLES - 1));
      points.push(await evaluate(curve, names, verbs));
    }
    this.pictures += 1;
    const marked = {};
    if (request.imageMark !== undefined) {
      marked.mark = request.nextImageMark();
      write(STDOUT, `\x1e${marked.mark}\x1e`); // here it belongs, among what is printed
    }
    this.sideband.send({
      type: 'plot_image',
      id: `plot-${this.pictures}`,
      mime_type: 'image/png',
      data: draw(points).toString('base64'),
      is_new: true,
      request_id: request.id,
      ...marked,
    });
    return null;
  }
}

// Whether the members of a `stdin_write` are of their types.
function isAnnouncement({ text, mark, image_mark: imageMark }) {
  return (
    typeof text === 'string' &&
    (mark === undefined || typeof mark === 'string') &&
    (imageMark === undefined || /^[0-9a-f]{32}$/.test(imageMark))
  );
}

new Calculator();
