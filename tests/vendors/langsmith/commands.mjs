// Commands of one sandbox: over a WebSocket each, which can come back to a command by its id, or over a plain POST.

import { HttpError } from '../common/server.mjs';

const RING = 1 << 20; // bytes of each stream that are kept for those who come back
const WAITING = 1 << 20; // unsent bytes at which a command is made to wait

const failure = (status, error, message) => new HttpError(status, { detail: { error, message } });
const isSeconds = (value) => Number.isSafeInteger(value) && value >= -1;
const isTexts = (value) => value !== null && typeof value === 'object' && Object.values(value).every((one) => typeof one === 'string');
const isText = (value) => typeof value === 'string';
const isFlag = (value) => typeof value === 'boolean';
const isId = (value) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value);

const EXECUTE = { type: isText, command: isText, timeout_seconds: isSeconds, shell: isText, idle_timeout_seconds: isSeconds, kill_on_disconnect: isFlag,
    ttl_seconds: isSeconds, command_id: isId, close_stdin: isFlag, env: isTexts, cwd: isText, run_config: isTexts, pty: isFlag };
const RECONNECT = { type: isText, command_id: isId, stdout_offset: isSeconds, stderr_offset: isSeconds };
const POST = { command: isText, timeout: isSeconds, timeout_seconds: isSeconds, shell: isText, env: isTexts, cwd: isText, run_config: isTexts };

/** What is wrong with MESSAGE, or undefined. */
function fault(message, fields, required) {
    for (const [name, value] of Object.entries(message)) {
        if (!fields[name]) return `unknown field ${name}`;
        if (!fields[name](value)) return `${name} is not valid`;
    }
    const missing = required.find((name) => message[name] === undefined);
    if (missing) return `${missing} is missing`;
    return message.run_config && (message.env || message.cwd) ? 'run_config cannot be combined with env or cwd' : undefined;
}

class Command {
    streams = { stdout: { pieces: [], begin: 0, end: 0 }, stderr: { pieces: [], begin: 0, end: 0 } };
    sockets = new Set();
    last = null; // the message that ended it

    constructor(box, message, config) {
        Object.assign(this, { box, message, config });
    }

    async start() {
        const { command, shell = '/bin/bash', env, cwd, close_stdin, run_config, timeout_seconds } = this.message;
        this.process = await this.box.spawn({
            argv: [shell, '-c', command],
            cwd: run_config?.work_dir ?? cwd ?? this.config.work_dir ?? '/root',
            env: { ...env, ...run_config?.env_vars },
            stdin: close_stdin ? null : {}, // an open pipe
            onStdout: (bytes) => this.#output('stdout', bytes),
            onStderr: (bytes) => this.#output('stderr', bytes),
        });
        if (timeout_seconds > 0) {
            this.timer = setTimeout(() => {
                this.process.kill('SIGKILL');
                this.finish({ type: 'error', error: `command timed out after ${timeout_seconds} s`, error_type: 'CommandTimeout' });
            }, timeout_seconds * 1000);
        }
        // Like the service, which waits until nobody holds the output any more.
        Promise.all([this.process.done, this.process.closed]).then(([{ code, signal }]) =>
            this.finish({ type: 'exit', exit_code: signal ? 128 + 9 : code }));
        return this;
    }

    /** What is no UTF-8 is replaced, chunk by chunk, and offsets count the replacement. */
    async #output(name, bytes) {
        const stream = this.streams[name];
        const data = bytes.toString();
        stream.pieces.push({ data, offset: stream.end });
        stream.end += Buffer.byteLength(data);
        while (stream.end - stream.pieces[0].offset > RING) stream.pieces.shift();
        const text = JSON.stringify({ type: name, data, offset: stream.pieces.at(-1).offset });
        for (const socket of this.sockets) {
            socket.send(text);
            while (socket.bufferedAmount > WAITING && socket.readyState === 1) await new Promise((resolve) => setTimeout(resolve, 5));
        }
    }

    finish(message) {
        if (this.last) return;
        this.last = message;
        clearTimeout(this.timer);
        clearTimeout(this.idle);
        for (const socket of this.sockets) socket.send(JSON.stringify(message));
        const { ttl_seconds = 600 } = this.message;
        if (ttl_seconds >= 0) setTimeout(() => (this.expired = true), ttl_seconds * 1000).unref();
    }

    attach(socket, offsets = { stdout: 0, stderr: 0 }) {
        clearTimeout(this.idle);
        socket.send(JSON.stringify({ type: 'started', command_id: this.message.command_id, pid: this.process.pid }));
        for (const [name, stream] of Object.entries(this.streams)) {
            for (const { data, offset } of stream.pieces) {
                const bytes = Buffer.from(data), skip = Math.max(0, offsets[name] - offset);
                if (skip < bytes.length) socket.send(JSON.stringify({ type: name, data: bytes.subarray(skip).toString(), offset: offset + skip }));
            }
        }
        if (this.last) return void socket.send(JSON.stringify(this.last));
        this.sockets.add(socket);
        socket.on('close', () => this.#detach(socket));
    }

    #detach(socket) {
        this.sockets.delete(socket);
        if (this.sockets.size > 0 || this.last) return;
        const { kill_on_disconnect, idle_timeout_seconds = 300 } = this.message;
        if (kill_on_disconnect) this.process.kill('SIGKILL');
        else if (idle_timeout_seconds >= 0) this.idle = setTimeout(() => this.process.kill('SIGKILL'), idle_timeout_seconds * 1000).unref();
    }

    async tell(message) {
        if (message.type === 'kill') await this.process.kill('SIGKILL');
        else if (message.type === 'close_stdin') await this.process.closeInput();
        else if (message.type === 'input' && isText(message.data)) await this.process.write(Buffer.from(message.data));
    }
}

