// The sandboxes, snapshots and volumes of a provider, by the library.
import { Call, errorAt } from './job.js';
import { library } from './library.js';
import { NULL, takeText, textAt } from './memory.js';
import { runtime } from './runtime.js';
import { pairs, time } from './words.js';
import * as shapes from './shapes.js';

function describe(id, provider, state, created, mine) {
    return { id: textAt(id), provider: textAt(provider), state: textAt(state), createdAt: time(created), mine };
}

function describeVolume(name, counted, bytes, limit, writers, readers, used) {
    return { name: textAt(name), bytes: counted ? bytes : null, limitBytes: limit || null, writers, readers, usedAt: time(used) };
}

export class NativeSandboxes {
    #provider;
    #parameters;
    #configFile;

    constructor({ provider, parameters, configFile }) {
        this.#provider = provider;
        this.#parameters = pairs(parameters);
        this.#configFile = configFile;
    }

    #run(submit, place, finish, { signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const target = memory.struct(shapes.target, { provider: memory.text(this.#provider), parameters: memory.texts(this.#parameters) });
        const host = runtime(this.#configFile);
        const words = place(call);
        return call.run((error) => submit(host, target.address, ...words, error), finish, signal);
    }

    #about(submit, id, options) {
        return this.#run(submit, ({ memory }) => [memory.text(id)], undefined, options);
    }

    #list(submit, options, shape = shapes.listedSandbox, make = describe) {
        let found;
        const place = (call) => {
            found = call.collect(shape, Object.keys(shape.places), make);
            return [found.each, NULL];
        };
        return this.#run(submit, place, () => found.list, options);
    }

    /* A call that makes something with a name. */
    #make(submit, place, options) {
        const made = new BigUint64Array(1);
        return this.#run(submit, ({ memory }) => [...place(memory), memory.at(made)], () => takeText(made), options);
    }

    list(options) {
        return this.#list(library().submit_list, options);
    }

    delete(id, options) {
        return this.#about(library().submit_delete, id, options);
    }

    pause(id, options) {
        return this.#about(library().submit_pause, id, options);
    }

    resume(id, options) {
        return this.#about(library().submit_resume, id, options);
    }

    snapshot(id, name, { replace = false, signal } = {}) {
        return this.#make(library().submit_snapshot, (memory) => [memory.text(id), memory.text(name), replace], { signal });
    }

    snapshots(options) {
        return this.#list(library().submit_list_snapshots, options);
    }

    deleteSnapshot(name, options) {
        return this.#about(library().submit_delete_snapshot, name, options);
    }

    volumes(options) {
        return this.#list(library().submit_list_volumes, options, shapes.volumeState, describeVolume);
    }

    deleteVolume(name, options) {
        return this.#about(library().submit_delete_volume, name, options);
    }

    fork(id, options) {
        return this.#make(library().submit_fork, (memory) => [memory.text(id)], options);
    }

    collectGarbage({ signal } = {}) {
        const call = new Call();
        const found = [];
        const receive = (_context, provider, id, problem) => void found.push({ provider: textAt(provider), id: textAt(id), problem: errorAt(problem) });
        const each = call.callback(library().leftover, receive);
        const host = runtime(this.#configFile);
        return call.run((error) => library().submit_collect_garbage(host, each, null, error), () => found, signal);
    }
}
