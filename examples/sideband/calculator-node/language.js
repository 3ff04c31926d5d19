'use strict';
// A calculator's language: code to statements, and expressions to values. Refuses what cannot be read, as a whole.
//
//   statement   NAME = expression, or an expression; on a line of its own, or before a `;`
//   expression  numbers, "texts", names, + - * / ^, brackets, and calls such as sqrt(2); in brackets a line goes on

class CalculatorError extends Error {}

const TOKEN = /[ \t\r]+|#[^\n]*|(\n|;)|(\d+\.?\d*(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|("(?:[^"\\\n]|\\.)*")|([-+*/^(),=])/y;
const FUNCTIONS = Object.assign(Object.create(null), {
  sqrt: Math.sqrt, sin: Math.sin, cos: Math.cos, exp: Math.exp, log: Math.log, abs: Math.abs, round: Math.round,
});

function tokens(code) {
  const found = [];
  let depth = 0; // of brackets: between them a line goes on
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < code.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(code);
    if (match === null) {
      throw new CalculatorError(`line ${code.slice(0, at).split('\n').length}: ${JSON.stringify(code[at])} is nothing I know`);
    }
    const [, end, number, name, text, sign] = match;
    if (sign === '(') depth += 1;
    if (sign === ')') depth -= 1;
    if (end === '\n' && depth > 0) continue;
    if (end !== undefined) found.push({ kind: 'end' });
    else if (number !== undefined) found.push({ kind: 'value', value: Number(number) });
    else if (name !== undefined) found.push({ kind: 'name', name });
    else if (text !== undefined) found.push({ kind: 'value', value: unquoted(text) });
    else if (sign !== undefined) found.push({ kind: sign });
  }
  found.push({ kind: 'end' });
  return found;
}

function unquoted(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new CalculatorError(`${text} is no text I know`);
  }
}

class Parser {
  constructor(code) {
    this.tokens = tokens(code);
    this.at = 0;
  }

  get next() {
    return this.tokens[this.at];
  }

  takes(kind) {
    if (this.next.kind !== kind) return false;
    this.at += 1;
    return true;
  }

  expect(kind) {
    if (!this.takes(kind)) throw new CalculatorError(`expected ${kind}, found ${this.next.name ?? this.next.value ?? this.next.kind}`);
  }

  statements() {
    const found = [];
    while (this.at < this.tokens.length) {
      if (this.takes('end')) continue;
      found.push(this.statement());
      this.expect('end');
    }
    return found;
  }

  statement() {
    const { kind, name } = this.next;
    if (kind === 'name' && this.tokens[this.at + 1].kind === '=') {
      this.at += 2;
      return { name, expression: this.sum() };
    }
    return { name: null, expression: this.sum() };
  }

  sum() {
    return this.leftToRight(['+', '-'], () => this.product());
  }

  product() {
    return this.leftToRight(['*', '/'], () => this.signed());
  }

  leftToRight(signs, operand) {
    let left = operand();
    while (signs.includes(this.next.kind)) {
      const sign = this.next.kind;
      this.at += 1;
      left = { kind: sign, left, right: operand() };
    }
    return left;
  }

  signed() {
    return this.takes('-') ? { kind: '-', left: { kind: 'value', value: 0 }, right: this.signed() } : this.power();
  }

  power() {
    const base = this.operand();
    return this.takes('^') ? { kind: '^', left: base, right: this.signed() } : base;
  }

  operand() {
    const token = this.next;
    if (this.takes('value')) return token;
    if (this.takes('(')) {
      const inner = this.sum();
      this.expect(')');
      return inner;
    }
    this.expect('name');
    return this.takes('(') ? { kind: 'call', name: token.name, args: this.args() } : token;
  }

  args() {
    const found = [];
    while (!this.takes(')')) {
      if (found.length > 0) this.expect(',');
      found.push(this.sum());
    }
    return found;
  }
}

// Return the statements of *code*. Throws a CalculatorError if any of it cannot be read.
function parse(code) {
  return new Parser(code).statements();
}

// Return the value of *expression*. *verbs* are functions that are given their arguments unevaluated.
async function evaluate(expression, names, verbs) {
  const { kind, name } = expression;
  if (kind === 'value') return expression.value;
  if (kind === 'name') {
    if (!names.has(name)) throw new CalculatorError(`there is no ${name}`);
    return names.get(name);
  }
  if (kind === 'call') return call(expression, names, verbs);
  const left = await evaluate(expression.left, names, verbs);
  const right = await evaluate(expression.right, names, verbs);
  return operate(kind, left, right);
}

async function call({ name, args }, names, verbs) {
  if (Object.hasOwn(verbs, name)) return verbs[name](args);
  const known = FUNCTIONS[name];
  if (known === undefined) throw new CalculatorError(`there is no function ${name}`);
  if (args.length !== 1) throw new CalculatorError(`${name} wants one number`);
  return known(number(await evaluate(args[0], names, verbs)));
}

function operate(sign, left, right) {
  if (sign === '+' && (typeof left === 'string' || typeof right === 'string')) return show(left) + show(right);
  const [a, b] = [number(left), number(right)];
  if (sign === '/' && b === 0) throw new CalculatorError('division by zero');
  return { '+': a + b, '-': a - b, '*': a * b, '/': a / b, '^': a ** b }[sign];
}

function number(value) {
  if (typeof value !== 'number') throw new CalculatorError(`${JSON.stringify(value)} is no number`);
  return value;
}

// Return *value* as it is printed.
function show(value) {
  return value === null ? 'nothing' : String(value);
}

module.exports = { CalculatorError, parse, evaluate, show };
