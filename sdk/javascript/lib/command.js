// The route by the command: one run of `sandlot` for each call, with --json.
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { codeOf, SandlotError } from './errors.js';
import { CommandChanges } from './command_changes.js';
import { CommandNetwork, CommandPorts } from './command_network.js';
import { CommandProcesses } from './command_processes.js';
import { each, needsLibrary, option } from './options.js';
import { Owner } from './owner.js';
import { ask, complaint, run } from './program.js';
import { Page, Result } from './results.js';
import { checkCommand, octets, pairs } from './words.js';
/**
 * @import { OpenOptions, Provider, Sandbox } from './index.js'
 * @import { RunOptions } from './program.js'
 */

/** @type {(name: string) => void} The command takes relative paths too, the library does not. */
function requireAbsolute(name) {
    if (!name.startsWith('/')) throw new SandlotError('invalid_path', `'${name}' is not absolute; begin it with '/'`);
}

/**
 * A file of this machine that holds CONTENT while USE runs.
 * @template T
 * @param {string | Uint8Array} content
 * @param {(file: string) => Promise<T>} use
 */
async function withFile(content, use) {
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'sandlot-'));
    try {
        const file = path.join(folder, 'content');
        await fs.writeFile(file, content, { mode: 0o600 });
        return await use(file);
    } finally {
        await fs.rm(folder, { recursive: true, force: true });
    }
}

/** @type {(provider: string, config: string[], signal?: AbortSignal) => Promise<any>} What the listing says of PROVIDER. */
async function describe(provider, config, signal) {
    try {
        return (await ask(['providers', '--json', ...config, '--', provider], { signal })).providers[0];
    } catch (problem) {
        if (codeOf(problem) !== 'usage') throw problem;
        const { providers } = await ask(['providers', '--json', ...config], { signal }); // fails alike if it is not the name
        throw providers.some((/** @type {any} */ { name }) => name === provider) ? problem : new SandlotError('unknown_provider', String(/** @type {Error} */ (problem).message));
    }
}

export class CommandSession {
    #options;
    #owner;

    /** @param {OpenOptions} options */
    static async open({ provider = 'local', sandboxId, snapshot, setup, scope, parameters, keep, network, allow, volumes, name, configFile, progress, setupOutput, signal }) {
        if (setupOutput) throw needsLibrary('setupOutput');
        if (name !== undefined && !keep) throw needsLibrary('a name without keep');
        const where = [...option('--sandbox', provider), ...option('--config', configFile), ...each('--param', pairs(parameters))];
        const known = await describe(provider, option('--config', configFile), signal);
        const making = [
            ...where,
            ...option('--sandbox-snapshot-name', snapshot),
            ...option('--sandbox-setup', setup),
            ...option('--scope', scope),
            ...option('--network', network),
            ...each('--allow', allow),
            ...each('--volume', volumes),
        ];
        progress?.('starting', 0, 0);
        if (sandboxId !== undefined) return CommandSession.#reach(known, sandboxId, where, undefined, signal);
        if (keep) {
            const { id } = await ask(['create', '--json', ...making, ...option('--name', name)], { signal });
            return CommandSession.#reach(known, id, where, undefined, signal);
        }
        const { owner, id } = await Owner.open(making, signal);
        try {
            return await CommandSession.#reach(known, id, where, owner, signal);
        } catch (problem) {
            await owner.close();
            throw problem;
        }
    }

