'use strict';

// A plugin of the `envelope` contract without an SDK. Top to bottom: the work, the hooks around it, the wire.

const fs = require('node:fs');
const path = require('node:path');

// As in manifest.yml: the host compares them.
const SELF = { name: 'tidy-node', version: '1.0.0', supported_extensions: ['.txt', '.md'], api_version: '1' };
const MAX_FRAME = 1048576;
const MAX_FILE = 16777216;
const MODES = ['both', 'blanks', 'newline'];
const NOT_OURS = 'readme.md'; // the host writes it

class PluginError extends Error {}

class InputRequired extends Error {
  constructor(fields, reason) {
    super(reason);
    this.fields = fields;
  }
}

// The work. Text is one character per byte here, so that bytes of any encoding survive.

function tidied(text, mode, isMarkdown) {
  let lines = text.split('\n');
  if (mode !== 'newline') lines = lines.map((line) => trimmed(line, isMarkdown));
  let result = lines.join('\n');
  if (mode !== 'blanks') {
    const newline = result.includes('\r\n') ? '\r\n' : '\n';
    let end = result.length;
    while (end > 0 && '\r\n'.includes(result[end - 1])) end--;
    result = end === 0 ? '' : result.slice(0, end) + newline;
  }
  return result;
}

// By hand: a regular expression for blanks at the end looks at a long run of blanks again from each of them.
function trimmed(line, isMarkdown) {
  const ending = line.endsWith('\r') ? '\r' : '';
  const last = line.length - ending.length;
  let end = last;
  while (end > 0 && ' \t'.includes(line[end - 1])) end--;
  // In Markdown, two blanks behind a text are a line break.
  const isBreak = isMarkdown && end > 0 && line.slice(end, last).startsWith('  ');
  return line.slice(0, end) + (isBreak ? '  ' : '') + ending;
}

// The hooks.

function validate(variables) {
  const mode = variables.tidy_mode ?? 'both';
  if (mode === 'ask' || MODES.includes(mode)) return [];
  return [`variable 'tidy_mode' is one of ${MODES.join(', ')} or ask, not ${JSON.stringify(mode)}`];
}

function modeOf(request) {
  const wanted = request.context.variables.tidy_mode ?? 'both';
  const mode = wanted === 'ask' ? request.extra_inputs.tidy_mode : wanted;
  if (mode === undefined && request.dry_run) return 'both'; // a preview disturbs nobody
  if (mode === undefined) {
    throw new InputRequired([{
      id: 'tidy_mode',
      label: 'What to tidy?',
      type: 'choice',
      required: true,
      default: 'both',
      options: MODES,
      hint: 'blanks: those at the ends of lines; newline: the end of the file',
    }], 'The variable tidy_mode says to ask');
  }
  if (!MODES.includes(mode)) throw new PluginError(`there is no way to tidy called ${JSON.stringify(mode)}`);
  return mode;
}

// Returns the entry of one file in the reply.
function handle(file, request) {
  const found = locate(file, request.context.dst_root);
  const stat = fs.lstatSync(found);
  const skipped = { path: file, status: 'skipped', changes: null };
  if (path.basename(found).toLowerCase() === NOT_OURS || !stat.isFile() || stat.size > MAX_FILE) return skipped;
  const before = fs.readFileSync(found, 'latin1');
  if (before.includes('\0')) return skipped; // UTF-16, or no text at all
  const after = tidied(before, modeOf(request), path.extname(found).toLowerCase() === '.md');
  if (request.dry_run) return { path: file, status: 'described', changes: describe(file, before, after) };
  if (after === before) return skipped;
  save(found, after, stat.mode);
  log('INFO', 'tidied', { file, bytes: after.length - before.length });
  return { path: file, status: 'modified', changes: null };
}

function describe(file, before, after) {
  if (after === before) return [];
  const now = after.split('\n');
  const lines = before.split('\n').filter((line, at) => line !== now[at]).length;
  return [{
    path: file,
    kind: 'modify',
    summary: `tidy ${path.basename(file)}`,
    detail: { lines, bytes: after.length - before.length },
  }];
}

