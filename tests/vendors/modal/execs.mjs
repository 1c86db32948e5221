// The command router: processes in a sandbox, their input and output, and snapshots.

import { code, GrpcError, has } from '../common/grpc.mjs';
import { refuse } from './ids.mjs';
import { ALLOWLIST, check, wall } from './network.mjs';
import { FS_TOOLS, runFsTool } from './fstools.mjs';

const SECOND_MS = Number(process.env.EMULATOR_SECOND_MS ?? 1000);
const PIECE = Number(process.env.EMULATOR_PIECE ?? 65536); // bytes of one message
const ARGUMENTS = 65536;
const LOST = Number(process.env.EMULATOR_LOST ?? 0);
const TWICE = Number(process.env.EMULATOR_TWICE ?? 0);
const KEY_CUTS = Number(process.env.EMULATOR_KEY_CUTS ?? 0);

/** Output that is kept, to be read from any offset as long as it grows. */
class Spool {
    #pieces = [];
    #length = 0;
    #ended = false;
    #wake = [];

    add(bytes) {
        this.#pieces.push({ at: this.#length, bytes: Buffer.from(bytes) });
        this.#length += bytes.length;
        this.#wake.splice(0).forEach((wake) => wake());
    }

    end() {
        this.#ended = true;
        this.#wake.splice(0).forEach((wake) => wake());
    }

