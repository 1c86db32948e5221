// The network of a sandbox, and its ports, by the library.
import { promisify } from 'node:util';
import { attempt, Call, nothing } from './job.js';
import { library } from './library.js';
import { fieldsOf, Memory, textAt, textsAt, wordAt } from './memory.js';
import { checkNumber, milliseconds, time } from './words.js';
import * as shapes from './shapes.js';

/**
 * @import { Forward, Network, NetworkEvent, NetworkState, Ports } from './index.js'
 * @import { Start } from './job.js'
 * @import { StructOf } from './layout.js'
 * @import { NativeSession } from './native.js'
 */

/** @type {(told: StructOf<typeof shapes.networkEvent>) => NetworkEvent} */
function describeEvent(told) {
    return {
        ...{ number: told.number, at: new Date(told.at_ms), allowed: told.allowed, port: told.port },
        ...{ host: textAt(told.host) ?? '', rule: textAt(told.rule), reason: textAt(told.reason) },
        ...{ bytesIn: told.bytes_in, bytesOut: told.bytes_out, duration: told.duration_ms / 1000 },
    };
}

/** @type {(told: StructOf<typeof shapes.networkState>) => NetworkState} */
function describeState({ mode, allow, credential_hosts: hosts, credential_headers: headers, source, note, broken }) {
    const named = textsAt(headers);
    const credentials = Object.fromEntries(textsAt(hosts).map((host, at) => [host, named[at]]));
    const told = /** @type {NetworkState['mode']} */ (textAt(mode));
    return { mode: told, allow: textsAt(allow), credentials, source: textAt(source), note: textAt(note), broken };
}

/** @implements {Network} */
export class NativeNetwork {
    #session;

    /** @param {NativeSession} session */
    constructor(session) {
        this.#session = session;
    }

    get canChange() {
        return library().can_change_network(this.#session.open());
    }

    get hasLog() {
        return library().has_network_log(this.#session.open());
    }

    /** @type {Network['show']} */
    show({ signal } = {}) {
        const call = new Call();
        const { list, each } = call.collect(shapes.networkState, describeState, library().tell);
        /** @type {Start} */
        const start = (error) => library().submit_show_network(this.#session.session, each, null, error);
        return this.#session.run(call, start, () => list[0], signal);
    }

    /** @type {Network['change']} */
    change(mode, { allow, deny, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.networkChange, { mode: memory.text(mode), allow: memory.texts(allow), deny: memory.texts(deny) });
        return this.#session.run(call, (error) => library().submit_change_network(this.#session.session, request.address, error), nothing, signal);
    }

    /** @type {Network['log']} */
    async log({ after = 0, signal } = {}) {
        checkNumber('after', after, 0, Number.MAX_SAFE_INTEGER);
        const call = new Call();
        const { list, each } = call.collect(shapes.networkEvent, describeEvent);
        /** @type {Start} */
        const start = (error) => library().submit_read_network_log(this.#session.session, after, each, null, error);
        return this.#session.run(call, start, () => list, signal);
    }
}

/** @implements {Ports} */
export class NativePorts {
    #session;

    /** @param {NativeSession} session */
    constructor(session) {
        this.#session = session;
    }

    /** @type {Ports['forward']} */
    async forward(port, { localPort = 0, address } = {}) {
        checkNumber('a port of the sandbox', port, 1, 65535);
        checkNumber('a port of this machine', localPort, 0, 65535);
        const memory = new Memory();
        const request = memory.struct(shapes.forward, { port, local_port: localPort, address: memory.text(address) });
        const forward = attempt((error) => library().forward_open(this.#session.open(), request.address, error));
        memory.release();
        return this.#session.keep(new NativeForward(forward, this.#session));
    }

    /** @type {Ports['url']} */
    async url(port, { ttl, signal } = {}) {
        checkNumber('a port of the sandbox', port, 1, 65535);
        const call = new Call();
        const told = call.memory.struct(shapes.portUrl);
        const wanted = ttl === undefined ? 0 : milliseconds(ttl);
        /** @type {Start} */
        const start = (error) => library().submit_port_url(this.#session.session, port, wanted, told.address, error);
        const finish = () => {
            const { url, header, expires_at_ms: expires, is_public: isPublic } = fieldsOf(told);
            const found = { url: wordAt(url), header: textAt(header), expiresAt: time(expires), isPublic };
            library().port_url_clear(told.address);
            return found;
        };
        return this.#session.run(call, start, finish, signal);
    }
}

/** @implements {Forward} */
class NativeForward {
    #forward;
    #session;

    /** @param {any} forward @param {NativeSession} session */
    constructor(forward, session) {
        this.#forward = forward;
        this.#session = session;
        this.port = library().forward_port(forward);
    }

    /** At the end of the process, which waits for nothing else. */
    closeNow() {
        const forward = this.#forward;
        this.#forward = null;
        if (forward) library().forward_close(forward);
    }

    /* On a thread of Node's: it waits for those of the connections. */
    async close() {
        const forward = this.#forward;
        this.#forward = null;
        this.#session.forget(this);
        if (forward) await promisify(library().forward_close.async)(forward);
    }

    [Symbol.asyncDispose]() {
        return this.close();
    }
}