function locate(file, root) {
  const found = path.resolve(root, file);
  const inside = path.relative(root, found);
  if (inside === '' || inside === '..' || inside.startsWith(`..${path.sep}`)) {
    throw new PluginError(`${file} is not in the directory of the run`);
  }
  return found;
}

// Beside, then renamed: whoever is killed while writing leaves the old file.
function save(file, text, mode) {
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.tidying`);
  const fd = fs.openSync(temporary, 'wx', 0o600);
  try {
    fs.writeFileSync(fd, text, 'latin1');
    fs.fchmodSync(fd, mode & 0o7777);
    fs.renameSync(temporary, file);
  } catch (err) {
    fs.rmSync(temporary, { force: true });
    throw err;
  } finally {
    fs.closeSync(fd);
  }
}

// The wire: one JSON object in, one out; log lines on stderr; the exit code says how it went.

function log(level, message, context) {
  fs.writeSync(2, `${JSON.stringify({ level, message, context })}\n`);
}

async function readRequest() {
  const chunks = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    size += chunk.length;
    if (size > MAX_FRAME + 1) throw new Error(`the request is longer than ${MAX_FRAME} bytes`);
    chunks.push(chunk);
    if (chunk.includes('\n')) break; // the line has ended; the input may stay open
  }
  // Fatal, because a path with replacement characters is not the one we got.
  const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  const request = JSON.parse(text);
  if (!isObject(request)) throw new Error('the request is not a JSON object');
  const { context, files } = request;
  if (!isObject(context) || !Array.isArray(files) || !files.every((each) => typeof each === 'string')) {
    throw new Error('the request has a context or files of another type');
  }
  const variables = context.variables ?? {};
  const answers = request.extra_inputs ?? {};
  if (!isObject(variables) || !isObject(answers)) throw new Error('variables and extra_inputs are objects');
  return {
    context: { ...context, variables, dst_root: path.resolve(context.dst_root || '.') },
    files,
    dry_run: request.dry_run === true || context.dry_run === true,
    extra_inputs: answers,
  };
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Returns the reply and the exit code.
function answer(request) {
  const perFile = [];
  const reply = { result: 'success', per_file: perFile, log_records: [], input_required: null, error_message: null };
  let current = null;
  try {
    for (current of request.files) perFile.push(handle(current, request));
    return [reply, 0];
  } catch (err) {
    if (err instanceof InputRequired) {
      perFile.push({ path: current, status: 'input_required', changes: null });
      const asked = { fields: err.fields, reason: err.message };
      return [{ ...reply, result: 'input_required', input_required: asked }, 2];
    }
    // What the system says about a file (missing, not readable) is an answer too; what else is thrown is a bug.
    if (!(err instanceof PluginError) && err.syscall === undefined) throw err;
    perFile.push({ path: current, status: 'failed', changes: null, error: err.message });
    return [{ ...reply, result: 'failed', error_message: err.message }, 1];
  }
}

function send(reply) {
  const line = JSON.stringify(reply);
  if (Buffer.byteLength(line) > MAX_FRAME) throw new Error(`the reply is longer than ${MAX_FRAME} bytes`);
  return new Promise((resolve, reject) => {
    process.stdout.write(`${line}\n`, (err) => (err ? reject(err) : resolve()));
  });
}

async function main(args) {
  const isValidation = args.length === 2 && args[0] === '--mode' && args[1] === 'validate';
  if (args.length > 0 && !isValidation) throw new Error(`unknown arguments: ${args.join(' ')}`);
  const request = await readRequest();
  const [reply, code] = isValidation
    ? [{ errors: validate(request.context.variables), plugin: SELF }, 0]
    : answer(request);
  await send(reply);
  return code;
}

function fail(err) {
  log('ERROR', `${err.name}: ${err.message}`, { stack: err.stack });
  process.exit(3);
}

// A failed write also raises this event, and nobody listening would be a crash with another exit code.
process.stdout.on('error', fail);

main(process.argv.slice(2)).then((code) => process.exit(code), fail);
