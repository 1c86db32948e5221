// Contexts: programs in a sandbox. Of each stream only the last mebibyte is kept, as text, and without a word about the rest.

import { randomBytes } from 'node:crypto';
import { apiError, checkQuery, good, invalid, isFlag, isObject, isSeconds, isText, isTexts, read } from './errors.mjs';

const KEPT = Number(process.env.EMULATOR_KEPT ?? 1 << 20);
const OLD = { 1: {}, null: { stdout: null, stderr: null }, empty: { stdout: '', stderr: '' } }[process.env.EMULATOR_OLD]; // of both streams only their order
const NO_BASH = process.env.EMULATOR_BASH === 'none'; // an image without it, and without /workspace
const SWEEP_MS = 30000, GRACE_MS = 5000;

const isCommand = (value) => isObject(value) && Object.keys(value).every((key) => key === 'command') && Array.isArray(value.command) && value.command.every(isText);
const isSize = (value) => isObject(value) && Number.isInteger(value.rows) && Number.isInteger(value.cols);
const FIELDS = { type: isText, cmd: isCommand, repl: isObject, wait_until_done: isFlag, cwd: isText, env_vars: isTexts, ttl_sec: isSeconds, idle_timeout_sec: isSeconds, pty_size: isSize };

class Tail {
    bytes = Buffer.alloc(0);
    add(piece) {
        this.bytes = Buffer.concat([this.bytes, piece]);
        if (this.bytes.length > KEPT) this.bytes = this.bytes.subarray(this.bytes.length - KEPT);
    }
    text() { return this.bytes.toString(); }
}

class Context {
    id = `ctx-${randomBytes(4).toString('hex')}`;
    createdAt = new Date().toISOString();
    stdout = new Tail();
    stderr = new Tail();
    raw = new Tail();

    constructor(body) {
        this.body = body;
    }

    async start(box) {
        const { cmd, cwd, env_vars: env, ttl_sec: ttl } = this.body;
        const [program] = cmd.command;
        try {
            if (NO_BASH && (program === 'bash' || cwd === '/workspace')) throw new Error(program === 'bash' ? 'no such file or directory' : 'chdir /workspace');
            this.process = await box.spawn({ argv: cmd.command, cwd: cwd ?? '/', env, onStdout: (bytes) => this.#take('stdout', bytes), onStderr: (bytes) => this.#take('stderr', bytes) });
        } catch (problem) {
            throw apiError(500, 'create_failed', `process start failed: ${program}: ${problem.code ?? problem.message}`);
        }
        if (ttl > 0) this.timer = setTimeout(() => this.end(), ttl * 1000 + SWEEP_MS);
        this.done = Promise.all([this.process.done, this.process.closed]).then(([{ code, signal }]) => {
            clearTimeout(this.timer);
            this.exitCode = signal ? -1 : code;
            this.state = signal ? 'killed' : code === 0 ? 'stopped' : 'crashed';
        });
    }

    #take(stream, bytes) {
        this[stream].add(bytes);
        this.raw.add(bytes);
    }

    /** To the whole group: politely, then not. */
    async end() {
        clearTimeout(this.timer);
        if (this.exitCode !== undefined) return;
        const late = setTimeout(() => this.process.kill('SIGKILL').catch(() => {}), GRACE_MS);
        await this.process.kill('SIGTERM').catch(() => {});
        this.done.finally(() => clearTimeout(late));
    }

    shown(withRaw = false) {
        const { id, body, createdAt, exitCode, state } = this;
        const some = this.stdout.bytes.length + this.stderr.bytes.length > 0;
        const texts = OLD ?? { stdout: some ? this.stdout.text() : undefined, stderr: some ? this.stderr.text() : undefined };
        return { id, type: 'cmd', alias: '', command: body.cmd.command, cwd: body.cwd ?? '/', env_vars: body.env_vars ?? null, running: exitCode === undefined, paused: false,
            created_at: createdAt, exit_code: exitCode, state, output_raw: withRaw && some ? this.raw.text() : undefined, ...texts };
    }
}

async function create(sandbox, request) {
    checkQuery(request);
    const body = await read(request, FIELDS);
    if (body.type !== 'cmd') throw invalid(`unknown process type ${body.type}`);
    if (!(body.cmd?.command.length > 0)) throw invalid('cmd.command is required');
    const box = await sandbox.awake();
    const context = new Context(body);
    await context.start(box);
    sandbox.contexts.set(context.id, context);
    if (body.wait_until_done) await context.done;
    return good(context.shown(body.wait_until_done), 201);
}

function find(sandbox, request) {
    const context = sandbox.contexts.get(request.params.context);
    if (!context) throw apiError(404, 'context_not_found', 'context not found');
    return context;
}

async function remove(sandbox, request) {
    const context = find(sandbox, request);
    sandbox.contexts.delete(context.id);
    await context.end();
    return good({ deleted: true });
}

async function signal(sandbox, request) {
    const { signal: name } = await read(request, { signal: isText });
    await find(sandbox, request).process.kill(`SIG${name.replace(/^SIG/, '')}`);
    return good({ signaled: true });
}

export function contextRoutes(base, sandboxOf) {
    const on = (handler) => async (request) => handler(sandboxOf(request), request);
    return [
        ['POST', `${base}/contexts`, on(create)],
        ['GET', `${base}/contexts`, on((sandbox) => good({ contexts: [...sandbox.contexts.values()].map((one) => one.shown()) }))],
        ['GET', `${base}/contexts/:context`, on((sandbox, request) => good(find(sandbox, request).shown()))],
        ['DELETE', `${base}/contexts/:context`, on(remove)],
        ['POST', `${base}/contexts/:context/signal`, on(signal)],
    ];
}

