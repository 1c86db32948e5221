// Commands: the service process.Process of envd, over Connect with JSON.

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { HttpError } from '../common/server.mjs';
import { openTerminal } from '../common/terminal.mjs';
import { checkToken, isRoot, reach } from './envd.mjs';

const EDGE_MS = Number(process.env.EMULATOR_EDGE_MS ?? 0); // 0: nothing cuts a stream
const STATUS = { invalid_argument: 400, unauthenticated: 401, not_found: 404, failed_precondition: 400, unimplemented: 501, internal: 500 };
const PIECE = 32768;
const EXITED_MS = 30000; // for so long it is told how a command ended

const rpcError = (code, message) => Object.assign(new Error(message), { rpc: { code, message } });

// ---- frames ----------------------------------------------------------------------------------------------------------

function frame(flags, value) {
    const payload = Buffer.from(JSON.stringify(value));
    const head = Buffer.alloc(5);
    head.writeUInt8(flags);
    head.writeUInt32BE(payload.length, 1);
    return Buffer.concat([head, payload]);
}

/** The one message that the body of a streaming request is. */
async function unframe(request) {
    const body = await request.body();
    if (body.length < 5 || body[0] !== 0 || body.readUInt32BE(1) !== body.length - 5) throw rpcError('invalid_argument', 'protocol error: incomplete envelope');
    return JSON.parse(body.subarray(5).toString());
}

/** What is sent: messages, kept apart from the two ends that a stream may have. */
class Stream extends PassThrough {
    constructor() {
        super();
        this.on('error', () => {});
        if (EDGE_MS > 0) setTimeout(() => this.destroy(new Error('the edge has cut it')), EDGE_MS).unref();
    }

    /** A promise where the reader is slow. */
    event(event) {
        if (this.destroyed || this.writableEnded) return undefined;
        if (this.write(frame(0, { event }))) return undefined;
        return (this.drained ??= this.#room());
    }

    /** Whoever has written too much waits for the same moment: a terminal does not stop for its reader. */
    async #room() {
        const settled = new AbortController(); // the other one is not waited for any longer
        await Promise.race(['drain', 'close'].map((name) => once(this, name, { signal: settled.signal }))).catch(() => {});
        settled.abort();
        this.drained = null;
    }

    over(error) {
        if (!this.destroyed && !this.writableEnded) this.end(frame(2, error ? { error } : {}));
    }
}

// ---- what runs -------------------------------------------------------------------------------------------------------

const is = { number: (value) => Number.isInteger(value) && value >= 0, text: (value) => typeof value === 'string', flag: (value) => typeof value === 'boolean', object: (value) => value !== null && typeof value === 'object' };

/** Fields that proto3 does not know are refused, as is what has another type. */
function only(value, fields, what) {
    if (!is.object(value)) throw rpcError('invalid_argument', `cannot decode message ${what}`);
    for (const [name, one] of Object.entries(value)) {
        if (!fields[name]?.(one)) throw rpcError('invalid_argument', `cannot decode message ${what} from JSON: unknown field "${name}"`);
    }
    return value;
}

const CONFIG = { cmd: is.text, args: (value) => Array.isArray(value) && value.every(is.text), envs: (value) => is.object(value) && Object.values(value).every(is.text), cwd: is.text };
const START = { process: is.object, pty: is.object, stdin: is.flag, tag: is.text };

/** {rows, cols}; undefined: no terminal is asked for. */
function sizeOf(pty) {
    if (pty === undefined) return undefined;
    const { size } = only(pty, { size: is.object }, 'process.PTY');
    only(size, { cols: is.number, rows: is.number }, 'process.PTY.Size');
    return { rows: size.rows ?? 0, cols: size.cols ?? 0 };
}

class Command {
    #streams = new Set();
    #ended = null; // the event
    #early = []; // what it writes before anybody listens

    constructor(sandbox, message, root) {
        const { process: config, pty, stdin = true, tag } = only(message, START, 'process.StartRequest');
        only(config, CONFIG, 'process.ProcessConfig');
        if (!config.cmd) throw rpcError('invalid_argument', 'cmd is empty');
        Object.assign(this, { sandbox, config, stdin, tag, root, size: sizeOf(pty) });
    }