    /**
     * A provider that runs no commands says where its files are in the listing.
     * @type {(known: any, id: string, where: string[], owner?: Owner, signal?: AbortSignal) => Promise<CommandSession>}
     */
    static async #reach({ name, working_dir: workingDir, capabilities }, id, where, owner, signal) {
        const session = new CommandSession(name, id, where, owner, capabilities);
        try {
            session.workingDir = (await session.execute('pwd', { signal })).output.toString().trimEnd();
        } catch (problem) {
            if (codeOf(problem) !== 'not_supported') throw problem;
            session.workingDir = workingDir;
            session.canExecute = false;
        }
        return session;
    }

    canExecute = true;
    workingDir = '';
    /** @type {{ close(): Promise<void> }[]} */
    #forwards = [];

    /**
     * @param {string} provider
     * @param {string} id
     * @param {string[]} where
     * @param {Owner | undefined} owner
     * @param {Record<string, unknown>} able
     */
    constructor(provider, id, where, owner, able) {
        this.provider = provider;
        this.id = id;
        this.#options = [...where, ...option('--sandbox-id', id)];
        this.#owner = owner;
        this.processes = new CommandProcesses(this.#options);
        this.network = new CommandNetwork(where, id, able);
        this.ports = new CommandPorts(where, id, (forward) => (this.#forwards.push(forward), forward));
        this.changes = new CommandChanges(this.#options);
    }

    async close() {
        await Promise.all(this.#forwards.map((forward) => forward.close()));
        await this.#owner?.close();
    }

    /* One that `create` has made is left on purpose already. */
    detach() {}

    /** @type {Sandbox['terminal']} */
    terminal() {
        throw needsLibrary('a terminal');
    }

    /** @type {Sandbox['tool']} */
    tool() {
        throw needsLibrary('a tool for agents');
    }

    /** @param {string} command @param {string[]} words @param {RunOptions} [options] */
    #ask(command, words, options) {
        return ask([command, '--json', ...this.#options, ...words], options);
    }

    /** @type {Sandbox['execute']} */
    async execute(command, { timeout = 1800, workingDir, environment, input, output, outputLimit = 0, signal } = {}) {
        checkCommand(command, timeout);
        if (outputLimit) throw needsLibrary('outputLimit');
        const words = [
            ...option('--timeout', timeout === null ? 0 : `${Math.max(1, Math.ceil(timeout))}`),
            ...option('--cwd', workingDir),
            ...each('--env', pairs(environment)),
            ...(input === undefined ? [] : ['--stdin']),
            '--',
            command,
        ];
        if (output) return this.#stream(words, { input, sink: output, signal });
        const answer = await this.#ask('exec', words, { input, signal });
        const { exit_code: exitCode, output: text, timed_out: timedOut, truncated } = answer;
        return new Result({ exitCode, output: Buffer.from(text), timedOut, truncated });
    }

    /* Standard error is this program's own: what the command says there comes with its output. */
    /** @param {string[]} words @param {RunOptions} options */
    async #stream(words, options) {
        const { status, said } = await run(['exec', '-q', ...this.#options, ...words], options);
        if (said) throw complaint(status, said);
        return new Result({ exitCode: status, output: Buffer.alloc(0), timedOut: status === 124, truncated: false });
    }

    /** @type {Sandbox['read']} */
    async read(name, { offset = 0, limit, signal } = {}) {
        const answer = await this.#ask('read', ['--offset', String(Math.max(0, offset)), ...option('--limit', limit), '--', name], { signal });
        const binary = answer.encoding === 'base64';
        return new Page({
            content: Buffer.from(answer.content, binary ? 'base64' : 'utf8'),
            binary,
            truncated: answer.truncated ?? false,
            startLine: answer.start_line ?? 0,
            endLine: answer.end_line ?? 0,
            totalLines: answer.total_lines ?? null,
            nextOffset: answer.next_offset ?? null,
        });
    }

    /** @type {Sandbox['write']} */
    async write(name, content, { signal } = {}) {
        await this.#ask('write', ['--', name], { input: octets(content), signal });
    }

    /** @type {Sandbox['edit']} */
    async edit(name, before, after, { replaceAll = false, signal } = {}) {
        const input = JSON.stringify({ old_string: before, new_string: after, replace_all: replaceAll });
        return (await this.#ask('edit', ['--', name], { input, signal })).occurrences;
    }

    /** @type {Sandbox['remove']} */
    async remove(name, { signal } = {}) {
        await this.#ask('rm', ['--', name], { signal });
    }

    /** @type {Sandbox['ls']} */
    async ls(name, { signal } = {}) {
        const { entries } = await this.#ask('ls', ['--', ...(name === undefined ? [] : [name])], { signal });
        return entries.map((/** @type {any} */ entry) => ({
            path: entry.path,
            isDirectory: entry.is_dir,
            size: entry.size,
            modifiedAt: new Date(entry.modified_at),
        }));
    }

    /** @type {Sandbox['glob']} */
    async glob(pattern, name, { directories = false, signal } = {}) {
        const words = [...(directories ? ['--dirs'] : []), '--', pattern, ...(name === undefined ? [] : [name])];
        const { matches, truncated } = await this.#ask('glob', words, { signal });
        return { entries: matches.map((/** @type {any} */ match) => ({ path: match.path, isDirectory: match.is_dir })), truncated };
    }

    /** @type {Sandbox['grep']} */
    async grep(text, name, { glob, maxCount = 0, signal } = {}) {
        const words = [...option('--glob', glob), ...(maxCount ? ['--max-count', String(maxCount)] : []), '--', text];
        const { matches, truncated } = await this.#ask('grep', [...words, ...(name === undefined ? [] : [name])], { signal });
        return { matches: matches.map((/** @type {any} */ { path: file, line, text: found }) => ({ path: file, line, text: found })), truncated };
    }

    /** @type {Sandbox['upload']} */
    upload(name, content, options) {
        return withFile(content, (file) => this.uploadFile(file, name, options));
    }

    /** @type {Sandbox['download']} */
    download(name, options) {
        return withFile('', async (file) => {
            await this.downloadFile(name, file, options);
            return fs.readFile(file);
        });
    }

    /** @type {Sandbox['uploadFile']} */
    async uploadFile(local, name, { recursive = false, signal } = {}) {
        requireAbsolute(name);
        await this.#ask('upload', [...(recursive ? ['-r'] : []), '--', local, name], { signal });
    }

    /** @type {Sandbox['downloadFile']} */
    async downloadFile(name, local, { recursive = false, signal } = {}) {
        requireAbsolute(name);
        await this.#ask('download', [...(recursive ? ['-r'] : []), '--', name, local], { signal });
    }
}

/** @type {(configFile?: string) => Promise<Provider[]>} The providers that there are. */
export async function commandProviders(configFile) {
    const { providers } = await ask(['providers', '--json', ...option('--config', configFile)]);
    /** @type {(told: any) => Provider} */
    const describe = ({ name, source, description, reason }) => ({ name, source, description, problem: reason });
    return providers.filter((/** @type {any} */ { name }) => name).map(describe);
}
