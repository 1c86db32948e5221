// The sandboxes, snapshots and volumes of a provider, by the command.
import { SandlotError } from './errors.js';
import { each, option } from './options.js';
import { ask, run } from './program.js';
import { pairs, time } from './words.js';
/** @import { Listed, Sandboxes, SandboxesOptions } from './index.js' */

/** @implements {Sandboxes} */
export class CommandSandboxes {
    #provider;
    #config;
    #where;

    /** @param {SandboxesOptions} options */
    constructor({ provider = 'local', parameters, configFile }) {
        this.#provider = provider;
        this.#config = option('--config', configFile);
        this.#where = [...option('--sandbox', provider), ...this.#config, ...each('--param', pairs(parameters))];
    }

    /** @param {string} command @param {string[]} words @param {AbortSignal} [signal] */
    #ask(command, words, signal) {
        return ask([command, '--json', ...this.#where, ...words], { signal });
    }

    /** @type {(told: any) => Listed} */
    #describe(told) {
        const { id, provider = this.#provider, state = null, created_at: created, mine = false } = told;
        return { id, provider, state, createdAt: time(created), mine };
    }

    /** @type {Sandboxes['list']} */
    async list({ signal } = {}) {
        return (await this.#ask('list', [], signal)).sandboxes.map(this.#describe, this);
    }

    /** @type {Sandboxes['delete']} */
    async delete(id, { signal } = {}) {
        await this.#ask('delete', ['--', id], signal);
    }

    /** @type {Sandboxes['pause']} */
    async pause(id, { signal } = {}) {
        await this.#ask('pause', ['--', id], signal);
    }

    /** @type {Sandboxes['resume']} */
    async resume(id, { signal } = {}) {
        await this.#ask('resume', ['--', id], signal);
    }

    /** @type {Sandboxes['snapshot']} */
    async snapshot(id, name, { replace = false, withBase = false, signal } = {}) {
        const flags = [...(replace ? ['--replace'] : []), ...(withBase ? ['--with-base'] : [])];

        return (await this.#ask('snapshot', [...option('--name', name), ...flags, '--', id], signal)).id;
    }

    /** @type {Sandboxes['snapshots']} */
    async snapshots({ signal } = {}) {
        return (await this.#ask('snapshots', [], signal)).snapshots.map(this.#describe, this);
    }

    /** @param {string} command @param {string} name @param {AbortSignal} [signal] */
    async #deleteOf(command, name, signal) {
        const { results } = await this.#ask(command, ['delete', '--', name], signal);
        for (const { error, message } of results) if (error) throw new SandlotError(error, message);
    }

    /** @type {Sandboxes['deleteSnapshot']} */
    async deleteSnapshot(name, { signal } = {}) {
        await this.#deleteOf('snapshots', name, signal);
    }

    /** @type {Sandboxes['volumes']} */
    async volumes({ signal } = {}) {
        return (await this.#ask('volumes', [], signal)).volumes.map((/** @type {any} */ { name, bytes, limit_bytes: limitBytes, writers, readers, used_at: used }) => ({
            ...{ name, bytes, limitBytes, writers, readers },
            usedAt: time(used),
        }));
    }

    /** @type {Sandboxes['deleteVolume']} */
    async deleteVolume(name, { signal } = {}) {
        await this.#deleteOf('volumes', name, signal);
    }

    /** @type {Sandboxes['fork']} */
    async fork(id, { signal } = {}) {
        return (await this.#ask('fork', ['--', id], signal)).id;
    }

    /** @type {Sandboxes['collectGarbage']} */
    async collectGarbage({ signal } = {}) {
        const { output } = await run(['gc', '--json', ...this.#config], { signal });
        const { results, error, message } = JSON.parse(output.toString());
        if (error) throw new SandlotError(error, message);
        return results.map((/** @type {any} */ told) => ({
            ...{ provider: told.provider, id: told.id ?? null },
            problem: told.error ? new SandlotError(told.error, told.message) : null,
        }));
    }
}
