// The sandboxes, snapshots and volumes of a provider, by the command.
import { SandlotError } from './errors.js';
import { each, option } from './options.js';
import { ask, run } from './program.js';
import { pairs, time } from './words.js';

export class CommandSandboxes {
    #provider;
    #config;
    #where;

    constructor({ provider = 'local', parameters, configFile }) {
        this.#provider = provider;
        this.#config = option('--config', configFile);
        this.#where = ['--sandbox', provider, ...this.#config, ...each('--param', pairs(parameters))];
    }

    #ask(command, words, signal) {
        return ask([command, '--json', ...this.#where, ...words], { signal });
    }

    #describe(told) {
        const { id, provider = this.#provider, state = null, created_at: created, mine = false } = told;
        return { id, provider, state, createdAt: time(created), mine };
    }

    async list({ signal } = {}) {
        return (await this.#ask('list', [], signal)).sandboxes.map((told) => this.#describe(told));
    }

    async delete(id, { signal } = {}) {
        await this.#ask('delete', ['--', id], signal);
    }

    async pause(id, { signal } = {}) {
        await this.#ask('pause', ['--', id], signal);
    }

    async resume(id, { signal } = {}) {
        await this.#ask('resume', ['--', id], signal);
    }

    async snapshot(id, name, { replace = false, signal } = {}) {
        return (await this.#ask('snapshot', [...option('--name', name), ...(replace ? ['--replace'] : []), '--', id], signal)).id;
    }

    async snapshots({ signal } = {}) {
        return (await this.#ask('snapshots', [], signal)).snapshots.map((told) => this.#describe(told));
    }

    async #deleteOf(command, name, signal) {
        const { results } = await this.#ask(command, ['delete', '--', name], signal);
        for (const { error, message } of results) if (error) throw new SandlotError(error, message);
    }

    async deleteSnapshot(name, { signal } = {}) {
        await this.#deleteOf('snapshots', name, signal);
    }

    async volumes({ signal } = {}) {
        return (await this.#ask('volumes', [], signal)).volumes.map(({ name, bytes, limit_bytes: limitBytes, writers, readers, used_at: used }) => ({
            ...{ name, bytes, limitBytes, writers, readers },
            usedAt: time(used),
        }));
    }

    async deleteVolume(name, { signal } = {}) {
        await this.#deleteOf('volumes', name, signal);
    }

    async fork(id, { signal } = {}) {
        return (await this.#ask('fork', ['--', id], signal)).id;
    }

    async collectGarbage({ signal } = {}) {
        const { output } = await run(['gc', '--json', ...this.#config], { signal });
        const { results, error, message } = JSON.parse(output.toString());
        if (error) throw new SandlotError(error, message);
        return results.map((told) => ({
            ...{ provider: told.provider, id: told.id ?? null },
            problem: told.error ? new SandlotError(told.error, told.message) : null,
        }));
    }
}
