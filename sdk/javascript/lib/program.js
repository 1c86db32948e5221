// The command `sandlot`, where the library cannot be called: its --json, and what it streams.
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { codeOf, SandlotError } from './errors.js';
/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { Readable } from 'node:stream'
 * @typedef {{ input?: string | Uint8Array, sink?: (piece: Buffer) => void, signal?: AbortSignal }} RunOptions
 * @typedef {{ status: number, output: Buffer, said: string }} Ran  its status, and what it wrote to standard output and error
 */

/** @type {(problem: unknown) => unknown} A program that is not there fails here with a sentence that helps. */
function missing(problem) {
    if (codeOf(problem) !== 'ENOENT') return problem;
    return new SandlotError('usage', "the program 'sandlot' is not in PATH; install it, or set SANDLOT_COMMAND to where it is");
}

/** @param {string[]} words With pipes to and from all that it reads and writes. */
export function start(words) {
    const child = spawn(process.env.SANDLOT_COMMAND || 'sandlot', words, { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.on('error', () => {}); // it need not read all of it
    return child;
}

/** @param {ReturnType<typeof start>} child Which then keeps no process alive, nor do its pipes. */
export function unref(child) {
    child.unref();
    for (const pipe of child.stdio) if (pipe instanceof Socket) pipe.unref();
}

/** @param {ChildProcess} child Its status when it has ended, and all that it wrote was read. */
function statusOf(child) {
    /** @type {Promise<number>} */
    const ended = new Promise((resolve, reject) => {
        child.once('error', (problem) => reject(missing(problem)));
        child.once('close', resolve);
    });
    return ended;
}

/** @param {Readable} stream */
async function gather(stream) {
    const pieces = [];
    for await (const piece of stream) pieces.push(piece);
    return Buffer.concat(pieces);
}

/**
 * Runs it to its end. With SINK the output goes there as it comes; an exception there, and SIGNAL, end the program, which ends
 * what it runs.
 * @param {string[]} words
 * @param {RunOptions} options
 * @returns {Promise<Ran>}
 */
export async function run(words, { input, sink, signal } = {}) {
    signal?.throwIfAborted();
    const child = start(words);
    const ended = statusOf(child);
    const cancel = () => child.kill('SIGTERM');
    /** @type {{ thrown: unknown } | undefined} */
    let problem;
    if (sink)
        child.stdout.on('data', (piece) => {
            try {
                if (!problem) sink(piece);
            } catch (thrown) {
                problem = { thrown };
                cancel();
            }
        });
    signal?.addEventListener('abort', cancel);
    child.stdin.end(input);
    try {
        const [status, output, said] = await Promise.all([ended, sink ? Buffer.alloc(0) : gather(child.stdout), gather(child.stderr)]);
        if (problem) throw problem.thrown;
        signal?.throwIfAborted();
        return { status, output, said: said.toString() };
    } finally {
        signal?.removeEventListener('abort', cancel);
    }
}

/**
 * What it writes to standard output, as it comes; leaving the loop, and SIGNAL, end the program, which ends what it runs.
 * @param {string[]} words
 * @param {{ signal?: AbortSignal }} options
 * @returns {AsyncGenerator<Buffer, void, void>}
 */
export async function* stream(words, { signal } = {}) {
    signal?.throwIfAborted();
    const child = start(words);
    child.stdin.end();
    const ended = statusOf(child);
    ended.catch(() => {}); // it is told below
    const said = gather(child.stderr);
    const cancel = () => child.kill('SIGTERM');
    signal?.addEventListener('abort', cancel);
    try {
        yield* child.stdout;
        const status = await ended;
        signal?.throwIfAborted();
        if (status !== 0) throw complaint(status, (await said).toString());
    } finally {
        signal?.removeEventListener('abort', cancel);
        cancel();
    }
}

/** @type {Record<number, string>} */
const codes = { 2: 'usage', 3: 'provider_error' };

/** @type {(status: number, said: string) => SandlotError} What it said on standard error when it ended with STATUS, as an error: the status is all that tells the code. */
export function complaint(status, said) {
    const message = said.replace(/^sandlot: /, '').replace(/\nTry 'sandlot .*/s, '');
    return new SandlotError(codes[status] ?? 'internal_error', message.trim() || `'sandlot' ended with status ${status}`);
}

/** @type {(words: string[], options?: RunOptions) => Promise<any>} The object that it prints; an error in it is thrown. */
export async function ask(words, options) {
    const { status, output, said } = await run(words, options);
    if (!output.length) throw complaint(status, said);
    const answer = JSON.parse(output.toString());
    if (answer.error) throw new SandlotError(answer.error, answer.message);
    return answer;
}
