// Commands of one session. Standard output and error come in one stream of lines of JSON, as text.

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { randomBytes } from 'node:crypto';
import { apiError, badRequest, checkQuery, isFlag, isInteger, isText, isTexts, read } from './errors.mjs';

const EDGE_MS = Number(process.env.EMULATOR_EDGE_MS ?? 300000); // after so long the edge cuts a stream
const OLD = process.env.EMULATOR_OLD === '1'; // a server that knows nothing of `logs`
const SIGNALS = { 1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 9: 'SIGKILL', 15: 'SIGTERM' };
const NUMBERS = Object.fromEntries(Object.entries(SIGNALS).map(([number, name]) => [name, Number(number)]));
const FIELDS = { command: (value) => isText(value) && value !== '', args: (value) => Array.isArray(value) && value.every(isText), cwd: isText, env: isTexts,
    sudo: isFlag, wait: isFlag, logs: isFlag, timeout: isInteger };

const line = (value) => `${JSON.stringify(value)}\n`;

class Command {
    id = `cmd_${randomBytes(10).toString('hex')}`;
    exitCode = null;
    startedAt = Date.now();
    logs = [];
    #listeners = new Set();

    constructor(session, body) {
        Object.assign(this, { session, body });
    }

    async start() {
        const { command, args = [], cwd, env, sudo, timeout } = this.body;
        const box = this.session.box;
        try {
            this.process = await box.spawn({ argv: [command, ...args], cwd: cwd || '/vercel/sandbox', env, sudo: sudo === true,
                onStdout: (bytes) => this.#log('stdout', bytes), onStderr: (bytes) => this.#log('stderr', bytes) });
        } catch (problem) {
            if (problem.what === 'cwd') throw badRequest(`cwd ${cwd} does not exist`);
            if (problem.code === 'ENOENT' || problem.code === 'EACCES') throw apiError(400, 'executable_not_found', `exec: "${command}": executable file not found in $PATH`);
            throw badRequest(`cannot start ${command}: ${problem.code ?? problem.message}`);
        }
        if (timeout > 0) this.timer = setTimeout(() => this.process.kill('SIGKILL'), timeout);
        this.done = Promise.all([this.process.done, this.process.closed]).then(([{ code, signal }]) => {
            clearTimeout(this.timer);
            this.durationMs = Date.now() - this.startedAt;
            this.exitCode = signal ? 128 + (NUMBERS[signal] ?? 9) : code;
            for (const listener of this.#listeners) listener(null);
        });
        return this;
    }

    /** The sandbox ends under it. */
    interrupt() {
        if (this.exitCode !== null) return;
        this.logs.push({ stream: 'error', data: { code: 'sandbox_stopped', message: 'The sandbox was stopped while the command was running' } });
        for (const listener of this.#listeners) listener(this.logs.at(-1));
    }

    /** Text, chunk by chunk: what is cut in the middle of a character is damaged. */
    async #log(stream, bytes) {
        this.logs.push({ stream, data: bytes.toString() });
        await Promise.all([...this.#listeners].map((listener) => listener(this.logs.at(-1))));
    }

    shown() {
        const { id, body, session, exitCode, durationMs, startedAt } = this;
        return { id, name: body.command, args: body.args ?? [], cwd: body.cwd ?? '/vercel/sandbox', sessionId: session.id, exitCode, durationMs, startedAt };
    }

    /** All lines from the first on until it has ended; LAST: what follows them. */
    stream(first, last, withLogs = true) {
        const lines = new PassThrough();
        const write = (value) => {
            if (lines.destroyed || lines.writableEnded || lines.write(line(value))) return undefined;
            return Promise.race([once(lines, 'drain'), once(lines, 'close')]).catch(() => {});
        };
        const end = () => {
            if (last) write(last());
            lines.end();
        };
        const listener = (entry) => {
            if (entry === null) return end();
            if (entry.stream === 'error') {
                write(entry);
                return void lines.end();
            }
            return withLogs ? write(entry) : undefined;
        };
        if (first) write(first);
        for (const entry of this.logs) listener(entry);
        if (this.exitCode !== null) end();
        else this.#listeners.add(listener);
        const edge = setTimeout(() => lines.destroy(new Error('the edge has cut it')), EDGE_MS);
        lines.on('error', () => {}).on('close', () => {
            clearTimeout(edge);
            this.#listeners.delete(listener);
        });
        return { headers: { 'content-type': 'application/x-ndjson' }, stream: lines };
    }
}

async function start(session, request) {
    checkQuery(request);
    session.mustRun();
    const body = await read(request, FIELDS, ['command']);
    const command = await new Command(session, body).start();
    session.commands.set(command.id, command);
    const first = { command: { ...command.shown(), exitCode: null } };
    if (!body.wait) return { json: first };
    return command.stream(first, () => ({ command: command.shown() }), body.logs === true && !OLD);
}

function find(session, request) {
    session.mustRun(); // those of a session that is over are gone
    const command = session.commands.get(request.params.command);
    if (!command) throw apiError(404, 'not_found', `Command not found: ${request.params.command}`);
    return command;
}

async function kill(session, request) {
    const command = find(session, request);
    const { signal } = await read(request, { signal: (value) => Object.hasOwn(SIGNALS, value) && isInteger(value) }, ['signal']);
    await command.process.kill(SIGNALS[signal]);
    return { json: { command: command.shown() } };
}

async function show(session, request) {
    checkQuery(request, 'wait');
    const command = find(session, request);
    if (request.query.get('wait') === 'true') await command.done;
    return { json: { command: command.shown() } };
}

export function commandRoutes(base, sessionOf) {
    const on = (handler) => async (request) => handler(sessionOf(request), request);
    return [
        ['POST', `${base}/cmd`, on(start)],
        ['GET', `${base}/cmd`, on((session) => ({ json: { commands: [...session.commands.values()].map((one) => one.shown()) } }))],
        ['GET', `${base}/cmd/:command`, on(show)],
        ['GET', `${base}/cmd/:command/logs`, on((session, request) => find(session, request).stream(null, null))],
        ['POST', `${base}/cmd/:command/kill`, on(kill)],
    ];
}
