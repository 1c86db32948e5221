// Results of work brought home, by the library.
import fs from 'node:fs/promises';
import { Call, errorAt } from './job.js';
import { library } from './library.js';
import { fieldsAt, textAt } from './memory.js';
import { formatNumber, newFile } from './export.js';
import * as shapes from './shapes.js';

const kinds = ['added', 'modified', 'removed', 'mode', 'type'];
const facts = Object.keys(shapes.change.places);

function describe(path, type, kind, oldMode, newMode, oldSize, newSize, linkTarget, risk, binary, conflict) {
    const words = { path: textAt(path), kind: kinds[kind], type: textAt(type), linkTarget: textAt(linkTarget), risk: textAt(risk) };
    return { ...words, oldMode, newMode, oldSize, newSize, binary, conflict };
}

export class NativeChanges {
    #session;

    constructor(session) {
        this.#session = session;
    }

    importFolder(folder, { exclude = [], signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const start = (error) => library().submit_import(this.#session.session, memory.text(folder), memory.texts(exclude), error);
        return this.#session.run(call, start, undefined, signal);
    }

    #request(memory, paths, { folder, force, allowRisky = false, dryRun = false }) {
        const places = { paths: memory.texts(paths), force: memory.texts(force), folder: memory.text(folder) };
        return memory.struct(shapes.changesRequest, { ...places, allow_risky: allowRisky, dry_run: dryRun }).address;
    }

    list(paths, options = {}) {
        const call = new Call();
        const request = this.#request(call.memory, paths, options);
        const { list, each } = call.collect(shapes.change, facts, describe);
        const start = (error) => library().submit_list_changes(this.#session.session, request, each, null, error);
        return this.#session.run(call, start, () => list, options.signal);
    }

    async export(local, { format = 'patch', paths, folder, signal } = {}) {
        const number = formatNumber(format);
        await newFile(local, async (beside) => {
            const file = await fs.open(beside, 'wx');
            try {
                const call = new Call();
                const request = this.#request(call.memory, paths, { folder });
                const start = (error) => library().submit_export_changes(this.#session.session, request, number, file.fd, error);
                await this.#session.run(call, start, undefined, signal);
            } finally {
                await file.close();
            }
        });
    }

    apply(paths, options = {}) {
        const call = new Call();
        const request = this.#request(call.memory, paths, options);
        const changes = [];
        const receive = (_context, item, problem) => {
            const change = describe(...fieldsAt(shapes.change, item, ...facts));
            const why = errorAt(problem);
            if (!why) changes.push(change);
            options.applied?.(change, why);
            return true;
        };
        const each = call.callback(library().applied, receive, false);
        const start = (error) => library().submit_apply_changes(this.#session.session, request, each, null, error);
        return this.#session.run(call, start, () => changes, options.signal);
    }
}
