import { inspect } from 'node:util';
import { CommandSession, commandProviders } from './command.js';
import { CommandSandboxes } from './command_sandboxes.js';
import { SandlotError } from './errors.js';
import { whyNot } from './library.js';
import { nativeDefault, nativeProviders, NativeSession, nativeTools } from './native.js';
import { NativeSandboxes } from './native_sandboxes.js';
import { needsLibrary } from './options.js';
/**
 * @import * as Api from './index.js'
 * @typedef {NativeSession | CommandSession} Session
 */

/** @type {(route?: string) => boolean} Whether calls go by the library; ROUTE: what was asked for. */
function isNative(route) {
    if (route !== undefined && route !== 'native' && route !== 'command')
        throw new SandlotError('usage', `there is no route '${route}'; 'native' and 'command' are those there are`);
    if (route === 'command') return false;
    const problem = whyNot();
    if (problem && route === 'native') throw new SandlotError('usage', problem);
    return !problem;
}

/** @implements {Api.Sandbox} */
export class Sandbox {
    #session;
    /** @type {Promise<void> | null} */
    #closing = null;

    /** @param {Session} session */
    constructor(session) {
        this.#session = session;
    }

    /** @param {Api.OpenOptions} options */
    static async open(options = {}) {
        return new Sandbox(await (isNative(options.route) ? NativeSession : CommandSession).open(options));
    }

    get id() {
        return this.#session.id;
    }

    get provider() {
        return this.#session.provider;
    }

    get workingDir() {
        return this.#session.workingDir;
    }

    /** @type {(depth: number, options: import('node:util').InspectOptions) => string} What the console shows. */
    [inspect.custom](depth, options) {
        const { id, provider, workingDir } = this;
        return `Sandbox ${inspect({ id, provider, workingDir }, { ...options, depth })}`;
    }

    get canExecute() {
        return this.#open().canExecute;
    }

    get processes() {
        return this.#open().processes;
    }

    get network() {
        return this.#open().network;
    }

    get ports() {
        return this.#open().ports;
    }

    get changes() {
        return this.#open().changes;
    }

    /** @type {Api.Sandbox['terminal']} */
    async terminal(input, output, options = {}) {
        return this.#open().terminal(input, output, options);
    }

    /** @type {Api.Sandbox['tool']} */
    async tool(name, given, options = {}) {
        return this.#open().tool(name, given, options);
    }

    async detach() {
        this.#open().detach();
    }

    #open() {
        if (this.#closing) throw new SandlotError('usage', 'the sandbox is closed');
        return this.#session;
    }

    /** @type {Api.Sandbox['execute']} */
    async execute(command, options = {}) {
        return this.#open().execute(command, options);
    }

    /** @type {Api.Sandbox['read']} */
    async read(path, options = {}) {
        return this.#open().read(path, options);
    }

    /** @type {Api.Sandbox['write']} */
    async write(path, content, options = {}) {
        await this.#open().write(path, content, options);
    }

    /** @type {Api.Sandbox['edit']} */
    async edit(path, before, after, options = {}) {
        return this.#open().edit(path, before, after, options);
    }

    /** @type {Api.Sandbox['remove']} */
    async remove(path, options = {}) {
        await this.#open().remove(path, options);
    }

    /** @type {Api.Sandbox['ls']} */
    async ls(path, options = {}) {
        return this.#open().ls(path, options);
    }

    /** @type {Api.Sandbox['glob']} */
    async glob(pattern, path, options = {}) {
        return this.#open().glob(pattern, path, options);
    }

    /** @type {Api.Sandbox['grep']} */
    async grep(text, path, options = {}) {
        return this.#open().grep(text, path, options);
    }

    /** @type {Api.Sandbox['upload']} */
    async upload(path, content, options = {}) {
        await this.#open().upload(path, content, options);
    }

    /** @type {Api.Sandbox['download']} */
    async download(path, options = {}) {
        return this.#open().download(path, options);
    }

    /** @type {Api.Sandbox['uploadFile']} */
    async uploadFile(local, path, options = {}) {
        await this.#open().uploadFile(local, path, options);
    }

    /** @type {Api.Sandbox['downloadFile']} */
    async downloadFile(path, local, options = {}) {
        await this.#open().downloadFile(path, local, options);
    }

    close() {
        this.#closing ??= this.#session.close();
        return this.#closing;
    }

    [Symbol.asyncDispose]() {
        return this.close();
    }
}

/** @type {typeof Api.listProviders} */
export async function listProviders({ configFile, route } = {}) {
    return isNative(route) ? nativeProviders(configFile) : commandProviders(configFile);
}

/** @implements {Api.Sandboxes} */
export class Sandboxes {
    #route;

    /** @param {Api.SandboxesOptions} options */
    constructor(options = {}) {
        this.#route = new (isNative(options.route) ? NativeSandboxes : CommandSandboxes)(options);
    }

    /** @type {Api.Sandboxes['list']} */
    async list(options) {
        return this.#route.list(options);
    }

    /** @type {Api.Sandboxes['delete']} */
    async delete(id, options) {
        return this.#route.delete(id, options);
    }

    /** @type {Api.Sandboxes['pause']} */
    async pause(id, options) {
        return this.#route.pause(id, options);
    }

    /** @type {Api.Sandboxes['resume']} */
    async resume(id, options) {
        return this.#route.resume(id, options);
    }

    /** @type {Api.Sandboxes['snapshot']} */
    async snapshot(id, name, options) {
        return this.#route.snapshot(id, name, options);
    }

    /** @type {Api.Sandboxes['snapshots']} */
    async snapshots(options) {
        return this.#route.snapshots(options);
    }

    /** @type {Api.Sandboxes['deleteSnapshot']} */
    async deleteSnapshot(name, options) {
        return this.#route.deleteSnapshot(name, options);
    }

    /** @type {Api.Sandboxes['volumes']} */
    async volumes(options) {
        return this.#route.volumes(options);
    }

    /** @type {Api.Sandboxes['deleteVolume']} */
    async deleteVolume(name, options) {
        return this.#route.deleteVolume(name, options);
    }

    /** @type {Api.Sandboxes['fork']} */
    async fork(id, options) {
        return this.#route.fork(id, options);
    }

    /** @type {Api.Sandboxes['collectGarbage']} */
    async collectGarbage(options) {
        return this.#route.collectGarbage(options);
    }
}

/** @type {typeof Api.defaultProvider} What the configuration names as the provider to use; null: nothing. */
export async function defaultProvider({ configFile } = {}) {
    if (!isNative()) throw needsLibrary('the default provider');
    return nativeDefault(configFile);
}

/** @type {typeof Api.tools} The tools for agents that `Sandbox.tool` calls. */
export async function tools({ execute = true } = {}) {
    if (!isNative()) throw needsLibrary('a list of tools');
    return nativeTools(execute);
}
