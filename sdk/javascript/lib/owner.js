// Who owns a box of the route by the command: a `sandlot mcp`, which deletes it when its input ends, however this process ends.
import readline from 'node:readline';
import { SandlotError } from './errors.js';
import { start, unref } from './program.js';
/** @typedef {{ result?: any, error?: { message: string }, code?: string }} Answer */

const initialize = {
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'sandlot-javascript', version: '1' } },
};
const makeBox = { method: 'tools/call', params: { name: 'ls', arguments: { path: '.' } } };

export class Owner {
    #child;
    #ended;
    #said = '';
    /** @type {((answer: Answer) => void) | null} */
    #waiting = null;

    /** @type {(words: string[], signal?: AbortSignal) => Promise<{ owner: Owner, id: string }>} Makes a box with the options WORDS. */
    static async open(words, signal) {
        const owner = new Owner(words);
        const cancel = () => owner.#child.kill('SIGTERM');
        signal?.throwIfAborted();
        signal?.addEventListener('abort', cancel);
        try {
            await owner.#request(initialize);
            const { content } = await owner.#request(makeBox);
            const { 'sandlot/sandbox_id': id, 'sandlot/error': code } = content[0]._meta ?? {};
            if (!id) throw new SandlotError(code ?? 'provider_error', content[0].text);
            return { owner, id };
        } catch (problem) {
            await owner.close();
            signal?.throwIfAborted();
            throw problem;
        } finally {
            signal?.removeEventListener('abort', cancel);
        }
    }

    /** @param {string[]} words */
    constructor(words) {
        this.#child = start(['mcp', ...words]);
        /** @type {Promise<Answer | number>} */
        this.#ended = new Promise((resolve) => this.#child.once('close', resolve).once('error', resolve));
        this.#child.stderr.on('data', (piece) => (this.#said = (this.#said + piece).slice(-4000)));
        readline.createInterface({ input: this.#child.stdout }).on('line', (line) => this.#waiting?.(JSON.parse(line)));
        unref(this.#child);
    }

    /** @param {object} request */
    async #request(request) {
        /** @type {Promise<Answer>} */
        const answered = new Promise((resolve) => (this.#waiting = resolve));
        this.#child.ref();
        this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, ...request })}\n`);
        const told = await Promise.race([answered, this.#ended]);
        const answer = typeof told === 'number' ? null : told; // a number is how it has ended
        this.#child.unref();
        if (answer?.result) return answer.result;
        const code = answer?.code === 'ENOENT' || this.#child.exitCode === 2 ? 'usage' : 'provider_error';
        throw new SandlotError(code, answer?.error?.message ?? (this.#said.trim() || "the program 'sandlot' did not run; set SANDLOT_COMMAND"));
    }

    /** Ends the box, and returns when it is gone. */
    async close() {
        this.#child.ref();
        this.#child.stdin.end();
        await this.#ended;
    }
}
