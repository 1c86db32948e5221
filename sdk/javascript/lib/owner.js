// Who owns a box of the route by the command: a `sandlot mcp`, which deletes it when its input ends, however this process ends.
import readline from 'node:readline';
import { SandlotError } from './errors.js';
import { start } from './program.js';

const initialize = {
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'sandlot-javascript', version: '1' } },
};
const makeBox = { method: 'tools/call', params: { name: 'ls', arguments: { path: '.' } } };

export class Owner {
    #child;
    #ended;
    #said = '';
    #waiting = null;

    /** Makes a box with the options WORDS; its id, or what is the matter. */
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

    constructor(words) {
        this.#child = start(['mcp', ...words], ['pipe', 'pipe', 'pipe']);
        this.#ended = new Promise((resolve) => this.#child.once('close', resolve).once('error', resolve));
        this.#child.stdin.on('error', () => {}); // its end is told by #ended
        this.#child.stderr.on('data', (piece) => (this.#said = (this.#said + piece).slice(-4000)));
        readline.createInterface({ input: this.#child.stdout }).on('line', (line) => this.#waiting?.(JSON.parse(line)));
        for (const handle of [this.#child, this.#child.stdin, this.#child.stdout, this.#child.stderr]) handle.unref();
    }

    async #request(request) {
        const answered = new Promise((resolve) => (this.#waiting = resolve));
        this.#child.ref();
        this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, ...request })}\n`);
        const answer = await Promise.race([answered, this.#ended]);
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
