import { CommandSession, commandProviders } from './command.js';
import { CommandSandboxes } from './command_sandboxes.js';
import { SandlotError } from './errors.js';
import { whyNot } from './library.js';
import { nativeDefault, nativeProviders, NativeSession, nativeTools } from './native.js';
import { NativeSandboxes } from './native_sandboxes.js';
import { needsLibrary } from './options.js';
import { inText } from './words.js';

/** Whether calls go by the library; ROUTE: what was asked for. */
function isNative(route) {
    if (route !== undefined && route !== 'native' && route !== 'command')
        throw new SandlotError('usage', `there is no route '${route}'; 'native' and 'command' are those there are`);
    if (route === 'command') return false;
    const problem = whyNot();
    if (problem && route === 'native') throw new SandlotError('usage', problem);
    return !problem;
}

export class Sandbox {
    #session;
    #closing = null;

    constructor(session) {
        this.#session = session;
    }

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

    async terminal(input, output, options = {}) {
        return this.#open().terminal(input, output, options);
    }

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

    async execute(command, options = {}) {
        return inText(await this.#open().execute(command, options), 'output');
    }

    async read(path, options = {}) {
        return inText(await this.#open().read(path, options), 'content');
    }

    async write(path, content, options = {}) {
        await this.#open().write(path, content, options);
    }

    async edit(path, before, after, options = {}) {
        return this.#open().edit(path, before, after, options);
    }

    async remove(path, options = {}) {
        await this.#open().remove(path, options);
    }

    async ls(path, options = {}) {
        return this.#open().ls(path, options);
    }

    async glob(pattern, path, options = {}) {
        return this.#open().glob(pattern, path, options);
    }

    async grep(text, path, options = {}) {
        return this.#open().grep(text, path, options);
    }

    async upload(path, content, options = {}) {
        await this.#open().upload(path, content, options);
    }

    async download(path, options = {}) {
        return this.#open().download(path, options);
    }

    async uploadFile(local, path, options = {}) {
        await this.#open().uploadFile(local, path, options);
    }

    async downloadFile(path, local, options = {}) {
        await this.#open().downloadFile(path, local, options);
    }

    close() {
        this.#closing ??= this.#session.close();
        return this.#closing;
    }

    async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
        await this.close();
    }
}

export async function listProviders({ configFile, route } = {}) {
    return isNative(route) ? nativeProviders(configFile) : commandProviders(configFile);
}

export class Sandboxes {
    #route;

    constructor(options = {}) {
        this.#route = new (isNative(options.route) ? NativeSandboxes : CommandSandboxes)(options);
    }

    async list(options) {
        return this.#route.list(options);
    }

    async delete(id, options) {
        return this.#route.delete(id, options);
    }

    async pause(id, options) {
        return this.#route.pause(id, options);
    }

    async resume(id, options) {
        return this.#route.resume(id, options);
    }

    async snapshot(id, name, options) {
        return this.#route.snapshot(id, name, options);
    }

    async snapshots(options) {
        return this.#route.snapshots(options);
    }

    async deleteSnapshot(name, options) {
        return this.#route.deleteSnapshot(name, options);
    }

    async volumes(options) {
        return this.#route.volumes(options);
    }

    async deleteVolume(name, options) {
        return this.#route.deleteVolume(name, options);
    }

    async fork(id, options) {
        return this.#route.fork(id, options);
    }

    async collectGarbage(options) {
        return this.#route.collectGarbage(options);
    }
}

/** What the configuration names as the provider to use; null: nothing. */
export async function defaultProvider({ configFile } = {}) {
    if (!isNative()) throw needsLibrary('the default provider');
    return nativeDefault(configFile);
}

/** The tools for agents that `Sandbox.tool` calls. */
export async function tools({ execute = true } = {}) {
    if (!isNative()) throw needsLibrary('a list of tools');
    return nativeTools(execute);
}
