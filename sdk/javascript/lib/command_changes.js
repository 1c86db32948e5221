// Results of work brought home, by the command.
import { SandlotError } from './errors.js';
import { formatNumber, newFile } from './export.js';
import { each, needsLibrary } from './options.js';
import { ask, complaint, run } from './program.js';

/** @import { Change, Changes } from './index.js' */

/** @type {(told: string | undefined) => number} */
const mode = (told) => (told ? parseInt(told, 8) : 0);

/** @type {(told: any) => Change} */
function describe(told) {
    return {
        ...{ path: told.path, kind: told.kind, type: told.type, linkTarget: told.link_target, risk: told.risk },
        ...{ oldMode: mode(told.old_mode), newMode: mode(told.new_mode), oldSize: told.old_bytes ?? 0, newSize: told.new_bytes ?? 0 },
        ...{ binary: told.binary, conflict: told.conflict },
    };
}

/** @implements {Changes} */
export class CommandChanges {
    #options;

    /** @param {string[]} options that name the sandbox */
    constructor(options) {
        this.#options = options;
    }

    /** @type {Changes['importFolder']} */
    async importFolder(folder, { exclude = [], signal } = {}) {
        await ask(['import', '--json', ...this.#options, ...each('--exclude', exclude), '--', folder], { signal });
    }

    /** @param {string[]} paths @param {AbortSignal} [signal] */
    #diff(paths, signal) {
        return ask(['diff', '--json', ...this.#options, '--', ...paths], { signal });
    }

    /** @type {Changes['list']} */
    async list(paths = [], { folder, signal } = {}) {
        if (folder !== undefined) throw needsLibrary('folder');
        const { changes } = await this.#diff(paths, signal);
        return changes.map(describe);
    }

    /** @type {Changes['export']} */
    async export(local, { format = 'patch', paths = [], folder, signal } = {}) {
        if (folder !== undefined) throw needsLibrary('folder');
        formatNumber(format);
        const words = ['export', '--json', ...this.#options, '--format', format];
        await newFile(local, (beside) => ask([...words, '--output', beside, '--', ...paths], { signal }));
    }

    /** @type {Changes['apply']} */
    async apply(paths = [], { folder, force = [], allowRisky = false, dryRun = false, applied, signal } = {}) {
        const choices = [...each('--force', force), ...(allowRisky ? ['--risky'] : []), ...(dryRun ? ['--dry-run'] : [])];
        const place = paths.length ? (folder ?? (await this.#diff([], signal)).base) : folder; // the command wants it before the paths
        const words = [...choices, '--', ...(place === undefined ? [] : [place]), ...paths];
        const { status, output, said } = await run(['apply', '--json', ...this.#options, ...words], { signal });
        if (!output.length) throw complaint(status, said);
        const answer = JSON.parse(output.toString());
        /** @type {Change[]} */
        const changes = (answer.applied ?? []).map(describe);
        changes.forEach((change) => applied?.(change, null));
        answer.left_out?.forEach((/** @type {any} */ told) => applied?.(describe(told), new SandlotError(told.error, told.reason)));
        if (answer.error) throw new SandlotError(answer.error, answer.message);
        return changes;
    }
}
