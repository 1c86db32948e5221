// The command `sandlot`, where the library cannot be called: its --json, and what it streams.
import { spawn } from 'node:child_process';
import { SandlotError } from './errors.js';

/** A program that is not there fails here with a sentence that helps. */
function missing(problem) {
    if (problem.code !== 'ENOENT') return problem;
    return new SandlotError('usage', "the program 'sandlot' is not in PATH; install it, or set SANDLOT_COMMAND to where it is");
}

export function start(words, stdio) {
    return spawn(process.env.SANDLOT_COMMAND || 'sandlot', words, { stdio });
}

async function gather(stream) {
    const pieces = [];
    for await (const piece of stream) pieces.push(piece);
    return Buffer.concat(pieces);
}

/**
 * Runs it to its end: { status, output, said }, what it wrote to standard output and error. With SINK the output goes there
 * as it comes; an exception there, and SIGNAL, end the program, which ends what it runs.
 */
export async function run(words, { input, sink, signal } = {}) {
    signal?.throwIfAborted();
    const child = start(words, ['pipe', 'pipe', 'pipe']);
    const ended = new Promise((resolve, reject) => {
        child.once('error', (problem) => reject(missing(problem)));
        child.once('close', resolve);
    });
    const cancel = () => child.kill('SIGTERM');
    let problem;
    const each = (piece) => {
        try {
            if (!problem) sink(piece);
        } catch (thrown) {
            problem = { thrown };
            cancel();
        }
    };
    if (sink) child.stdout.on('data', each);
    signal?.addEventListener('abort', cancel);
    child.stdin.on('error', () => {}); // it need not read all of it
    child.stdin.end(input);
    try {
        const [status, output, said] = await Promise.all([ended, sink ? null : gather(child.stdout), gather(child.stderr)]);
        if (problem) throw problem.thrown;
        signal?.throwIfAborted();
        return { status, output, said: said.toString() };
    } finally {
        signal?.removeEventListener('abort', cancel);
    }
}

/** What it writes to standard output, as it comes; leaving the loop, and SIGNAL, end the program, which ends what it runs. */
export async function* stream(words, { signal } = {}) {
    signal?.throwIfAborted();
    const child = start(words, ['ignore', 'pipe', 'pipe']);
    const ended = new Promise((resolve, reject) => {
        child.once('error', (problem) => reject(missing(problem)));
        child.once('close', resolve);
    });
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

const codes = { 2: 'usage', 3: 'provider_error' };

/** What it said on standard error when it ended with STATUS, as an error: the status is all that tells the code. */
export function complaint(status, said) {
    const message = said.replace(/^sandlot: /, '').replace(/\nTry 'sandlot .*/s, '');
    return new SandlotError(codes[status] ?? 'internal_error', message.trim() || `'sandlot' ended with status ${status}`);
}

/** The object that it prints; an error in it is thrown. */
export async function ask(words, options) {
    const { status, output, said } = await run(words, options);
    if (!output.length) throw complaint(status, said);
    const answer = JSON.parse(output.toString());
    if (answer.error) throw new SandlotError(answer.error, answer.message);
    return answer;
}
