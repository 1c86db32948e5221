// The network of a sandbox, and its ports, by the command.
import readline from 'node:readline';
import { SandlotError } from './errors.js';
import { ask, complaint, start, unref } from './program.js';
import { needsLibrary, option } from './options.js';
import { time } from './words.js';
/** @import { Forward, Network, Ports } from './index.js' */

/** @implements {Network} */
export class CommandNetwork {
    #where;
    #id;
    #able;

    /**
     * @param {string[]} where
     * @param {string} id
     * @param {Record<string, unknown>} able what the provider can, as the listing says
     */
    constructor(where, id, able) {
        this.#where = where;
        this.#id = id;
        this.#able = able;
    }

    get canChange() {
        return Boolean(this.#able['network-live']);
    }

    get hasLog() {
        return Boolean(this.#able['network-log']);
    }

    /** @param {string} command @param {string[]} words @param {AbortSignal} [signal] */
    #ask(command, words, signal) {
        return ask(['network', '--json', ...this.#where, command, '--', this.#id, ...words], { signal });
    }

    /** @type {Network['show']} */
    async show({ signal } = {}) {
        const { mode, allow, credentials: list, source, note = null, broken = false } = await this.#ask('show', [], signal);
        const credentials = Object.fromEntries(list.map((/** @type {any} */ { host, header }) => [host, header]));
        return { mode, allow, credentials, source, note, broken };
    }

    /** @type {Network['change']} */
    async change(mode, { allow = [], deny = [], signal } = {}) {
        if (mode && mode !== 'off' && mode !== 'open') throw new SandlotError('usage', `a network is made 'off' or 'open', not '${mode}'`);
        if ((mode ? 1 : 0) + (allow.length ? 1 : 0) + (deny.length ? 1 : 0) !== 1) throw needsLibrary('more than one change at once, and none,');
        if (mode) await this.#ask(mode, [], signal);
        else await this.#ask(allow.length ? 'allow' : 'deny', allow.length ? allow : deny, signal);
    }

    /** @type {Network['log']} */
    async log({ after = 0, signal } = {}) {
        if (after) throw needsLibrary('after');
        const { decisions } = await this.#ask('log', [], signal);
        return decisions.map((/** @type {any} */ { at, decision, host, port, rule, reason, bytes_in: bytesIn, bytes_out: bytesOut, ms }) => ({
            ...{ number: null, at: new Date(at), allowed: decision === 'allowed', port, host },
            ...{ rule, reason, bytesIn, bytesOut, duration: ms / 1000 },
        }));
    }
}

/** @implements {Ports} */
export class CommandPorts {
    #where;
    #id;
    #keep;

    /** @param {string[]} where @param {string} id @param {(forward: CommandForward) => CommandForward} keep */
    constructor(where, id, keep) {
        this.#where = where;
        this.#id = id;
        this.#keep = keep;
    }

    /** @param {string[]} more @param {string} port */
    #words(more, port) {
        return ['port', '--json', ...this.#where, ...more, '--', this.#id, port];
    }

    /** @type {Ports['forward']} */
    async forward(port, { localPort = 0, address } = {}) {
        return this.#keep(await CommandForward.open(this.#words(option('--address', address), `${localPort}:${port}`)));
    }

    /** @type {Ports['url']} */
    async url(port, { ttl, signal } = {}) {
        if (ttl !== undefined) throw needsLibrary('ttl');
        const answer = await ask(this.#words(['--url', '--show-token'], String(port)), { signal });
        const { url, header, expires_at: expires, public: isPublic } = answer;
        return { url, header, expiresAt: time(expires), isPublic };
    }
}

/** @implements {Forward} */
class CommandForward {
    #child;
    #ended;

    /** @param {string[]} words */
    static async open(words) {
        const child = start(words);
        child.stdin.end();
        const ended = new Promise((resolve) => child.once('close', resolve).once('error', resolve));
        let said = '';
        child.stderr.on('data', (piece) => (said += piece));
        /** @type {Promise<string>} */
        const line = new Promise((resolve) => readline.createInterface({ input: child.stdout }).once('line', resolve));
        const told = await Promise.race([line, ended.then(() => null)]);
        if (told === null) throw complaint(child.exitCode ?? -1, said);
        const answer = JSON.parse(told);
        if (answer.error) throw new SandlotError(answer.error, answer.message);
        unref(child);
        return new CommandForward(child, ended, answer.ports[0].local_port);
    }

    /** @param {ReturnType<typeof start>} child @param {Promise<unknown>} ended @param {number} port */
    constructor(child, ended, port) {
        this.#child = child;
        this.#ended = ended;
        this.port = port;
    }

    /** At the end of the process, which waits for nothing else. */
    closeNow() {
        this.#child.kill('SIGTERM');
    }

    async close() {
        this.#child.ref();
        this.#child.kill('SIGTERM');
        await this.#ended;
    }

    [Symbol.asyncDispose]() {
        return this.close();
    }
}
