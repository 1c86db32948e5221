// Background processes by the command.
import { SandlotError } from './errors.js';
import { ask, complaint, run, stream } from './program.js';
import { each, needsLibrary, option } from './options.js';
import { Log } from './results.js';
import { checkCommand, octets, pairs, time } from './words.js';
/**
 * @import { Process, Processes } from './index.js'
 * @import { RunOptions } from './program.js'
 */

/** @type {(told: any) => Process} */
function describe(told) {
    return {
        ...{ id: told.id, command: told.command ?? '', state: told.state, exitCode: told.exit_code, timedOut: told.timed_out },
        ...{ inputOpen: told.input_open, startedAt: new Date(told.started_at), endedAt: time(told.ended_at) },
        ...{ outputFirst: told.output_first, outputTotal: told.output_total, errorsFirst: 0, errorsTotal: 0 },
    };
}

/** @implements {Processes} */
export class CommandProcesses {
    #options;

    /** @param {string[]} options that name the sandbox */
    constructor(options) {
        this.#options = options;
    }

    /** @param {string} command @param {string[]} words @param {RunOptions} [options] */
    #ask(command, words, options) {
        return ask([command, '--json', ...this.#options, ...words], options);
    }

    /** @type {Processes['start']} */
    async start(command, { timeout = null, workingDir, environment, input = false, separateErrors = false, logBytes = 0, signal } = {}) {
        checkCommand(command, timeout);
        if (separateErrors) throw needsLibrary('separateErrors');
        const words = [
            '--detach',
            ...(timeout === null ? [] : ['--timeout', String(Math.max(1, Math.ceil(timeout)))]),
            ...option('--cwd', workingDir),
            ...each('--env', pairs(environment)),
            ...(input ? ['--stdin-open'] : []),
            ...(logBytes ? ['--log-limit', String(Math.max(1, Math.round(logBytes / (1 << 20))))] : []),
            '--',
            command,
        ];
        return (await this.#ask('exec', words, { signal })).process;
    }

    /** @type {Processes['list']} */
    async list({ signal } = {}) {
        return (await this.#ask('ps', ['--all'], { signal })).processes.map(describe);
    }

    /** @type {Processes['log']} */
    async log(id, { start = 0, most = 0, errors = false, signal } = {}) {
        if (errors) throw needsLibrary('errors');
        const words = ['--from', String(start), ...(most ? ['--max-bytes', String(most)] : []), '--', id];
        const answer = await this.#ask('logs', words, { signal });
        const content = Buffer.from(answer.output, answer.encoding === 'base64' ? 'base64' : 'utf8');
        const { next, state, exit_code: exitCode } = answer;
        return new Log({ content, start: answer.from + answer.skipped, next, state, exitCode });
    }

    /** @type {Processes['follow']} */
    async *follow(id, { start = 0, errors = false, signal } = {}) {
        if (errors) throw needsLibrary('errors');
        await this.log(id, { start, most: 1, signal }); // a process that is not there fails with its code
        yield* stream(['logs', '-q', ...this.#options, '--follow', '--from', String(start), '--', id], { signal });
    }

    /** @param {string} id @param {AbortSignal} [signal] */
    async #find(id, signal) {
        const found = (await this.list({ signal })).find((process) => process.id === id);
        if (!found) throw new SandlotError('process_not_found', `process '${id}' not found in the sandbox`);
        return found;
    }

    /* Of one whose end nobody saw, and of one that still runs, the command makes an error, with all that is known. */
    /** @type {Processes['wait']} */
    async wait(id, { timeout = null, signal } = {}) {
        if (timeout === 0) return this.#find(id, signal);
        const limit = timeout === null ? [] : ['--timeout', String(Math.max(1, Math.ceil(timeout)))];
        const { status, output, said } = await run(['wait', '--json', ...this.#options, ...limit, '--', id], { signal });
        if (!output.length) throw complaint(status, said);
        const answer = JSON.parse(output.toString());
        if (answer.error && !answer.state) throw new SandlotError(answer.error, answer.message);
        return describe(answer);
    }

    /** @type {Processes['signal']} */
    async signal(id, name, { grace = 5, signal } = {}) {
        const words = [...(name ? ['--signal', name] : ['--grace', String(Math.max(1, Math.ceil(grace)))]), '--', id];
        await this.#ask('kill', words, { signal });
    }

    /** @type {Processes['write']} */
    async write(id, content, { close = false, signal } = {}) {
        return (await this.#ask('input', [...(close ? ['--close'] : []), '--', id], { input: octets(content), signal })).bytes;
    }
}
