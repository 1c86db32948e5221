import { CommandSession, commandProviders } from './command.js';
import { SandlotError } from './errors.js';
import { whyNot } from './library.js';
import { NativeSession, nativeProviders } from './native.js';

/** Whether calls go by the library; ROUTE: what was asked for. */
function isNative(route) {
    if (route !== undefined && route !== 'native' && route !== 'command')
        throw new SandlotError('usage', `there is no route '${route}'; 'native' and 'command' are those there are`);
    if (route === 'command') return false;
    const problem = whyNot();
    if (problem && route === 'native') throw new SandlotError('usage', problem);
    return !problem;
}

/** VALUE with its bytes as `text` too, made when it is asked for; bytes that are no UTF-8 become U+FFFD. */
const withText = (value, name) => Object.defineProperty(value, 'text', { get: () => value[name].toString() });

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

    #open() {
        if (this.#closing) throw new SandlotError('usage', 'the sandbox is closed');
        return this.#session;
    }

    async execute(command, options = {}) {
        return withText(await this.#open().execute(command, options), 'output');
    }

    async read(path, options = {}) {
        return withText(await this.#open().read(path, options), 'content');
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