    async start() {
        const { cmd, args = [], cwd, envs } = this.config;
        const send = (stream) => async (bytes) => {
            for (let at = 0; at < bytes.length; at += PIECE) {
                const data = { [stream]: bytes.subarray(at, at + PIECE).toString('base64') };
                this.#early?.push({ data });
                await Promise.all([...this.#streams].map((one) => one.event({ data })));
            }
        };
        try {
            const common = { argv: [cmd, ...args], cwd: cwd || undefined, env: envs, sudo: this.root };
            this.process = this.size ? await openTerminal(this.sandbox.box, { ...common, ...this.size, onOutput: send('pty') })
                : await this.sandbox.box.spawn({ ...common, stdin: this.stdin ? 'pipe' : null, onStdout: send('stdout'), onStderr: send('stderr') });
        } catch (problem) {
            if (problem.what === 'cwd') throw rpcError('invalid_argument', `cwd '${cwd}' does not exist`);
            throw rpcError('internal', `error starting process: ${problem.message}`);
        }
        this.pid = this.process.pid;
        this.sandbox.commands.set(this.pid, this);
        this.signalled = new Promise((resolve) => (this.letGo = resolve));
        Promise.all([this.process.done, Promise.race([this.process.closed, this.signalled])]).then(([result]) => this.#over(result));
        return this;
    }

    /** What is zero is left out. */
    #over({ code, signal }) {
        const failed = signal ? `signal: ${signal === 'SIGKILL' ? 'killed' : signal === 'SIGTERM' ? 'terminated' : signal}` : code !== 0 ? `exit status ${code}` : undefined;
        this.#ended = { end: { ...(signal ? { exitCode: -1 } : { ...(code !== 0 && { exitCode: code }), exited: true }), status: failed ?? 'exit status 0', ...(failed && { error: failed }) } };
        for (const stream of this.#streams) {
            stream.event(this.#ended);
            stream.over();
        }
        this.#streams.clear();
        pause(EXITED_MS, null, { ref: false }).then(() => this.sandbox.commands.get(this.pid) === this && this.sandbox.commands.delete(this.pid));
    }

    get running() { return this.#ended === null; }

    /** From now on. LIMIT_MS, where it is the one who started it: kills the program itself. */
    follow(request, limitMs) {
        const stream = new Stream();
        const seconds = Number(request.headers['keepalive-ping-interval'] ?? 90);
        const beat = setInterval(() => stream.event({ keepalive: {} }), seconds * 1000);
        const late = limitMs && setTimeout(() => {
            this.#streams.delete(stream);
            stream.over({ code: 'deadline_exceeded', message: 'context deadline exceeded' });
            this.process.kill('SIGKILL', false).catch(() => {});
        }, limitMs);
        stream.once('close', () => {
            clearInterval(beat);
            clearTimeout(late);
            this.#streams.delete(stream);
        });
        stream.event({ start: { pid: this.pid } });
        for (const event of this.#early ?? []) stream.event(event);
        this.#early = null;
        if (this.#ended) {
            stream.event(this.#ended);
            stream.over();
        } else {
            this.#streams.add(stream);
        }
        return stream;
    }

    async signal(name) {
        await this.process.kill(name, false);
        if (name === 'SIGKILL') this.letGo();
    }

    /** The sandbox has gone under it: its streams break. */
    cut() {
        for (const stream of this.#streams) stream.destroy(new Error('the sandbox has gone'));
    }
}

// ---- the service -----------------------------------------------------------------------------------------------------

function userOf(request) {
    const { authorization } = request.headers;
    const name = authorization === undefined ? null : /^Basic /.test(authorization) ? Buffer.from(authorization.slice(6), 'base64').toString().replace(/:$/, '') : '';
    const root = isRoot(name);
    if (root === undefined) throw rpcError('unauthenticated', `invalid username: '${name ?? ''}'`);
    return root;
}

function limitOf(request) {
    const text = request.headers['connect-timeout-ms'];
    if (text === undefined) return 0;
    if (!/^\d{1,10}$/.test(text)) throw rpcError('invalid_argument', `protocol error: invalid timeout: "${text}"`);
    if (Number(text) === 0) throw rpcError('deadline_exceeded', 'context deadline exceeded');
    return Number(text);
}

async function arrive(all, request, type) {
    if (request.headers['content-type'] !== type) throw new HttpError(415, '', { 'accept-post': 'application/connect+json, application/json' });
    if (request.headers['connect-protocol-version'] !== '1') throw new HttpError(400, { code: 'invalid_argument', message: 'missing required header: set Connect-Protocol-Version to "1"' });
    const sandbox = await reach(all, request);
    checkToken(sandbox, request);
    return sandbox;
}

const STREAMED = { 'content-type': 'application/connect+json' };

function streaming(all, work) {
    return async (request) => {
        const sandbox = await arrive(all, request, 'application/connect+json');
        try {
            return { headers: STREAMED, stream: await work(sandbox, await unframe(request), request) };
        } catch (problem) {
            if (!problem.rpc) throw problem;
            return { headers: STREAMED, body: frame(2, { error: problem.rpc }) };
        }
    };
}

function unary(all, work) {
    return async (request) => {
        const sandbox = await arrive(all, request, 'application/json');
        try {
            return { json: (await work(sandbox, await request.json(), request)) ?? {} };
        } catch (problem) {
            if (!problem.rpc) throw problem;
            return { status: STATUS[problem.rpc.code] ?? 500, json: problem.rpc };
        }
    };
}

function find(sandbox, { pid, tag } = {}) {
    const command = pid !== undefined ? sandbox.commands.get(pid) : [...sandbox.commands.values()].find((one) => one.tag === tag);
    if (!command) throw rpcError('not_found', `process with ${pid !== undefined ? `pid ${pid}` : `tag ${tag}`} not found`);
    return command;
}

function running(sandbox, selector) {
    const command = find(sandbox, selector);
    if (!command.running) throw rpcError('not_found', `process with pid ${command.pid} not found`);
    return command;
}

async function start(sandbox, message, request) {
    const limit = limitOf(request);
    return (await new Command(sandbox, message, userOf(request)).start()).follow(request, limit);
}

async function sendSignal(sandbox, { process: selector, signal }) {
    const name = { SIGNAL_SIGKILL: 'SIGKILL', SIGNAL_SIGTERM: 'SIGTERM' }[signal];
    if (!name) throw rpcError('unimplemented', `invalid signal: ${signal}`);
    await running(sandbox, selector).signal(name);
}

async function sendInput(sandbox, { process: selector, input }) {
    const { process, size } = running(sandbox, selector);
    only(input, { stdin: is.text, pty: is.text }, 'process.ProcessInput');
    if ((input.pty === undefined) !== (size === undefined)) throw rpcError('failed_precondition', size ? 'tty assigned to process' : 'tty not assigned to process');
    await process.write(Buffer.from(input.pty ?? input.stdin, 'base64'));
}

async function update(sandbox, message) {
    const { process: selector, pty } = only(message, { process: is.object, pty: is.object }, 'process.UpdateRequest');
    const { process, size } = running(sandbox, selector);
    if (pty !== undefined && size === undefined) throw rpcError('failed_precondition', 'tty not assigned to process');
    if (pty !== undefined) await process.resize(sizeOf(pty));
}

const list = (sandbox) => ({ processes: [...sandbox.commands.values()].filter((one) => one.running).map(({ pid, config, tag }) => ({ pid, config, tag })) });

export function processRoutes(all) {
    return [
        ['POST', '/process.Process/Start', streaming(all, start)],
        ['POST', '/process.Process/Connect', streaming(all, (sandbox, { process }, request) => find(sandbox, process).follow(request, 0))],
        ['POST', '/process.Process/List', unary(all, list)],
        ['POST', '/process.Process/SendSignal', unary(all, sendSignal)],
        ['POST', '/process.Process/SendInput', unary(all, sendInput)],
        ['POST', '/process.Process/Update', unary(all, update)],
        ['POST', '/process.Process/CloseStdin', unary(all, async (sandbox, { process }) => void (await running(sandbox, process).process.closeInput()))],
    ];
}