export class Commands {
    #box;
    #config;
    #commands = new Map();

    constructor(box, config) {
        this.#box = box;
        this.#config = config;
    }

    running() { return [...this.#commands.values()].filter((one) => !one.last).map((one) => one.message.command_id); }

    /** The sandbox was stopped: nothing of them is left. */
    end() {
        for (const command of this.#commands.values()) for (const socket of command.sockets) socket.close(1001, 'stopped');
        this.#commands.clear();
    }

    serve(socket) {
        let command = null;
        let turn = Promise.resolve();
        socket.on('message', (bytes, binary) => {
            turn = turn.then(async () => {
                if (binary) return void socket.close(1003, 'text only');
                const message = JSON.parse(bytes);
                if (command) return command.tell(message);
                command = await this.#first(message);
                command.attach(socket, message.type === 'reconnect' ? { stdout: message.stdout_offset ?? 0, stderr: message.stderr_offset ?? 0 } : undefined);
            }).catch((problem) => {
                socket.send(JSON.stringify({ type: 'error', error: problem.message, error_type: problem.type ?? 'CommandError' }));
                socket.close(1000);
            });
        });
    }

    async #first(message) {
        const [fields, required] = message.type === 'reconnect' ? [RECONNECT, ['command_id']] : [EXECUTE, ['command', 'timeout_seconds', 'command_id']];
        const wrong = ['execute', 'reconnect'].includes(message.type) ? fault(message, fields, required) : `unexpected message ${message.type}`;
        if (wrong) throw new Error(wrong);
        const known = this.#commands.get(message.command_id);
        if (message.type === 'reconnect') {
            if (!known) throw Object.assign(new Error('no such command'), { type: 'CommandNotFound' });
            if ((await known).expired) throw Object.assign(new Error('the command is no longer kept'), { type: 'SessionExpired' });
            return known;
        }
        if (known) return known; // get or create: the same id is the same command
        const begun = new Command(this.#box, message, this.#config);
        const starting = begun.start();
        this.#commands.set(message.command_id, Object.assign(starting, { message, get last() { return begun.last; }, sockets: begun.sockets }));
        return starting;
    }

    async post(request) {
        if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw failure(415, 'UnsupportedMediaType', 'the body must be application/json');
        const message = await request.json();
        const wrong = fault(message, POST, ['command']);
        if (wrong) throw failure(400, 'InvalidRequest', wrong);
        const { command, shell = '/bin/bash', env, cwd, run_config } = message;
        const seconds = message.timeout_seconds ?? message.timeout ?? 60;
        const out = [], err = [];
        const running = await this.#box.spawn({ argv: [shell, '-c', command], cwd: run_config?.work_dir ?? cwd ?? '/root', env: { ...env, ...run_config?.env_vars },
            onStdout: (bytes) => void out.push(bytes), onStderr: (bytes) => void err.push(bytes) });
        let late = false;
        const timer = setTimeout(() => {
            late = true;
            running.kill('SIGKILL');
        }, seconds * 1000);
        const [{ code, signal }] = await Promise.all([running.done, running.closed]);
        clearTimeout(timer);
        if (late) throw failure(408, 'CommandTimeout', `command timed out after ${seconds} s`);
        return { json: { stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString(), exit_code: signal ? 137 : code } };
    }
}
