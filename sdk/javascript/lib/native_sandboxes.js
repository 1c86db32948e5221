// The sandboxes, snapshots and volumes of a provider, by the library.
import { Call, errorAt, nothing } from './job.js';
import { library } from './library.js';
import { Memory, NULL, takeText, textAt, wordAt } from './memory.js';
import { runtime } from './runtime.js';
import { pairs, time } from './words.js';
import * as shapes from './shapes.js';

/**
 * @import { Cancellable, Leftover, Listed, Sandboxes, SandboxesOptions, Volume } from './index.js'
 * @import { Fields, Shape, Struct, StructOf } from './layout.js'
 */

/** @type {(told: StructOf<typeof shapes.listedSandbox>) => Listed} */
function describe({ id, provider, state, created_at_ms: created, mine }) {
    return { id: wordAt(id), provider: wordAt(provider), state: textAt(state), createdAt: time(created), mine };
}

/** @type {(told: StructOf<typeof shapes.volumeState>) => Volume} */
function describeVolume({ name, has_bytes: isCounted, bytes, limit_bytes: limit, writers, readers, used_at_ms: used }) {
    return { name: wordAt(name), bytes: isCounted ? bytes : null, limitBytes: limit || null, writers, readers, usedAt: time(used) };
}

/** @implements {Sandboxes} */
export class NativeSandboxes {
    #provider;
    #parameters;
    #configFile;

    /** @param {SandboxesOptions} options */
    constructor({ provider, parameters, configFile }) {
        this.#provider = provider;
        this.#parameters = pairs(parameters);
        this.#configFile = configFile;
    }

    /**
     * @template T
     * @param {any} submit
     * @param {(call: Call) => any[]} place
     * @param {() => T} finish
     * @param {Cancellable} [options]
     */
    #run(submit, place, finish, { signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const target = memory.struct(shapes.target, { provider: memory.text(this.#provider), parameters: memory.texts(this.#parameters) });
        const host = runtime(this.#configFile);
        const words = place(call);
        return call.run((error) => submit(host, target.address, ...words, error), finish, signal);
    }

    /** @param {any} submit @param {string} id @param {Cancellable} [options] */
    #about(submit, id, options) {
        return this.#run(submit, ({ memory }) => [memory.text(id)], nothing, options);
    }

    /**
     * @template {Fields} F
     * @template T
     * @param {any} submit
     * @param {Shape<F>} shape
     * @param {(told: Struct<F>) => T} make
     * @param {Cancellable} [options]
     */
    #list(submit, shape, make, options) {
        /** @type {T[]} */
        let found;
        /** @type {(call: Call) => any[]} */
        const place = (call) => {
            const { list, each } = call.collect(shape, make);
            found = list;
            return [each, NULL];
        };
        return this.#run(submit, place, () => found, options);
    }

    /** @type {(submit: any, place: (memory: Memory) => any[], options?: Cancellable) => Promise<string>} A call that makes something with a name. */
    #make(submit, place, options) {
        const made = new BigUint64Array(1);
        return this.#run(submit, ({ memory }) => [...place(memory), memory.at(made)], () => takeText(made[0]), options);
    }

    /** @type {Sandboxes['list']} */
    list(options) {
        return this.#list(library().submit_list, shapes.listedSandbox, describe, options);
    }

    /** @type {Sandboxes['delete']} */
    delete(id, options) {
        return this.#about(library().submit_delete, id, options);
    }

    /** @type {Sandboxes['pause']} */
    pause(id, options) {
        return this.#about(library().submit_pause, id, options);
    }

    /** @type {Sandboxes['resume']} */
    resume(id, options) {
        return this.#about(library().submit_resume, id, options);
    }

    /** @type {Sandboxes['snapshot']} */
    snapshot(id, name, { replace = false, withBase = false, signal } = {}) {
        const submit = withBase ? library().submit_snapshot_with_base : library().submit_snapshot;

        return this.#make(submit, (memory) => [memory.text(id), memory.text(name), replace], { signal });
    }

    /** @type {Sandboxes['snapshots']} */
    snapshots(options) {
        return this.#list(library().submit_list_snapshots, shapes.listedSandbox, describe, options);
    }

    /** @type {Sandboxes['deleteSnapshot']} */
    deleteSnapshot(name, options) {
        return this.#about(library().submit_delete_snapshot, name, options);
    }

    /** @type {Sandboxes['volumes']} */
    volumes(options) {
        return this.#list(library().submit_list_volumes, shapes.volumeState, describeVolume, options);
    }

    /** @type {Sandboxes['deleteVolume']} */
    deleteVolume(name, options) {
        return this.#about(library().submit_delete_volume, name, options);
    }

    /** @type {Sandboxes['fork']} */
    fork(id, options) {
        return this.#make(library().submit_fork, (memory) => [memory.text(id)], options);
    }

    /** @type {Sandboxes['collectGarbage']} */
    collectGarbage({ signal } = {}) {
        const call = new Call();
        /** @type {Leftover[]} */
        const found = [];
        /** @type {(_context: any, ...told: bigint[]) => void} */
        const receive = (_context, provider, id, problem) => void found.push({ provider: wordAt(provider), id: textAt(id), problem: errorAt(problem) });
        const each = call.callback(library().leftover, receive);
        const host = runtime(this.#configFile);
        return call.run((error) => library().submit_collect_garbage(host, each, null, error), () => found, signal);
    }
}
