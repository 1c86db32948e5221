// Background processes by the library.
import { Call, nothing } from './job.js';
import { library } from './library.js';
import { copy, fieldsOf, NULL, textAt } from './memory.js';
import { Log } from './results.js';
import { checkCommand, milliseconds, octets, pairs, time } from './words.js';
import * as shapes from './shapes.js';

/**
 * @import { Process, Processes } from './index.js'
 * @import { Start } from './job.js'
 * @import { StructOf } from './layout.js'
 * @import { NativeSession } from './native.js'
 * @typedef {{ from?: number, most?: number, wait?: number, errors?: boolean, news?: boolean, log?: boolean, signal?: AbortSignal }} Question
 */

/** @type {Process['state'][]} */
const states = ['running', 'exited', 'lost'];
const pieceBytes = 1 << 20; // that one question of a follower brings at most

/** @type {(told: StructOf<typeof shapes.process>) => Process} */
function describe(told) {
    return {
        id: told.id,
        command: textAt(told.command) ?? '',
        state: states[told.state],
        exitCode: told.has_exit_code ? told.exit_code : null,
        timedOut: told.timed_out,
        inputOpen: told.input_open,
        startedAt: new Date(told.started_at_ms),
        endedAt: time(told.ended_at_ms),
        outputFirst: told.output_first,
        outputTotal: told.output_total,
        errorsFirst: told.errors_first,
        errorsTotal: told.errors_total,
    };
}

/** @implements {Processes} */
export class NativeProcesses {
    #session;

    /** @param {NativeSession} session */
    constructor(session) {
        this.#session = session;
    }

    /** @type {Processes['start']} */
    async start(command, { timeout = null, workingDir, environment, input = false, separateErrors = false, logBytes = 0, signal } = {}) {
        checkCommand(command, timeout);
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.start, {
            command: memory.text(command),
            working_dir: memory.text(workingDir),
            environment: memory.texts(pairs(environment)),
            timeout_ms: timeout === null ? 0 : milliseconds(timeout),
            log_bytes: logBytes,
            has_input: input,
            separate_errors: separateErrors,
        });
        const id = Buffer.alloc(16);
        /** @type {Start} */
        const start = (error) => library().submit_start_process(this.#session.session, request.address, memory.at(id), error);
        return this.#session.run(call, start, () => id.toString('latin1', 0, id.indexOf(0)), signal);
    }

    /** @type {Processes['list']} */
    list({ signal } = {}) {
        const call = new Call();
        const { list, each } = call.collect(shapes.process, describe);
        /** @type {Start} */
        const start = (error) => library().submit_list_processes(this.#session.session, each, null, error);
        return this.#session.run(call, start, () => list, signal);
    }

    /* What there is from a byte on, or with a wait what comes; without LOG only how the process is. */
    /** @param {string} id @param {Question} question */
    #look(id, { from = 0, most = 0, wait = 0, errors = false, news = false, log = true, signal }) {
        const call = new Call();
        const { memory } = call;
        /** @type {Buffer[]} */
        const pieces = [];
        /** @type {number | null} */
        let begun = null;
        /** @type {(_context: any, offset: bigint, bytes: bigint, length: bigint) => boolean} */
        const receive = (_context, offset, bytes, length) => {
            begun ??= Number(offset);
            pieces.push(copy(bytes, length));
            return true;
        };
        const request = memory.struct(shapes.follow, {
            ...{ id: memory.text(id), from, most, wait_ms: wait, errors, first_news: news },
            output: log ? call.callback(library().log, receive, false) : NULL,
        });
        const next = new BigUint64Array(1);
        const told = memory.struct(shapes.process);
        /** @type {Start} */
        const start = (error) =>
            library().submit_follow_process(this.#session.session, request.address, memory.at(next), told.address, error);
        const finish = () => {
            const process = describe(fieldsOf(told));
            library().process_clear(told.address);
            return { content: Buffer.concat(pieces), start: begun ?? Number(next[0]), next: Number(next[0]), process };
        };
        return this.#session.run(call, start, finish, signal);
    }

    /** @type {Processes['log']} */
    async log(id, { start = 0, most = 0, errors, signal } = {}) {
        const { process, ...log } = await this.#look(id, { from: start, most, errors, signal });
        return new Log({ ...log, state: process.state, exitCode: process.exitCode });
    }

    /** @type {Processes['follow']} */
    async *follow(id, { start = 0, errors = false, signal } = {}) {
        for (let from = start, all = false; !all; ) {
            const { content, next, process } = await this.#look(id, { from, most: pieceBytes, wait: -1, errors, news: true, signal });
            if (content.length) yield content;
            from = next;
            all = process.state !== 'running' && next >= (errors ? process.errorsTotal : process.outputTotal);
        }
    }

    /** @type {Processes['wait']} */
    async wait(id, { timeout = null, signal } = {}) {
        const wait = timeout === 0 ? 0 : milliseconds(timeout);
        return (await this.#look(id, { wait, log: false, signal })).process;
    }

    /** @type {Processes['signal']} */
    signal(id, name, { grace = 5, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.signal, { id: memory.text(id), name: memory.text(name), grace_ms: milliseconds(grace) });
        return this.#session.run(call, (error) => library().submit_signal_process(this.#session.session, request.address, error), nothing, signal);
    }

    /** @type {Processes['write']} */
    write(id, content, { close = false, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const bytes = octets(content);
        const taken = new BigUint64Array(1);
        /** @type {Start} */
        const start = (error) =>
            library().submit_write_process(
                ...[this.#session.session, memory.text(id), memory.at(bytes), bytes.length, close, memory.at(taken), error],
            );
        return this.#session.run(call, start, () => Number(taken[0]), signal);
    }
}
