// Commands: executions, what they print, and the streams of that.

import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { checkQuery, failure, isFlag, isText, isTextList, isWhole, oneOf, read } from './errors.mjs';

const CAP = Number(process.env.EMULATOR_CAP ?? 4 << 20); // of what one answer holds of a stream, in bytes
const IDLE_MS = Number(process.env.EMULATOR_IDLE_MS ?? 10000); // after which a silent stream is ended
const HELD_S = Number(process.env.EMULATOR_HELD_S ?? 0); // execute waits so long at least, whatever the client says
const PIECE = Number(process.env.EMULATOR_PIECE ?? 32768);
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function uuid7() {
    const bytes = randomBytes(16);
    bytes.writeUIntBE(Date.now(), 0, 6);
    bytes[6] = (bytes[6] & 0x0f) | 0x70;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** What was printed to one stream. */
class Output {
    pieces = [];
    length = 0;

    add(bytes) {
        this.pieces.push(bytes);
        this.length += bytes.length;
    }

    bytes() {
        if (this.pieces.length > 1) this.pieces = [Buffer.concat(this.pieces)];
        return this.pieces[0] ?? Buffer.alloc(0);
    }

    /** The last lines as text, and whether there was more. */
    last(count) {
        const all = this.bytes();
        let from = Math.max(0, all.length - CAP);
        let seen = 0;
        for (let at = all.length - 2; at >= from; at--) {
            if (all[at] !== 10 || ++seen < count) continue;
            from = at + 1;
            break;
        }
        return [all.subarray(from).toString(), from > 0];
    }
}

class Execution {
    status = 'queued';
    exit_status = null;
    stdout = new Output();
    stderr = new Output();
    changed = Promise.withResolvers();

    constructor(devbox, id, { command, attach_stdin, shell_name }) {
        Object.assign(this, { devbox, id, command, attach_stdin, shell_name });
    }

    note() {
        this.changed.resolve();
        this.changed = Promise.withResolvers();
    }

    async start() {
        const take = (output) => (bytes) => {
            output.add(Buffer.from(bytes));
            this.note();
        };
        this.status = 'running';
        this.process = await this.devbox.box.spawn({ argv: ['/bin/bash', '-c', this.command], cwd: this.devbox.home,
            stdin: this.attach_stdin ? 'pipe' : null, onStdout: take(this.stdout), onStderr: take(this.stderr) });
        this.done = Promise.all([this.process.done, this.process.closed]).then(([{ code, signal }]) => {
            this.exit_status = signal ? 128 + 9 : code;
            this.status = 'completed';
            this.devbox.usedAt = Date.now();
            this.note();
        });
        return this;
    }

    show(last) {
        const [stdout, stdoutTruncated] = this.stdout.last(last);
        const [stderr, stderrTruncated] = this.stderr.last(last);
        return { devbox_id: this.devbox.id, execution_id: this.id, status: this.status, exit_status: this.exit_status, shell_name: this.shell_name ?? null,
            stdout, stderr, stdout_truncated: stdoutTruncated, stderr_truncated: stderrTruncated };
    }

    /** Waits for the end, so many seconds. */
    async wait(seconds) {
        let timer;
        await Promise.race([this.done, new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000)))]);
        clearTimeout(timer);
    }
}

// ---- requests --------------------------------------------------------------------------------------------------------

function lastOf(request) {
    checkQuery(request, 'last_n');
    const text = request.query.get('last_n') ?? '100';
    if (!/^\d+$/.test(text) || Number(text) >= 10000 || Number(text) < 1) throw failure(400, 'last_n must be less than 10000');
    return Number(text);
}

function executionOf(devboxes, request) {
    const devbox = devboxes.get(request.params.id);
    const execution = devbox.executions.get(request.params.execution);
    if (!execution) throw failure(404, `Execution ${request.params.execution} not found`);
    return execution;
}

async function begin(devboxes, request, id, body) {
    const devbox = devboxes.running(request.params.id);
    if (Buffer.byteLength(body.command) > 131072) throw failure(400, 'command is too long');
    if (body.command.includes('\0')) throw failure(400, 'command holds a NUL');
    const execution = new Execution(devbox, id, body);
    devbox.executions.set(id, execution);
    await execution.start();
    return execution;
}

async function execute(devboxes, request) {
    const last = lastOf(request);
    const body = await read(request, { command: isText, command_id: (value) => UUID7.test(value), optimistic_timeout: (value) => isWhole(value) && value <= 25,
        shell_name: isText }, ['command', 'command_id']);
    const known = devboxes.get(request.params.id).executions.get(body.command_id);
    const execution = known ?? (await begin(devboxes, request, body.command_id, body));
    await execution.wait(Math.max(body.optimistic_timeout ?? 25, HELD_S));
    if (body.optimistic_timeout === 0) throw failure(408, 'Request timed out');
    return { json: execution.show(last) };
}

async function executeAsync(devboxes, request) {
    const body = await read(request, { command: isText, attach_stdin: isFlag, shell_name: isText }, ['command']);
    return { json: (await begin(devboxes, request, uuid7(), body)).show(100) };
}

