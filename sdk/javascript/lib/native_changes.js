// Results of work brought home, by the library.
import fs from 'node:fs/promises';
import { Call, errorAt, nothing } from './job.js';
import { library } from './library.js';
import { fieldsAt, Memory, textAt, wordAt } from './memory.js';
import { formatNumber, newFile } from './export.js';
import * as shapes from './shapes.js';

/**
 * @import { Change, Changes } from './index.js'
 * @import { Start } from './job.js'
 * @import { StructOf } from './layout.js'
 * @import { NativeSession } from './native.js'
 * @typedef {{ folder?: string, force?: string[], allowRisky?: boolean, dryRun?: boolean }} Choices
 */

/** @type {Change['kind'][]} */
const kinds = ['added', 'modified', 'removed', 'mode', 'type'];

/** @type {(told: StructOf<typeof shapes.change>) => Change} */
function describe(told) {
    return {
        ...{ path: wordAt(told.path), kind: kinds[told.kind], type: wordAt(told.type) },
        ...{ linkTarget: textAt(told.link_target), risk: textAt(told.risk) },
        ...{ oldMode: told.old_mode, newMode: told.new_mode, oldSize: told.old_bytes, newSize: told.new_bytes },
        ...{ binary: told.binary, conflict: told.conflict },
    };
}

/** @implements {Changes} */
export class NativeChanges {
    #session;

    /** @param {NativeSession} session */
    constructor(session) {
        this.#session = session;
    }

    /** @type {Changes['importFolder']} */
    importFolder(folder, { exclude = [], signal } = {}) {
        const call = new Call();
        const { memory } = call;
        /** @type {Start} */
        const start = (error) => library().submit_import(this.#session.session, memory.text(folder), memory.texts(exclude), error);
        return this.#session.run(call, start, nothing, signal);
    }

    /** @param {Memory} memory @param {string[] | undefined} paths @param {Choices} choices */
    #request(memory, paths, { folder, force, allowRisky = false, dryRun = false }) {
        const places = { paths: memory.texts(paths), force: memory.texts(force), folder: memory.text(folder) };
        return memory.struct(shapes.changesRequest, { ...places, allow_risky: allowRisky, dry_run: dryRun }).address;
    }

    /** @type {Changes['list']} */
    list(paths, options = {}) {
        const call = new Call();
        const request = this.#request(call.memory, paths, options);
        const { list, each } = call.collect(shapes.change, describe);
        /** @type {Start} */
        const start = (error) => library().submit_list_changes(this.#session.session, request, each, null, error);
        return this.#session.run(call, start, () => list, options.signal);
    }

    /** @type {Changes['export']} */
    async export(local, { format = 'patch', paths, folder, signal } = {}) {
        const number = formatNumber(format);
        await newFile(local, async (beside) => {
            const file = await fs.open(beside, 'wx');
            try {
                const call = new Call();
                const request = this.#request(call.memory, paths, { folder });
                /** @type {Start} */
                const start = (error) => library().submit_export_changes(this.#session.session, request, number, file.fd, error);
                await this.#session.run(call, start, nothing, signal);
            } finally {
                await file.close();
            }
        });
    }

    /** @type {Changes['apply']} */
    apply(paths, options = {}) {
        const call = new Call();
        const request = this.#request(call.memory, paths, options);
        /** @type {Change[]} */
        const changes = [];
        /** @type {(_context: any, item: bigint, problem: bigint) => boolean} */
        const receive = (_context, item, problem) => {
            const change = describe(fieldsAt(shapes.change, item));
            const why = errorAt(problem);
            if (!why) changes.push(change);
            options.applied?.(change, why);
            return true;
        };
        const each = call.callback(library().applied, receive, false);
        /** @type {Start} */
        const start = (error) => library().submit_apply_changes(this.#session.session, request, each, null, error);
        return this.#session.run(call, start, () => changes, options.signal);
    }
}