    async *read(offset) {
        if (offset > this.#length) throw new GrpcError(code.OUT_OF_RANGE, 'there is no such offset yet');
        let index = this.#pieces.findIndex((piece) => piece.at + piece.bytes.length > offset);
        if (index < 0) index = this.#pieces.length;
        for (;;) {
            if (index < this.#pieces.length) {
                const { at, bytes } = this.#pieces[index++];
                for (let from = Math.max(0, offset - at); from < bytes.length; from += PIECE) yield bytes.subarray(from, from + PIECE);
            } else if (this.#ended) {
                return;
            } else {
                await new Promise((resolve) => this.#wake.push(resolve));
            }
        }
    }
}

class Exec {
    stdout = new Spool();
    stderr = new Spool();
    running = true;
    written = 0;
    closed = false;
    cut = false; // its output, by a key that expired
    end = null; // {code} or {signal}
    #over = {};

    constructor() {
        this.over = new Promise((resolve) => (this.#over.resolve = resolve));
    }

    async start(sandbox, message, env) {
        const { command_args: argv, stdout_config: out, stderr_config: err, timeout_secs: seconds } = message;
        const sinks = { onStdout: (bytes) => void (out === 1 && this.stdout.add(bytes)), onStderr: (bytes) => void (err === 1 && this.stderr.add(bytes)) };
        this.job = argv[0] === FS_TOOLS ? runFsTool(sandbox.box, argv.slice(1), sinks)
            : await sandbox.box.spawn({ argv, cwd: message.workdir || sandbox.cwd, env, stdin: 'pipe', ...sinks });
        const timer = seconds ? setTimeout(() => this.job.kill('SIGKILL'), seconds * SECOND_MS) : null;
        this.job.done.then(({ code: status, signal }) => {
            clearTimeout(timer);
            this.running = false;
            sandbox.used = Date.now();
            this.end = signal ? { signal: signal === 'SIGKILL' ? 9 : signal === 'SIGTERM' ? 15 : Number(signal) || 1 } : { code: status };
            this.#over.resolve();
        });
        (this.job.closed ?? this.job.done).then(() => [this.stdout, this.stderr].forEach((one) => one.end()));
    }

    abort() {
        this.aborted = true;
        this.#over.resolve();
        this.stdout.end();
        this.stderr.end();
    }

    async write(offset, bytes, last) {
        if (this.closed || !this.running) throw refuse.precondition('standard input is closed');
        if (offset !== this.written) throw refuse.precondition(`offset ${offset} is not ${this.written}`);
        this.written += bytes.length;
        if (bytes.length) await this.job.write(Buffer.from(bytes));
        if (!last) return;
        this.closed = true;
        this.job.closeInput();
    }
}

export function routerHandlers(sandboxes, expireKey) {
    const running = (id) => {
        const sandbox = sandboxes.tasks.get(id);
        if (!sandbox || sandbox.result) throw refuse.notFound(`task ${id} is not here`);
        if (!sandbox.started) throw refuse.unavailable('the container is not up yet');
        sandbox.used = Date.now();
        return sandbox;
    };
    const find = ({ task_id: task, exec_id: id }) => {
        const exec = running(task).execs.get(id);
        if (!exec) throw refuse.notFound(`exec ${id} is not here`);
        return exec;
    };
    const start = async (message) => {
        const sandbox = running(message.task_id);
        const { exec_id: id, command_args: argv, stderr_config: err } = message;
        if (!/^[0-9a-f-]{36}$/.test(id)) throw refuse.invalid('exec_id: a UUID');
        if (argv.length === 0) throw refuse.invalid('command_args is empty');
        if (argv.reduce((sum, one) => sum + Buffer.byteLength(one), 0) > ARGUMENTS) throw refuse.invalid('the arguments are too long');
        if (err > 1) throw refuse.invalid('stderr_config cannot be that');
        if (has(message, 'workdir') && !message.workdir.startsWith('/')) throw refuse.invalid('workdir must be absolute');
        if (sandbox.execs.has(id)) {
            await sandbox.execs.get(id).begun;
            return {};
        }
        const exec = new Exec();
        sandbox.execs.set(id, exec);
        const sources = message.secret_sources.map((one) => (one.env ? one.env.contents : sandboxes.origins.variables([one.secret_id], [])));
        const env = sandboxes.origins.variables(message.secret_ids, [...sources, message.env]);
        exec.begun = exec.start(sandbox, message, env).catch((error) => {
            if (!error.code) throw error;
            sandbox.execs.delete(id);
            throw refuse.invalid(`${argv[0]}: ${error.message}`);
        });
        await exec.begun;
        return {};
    };
    return {
        TaskExecStart: start,
        TaskExecStdioRead: async function* (message, request) {
            const exec = find(message);
            const spool = message.file_descriptor === 1 ? exec.stderr : exec.stdout;
            let count = 0;
            for await (const data of spool.read(Number(message.offset))) {
                if (++count === KEY_CUTS && !exec.cut) {
                    exec.cut = true;
                    expireKey(request);
                }
                if (count !== LOST) yield { data };
                if (count === TWICE) yield { data };
            }
            if (exec.aborted) throw refuse.notFound('the task is over');
        },
        TaskExecWait: async (message) => {
            const exec = find(message);
            await exec.over;
            if (!exec.end) throw refuse.notFound('the task is over');
            return exec.end;
        },
        TaskSetNetworkAccess: ({ task_id: task, network_access: network }) => {
            if (network?.network_access_type !== ALLOWLIST) throw refuse.invalid('only ALLOWLIST can be set');
            check(network);
            running(task).box.wall = wall(network);
            return {};
        },
        TaskExecPoll: (message) => find(message).end ?? {},
        TaskExecStdinWrite: async (message) => {
            await find(message).write(Number(message.offset), message.data, message.eof);
            return {};
        },
        TaskExecStdinWriteStream: async (messages) => {
            let exec = null;
            for await (const one of messages) {
                if (one.start) exec = find(one.start);
                if (!exec) throw refuse.invalid('the stream does not begin with start');
                if (one.start && Number(one.start.offset) !== exec.written) throw refuse.precondition('the offset is wrong');
                if (has(one, 'data')) await exec.write(exec.written, one.data, false);
                if (one.end) await exec.write(exec.written, Buffer.alloc(0), true);
            }
            return {};
        },
        TaskExecStdinStatus: (message) => {
            const exec = find(message);
            return { num_bytes_written: exec.written, closed: exec.closed || !exec.running };
        },
        TaskSnapshotFilesystem: async (message) => {
            const sandbox = running(message.task_id);
            const life = has(message, 'ttl_seconds') ? Number(message.ttl_seconds) : 0;
            if (!(life > 0 || life === -1)) throw refuse.invalid('ttl_seconds: more than 0, or -1');
            sandbox.snapshots ??= new Map();
            if (!sandbox.snapshots.has(message.snapshot_id)) sandbox.snapshots.set(message.snapshot_id, sandbox.box.snapshot().then((one) => sandboxes.origins.addSnapshot(one)));
            return { image_id: await sandbox.snapshots.get(message.snapshot_id) };
        },
    };
}