async function executeSync(devboxes, request) {
    const body = await read(request, { command: isText, shell_name: isText }, ['command']);
    const execution = await begin(devboxes, request, uuid7(), body);
    await execution.wait(60);
    const { devbox_id, exit_status, stdout, stderr } = execution.show(9999);
    return { json: { devbox_id, exit_status, stdout, stderr } };
}

async function waitForStatus(devboxes, request) {
    const last = lastOf(request);
    const { statuses, timeout_seconds } = await read(request, { statuses: isTextList, timeout_seconds: (value) => isWhole(value) && value <= 25 }, ['statuses']);
    const execution = executionOf(devboxes, request);
    if (statuses.length === 0 || statuses.some((status) => !oneOf('queued', 'running', 'completed')(status))) throw failure(400, 'bad statuses');
    if (!statuses.includes(execution.status)) await execution.wait(timeout_seconds ?? 25);
    if (!statuses.includes(execution.status)) throw failure(408, 'Request timed out', { 'x-should-retry': 'true' });
    return { json: execution.show(last) };
}

async function kill(devboxes, request) {
    const { kill_process_group } = await read(request, { kill_process_group: isFlag });
    const execution = executionOf(devboxes, request);
    if (execution.status === 'running') await execution.process.kill('SIGKILL', kill_process_group ?? false);
    await execution.wait(2);
    return { json: execution.show(100) };
}

async function sendInput(devboxes, request) {
    const { text, signal } = await read(request, { text: isText, signal: oneOf('EOF', 'INTERRUPT') });
    const execution = executionOf(devboxes, request);
    if (!execution.attach_stdin) throw failure(400, 'The execution has no standard input');
    if (text) await execution.process.write(Buffer.from(text));
    if (signal === 'EOF') execution.process.closeInput();
    if (signal === 'INTERRUPT') await execution.process.kill('SIGINT', true);
    return { json: { devbox_id: execution.devbox.id, execution_id: execution.id, success: true } };
}

// ---- streams ---------------------------------------------------------------------------------------------------------

/** Where a piece of at most PIECE bytes ends that begins at FROM: not in the middle of a character. */
function pieceEnd(bytes, from, final) {
    let end = Math.min(from + PIECE, bytes.length);
    if (final && end === bytes.length) return end;
    let start = end - 1;
    while (start > from && (bytes[start] & 0xc0) === 0x80) start--;
    const lead = bytes[start];
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (start + length > end) end = start;
    return end > from ? end : Math.min(from + PIECE, bytes.length);
}

async function* updates(execution, output, from) {
    let at = from;
    yield ': stream of updates\n\n';
    for (;;) {
        const { promise } = execution.changed;
        const final = execution.status === 'completed';
        while (at < output.length) {
            const bytes = output.bytes();
            const end = pieceEnd(bytes, at, final);
            if (end <= at) break;
            yield `data: ${JSON.stringify({ output: bytes.subarray(at, end).toString(), offset: end })}\n\n`;
            at = end;
        }
        if (final) return;
        let timer;
        const idle = new Promise((resolve) => (timer = setTimeout(resolve, IDLE_MS, 'idle')));
        const what = await Promise.race([promise, idle]);
        clearTimeout(timer);
        if (what === 'idle') {
            yield `event: error\r\ndata: ${JSON.stringify({ code: '408', message: 'idle timeout' })}\r\n\r\n`;
            return;
        }
    }
}

function stream(devboxes, request, name) {
    checkQuery(request, 'offset');
    const execution = executionOf(devboxes, request);
    const offset = request.query.get('offset') ?? '0';
    if (!/^\d+$/.test(offset)) throw failure(400, 'offset must be a number');
    if (!(request.headers.accept ?? '').includes('text/event-stream')) throw failure(406, 'Accept must be text/event-stream');
    return { headers: { 'content-type': 'text/event-stream' }, stream: Readable.from(updates(execution, execution[name], Number(offset)), { objectMode: false }) };
}

export function executionRoutes(devboxes) {
    const base = '/v1/devboxes/:id';
    const on = (work) => (request) => work(devboxes, request);
    return [
        ['POST', `${base}/execute`, on(execute)],
        ['POST', `${base}/execute_async`, on(executeAsync)],
        ['POST', `${base}/execute_sync`, on(executeSync)],
        ['GET', `${base}/executions/:execution`, (request) => {
            const last = lastOf(request);
            return { json: executionOf(devboxes, request).show(last) };
        }],
        ['POST', `${base}/executions/:execution/wait_for_status`, on(waitForStatus)],
        ['POST', `${base}/executions/:execution/kill`, on(kill)],
        ['POST', `${base}/executions/:execution/send_std_in`, on(sendInput)],
        ['GET', `${base}/executions/:execution/stream_stdout_updates`, (request) => stream(devboxes, request, 'stdout')],
        ['GET', `${base}/executions/:execution/stream_stderr_updates`, (request) => stream(devboxes, request, 'stderr')],
    ];
}
