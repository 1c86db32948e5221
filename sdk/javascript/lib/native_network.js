// The network of a sandbox, and its ports, by the library.
import { attempt, Call } from './job.js';
import { library } from './library.js';
import { fieldsOf, Memory, textAt, textsAt } from './memory.js';
import { milliseconds, time } from './words.js';
import * as shapes from './shapes.js';

const eventFacts = Object.keys(shapes.networkEvent.places);

function describeEvent(number, at, allowed, port, host, rule, reason, bytesIn, bytesOut, milliseconds) {
    const words = { host: textAt(host) ?? '', rule: textAt(rule), reason: textAt(reason) };
    return { number, at: new Date(at), allowed, port, ...words, bytesIn, bytesOut, duration: milliseconds / 1000 };
}

function describeState(mode, allow, hosts, headers, source, note) {
    const named = textsAt(headers);
    const credentials = Object.fromEntries(textsAt(hosts).map((host, at) => [host, named[at]]));
    return { mode: textAt(mode), allow: textsAt(allow), credentials, source: textAt(source), note: textAt(note) };
}

export class NativeNetwork {
    #session;

    constructor(session) {
        this.#session = session;
    }

    get canChange() {
        return library().can_change_network(this.#session.open());
    }

    get hasLog() {
        return library().has_network_log(this.#session.open());
    }

    show({ signal } = {}) {
        const call = new Call();
        const { list, each } = call.collect(shapes.networkState, Object.keys(shapes.networkState.places), describeState, library().tell);
        const start = (error) => library().submit_show_network(this.#session.session, each, null, error);
        return this.#session.run(call, start, () => list[0], signal);
    }

    change(mode, { allow, deny, signal } = {}) {
        const call = new Call();
        const { memory } = call;
        const request = memory.struct(shapes.networkChange, { mode: memory.text(mode), allow: memory.texts(allow), deny: memory.texts(deny) });
        return this.#session.run(call, (error) => library().submit_change_network(this.#session.session, request.address, error), undefined, signal);
    }

    log({ after = 0, signal } = {}) {
        const call = new Call();
        const { list, each } = call.collect(shapes.networkEvent, eventFacts, describeEvent);
        const start = (error) => library().submit_read_network_log(this.#session.session, after, each, null, error);
        return this.#session.run(call, start, () => list, signal);
    }
}

export class NativePorts {
    #session;

    constructor(session) {
        this.#session = session;
    }

    async forward(port, { localPort = 0, address } = {}) {
        const memory = new Memory();
        const request = memory.struct(shapes.forward, { port, local_port: localPort, address: memory.text(address) });
        const forward = attempt((error) => library().forward_open(this.#session.open(), request.address, error));
        memory.release();
        return this.#session.keep(new NativeForward(forward, this.#session));
    }

    url(port, { ttl, signal } = {}) {
        const call = new Call();
        const told = call.memory.struct(shapes.portUrl);
        const wanted = ttl === undefined ? 0 : milliseconds(ttl);
        const start = (error) => library().submit_port_url(this.#session.session, port, wanted, told.address, error);
        const finish = () => {
            const [url, header, expires, isPublic] = fieldsOf(told, ...Object.keys(shapes.portUrl.places));
            const found = { url: textAt(url), header: textAt(header), expiresAt: time(expires), isPublic };
            library().port_url_clear(told.address);
            return found;
        };
        return this.#session.run(call, start, finish, signal);
    }
}

class NativeForward {
    #forward;
    #session;

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
        if (forward) await new Promise((resolve, reject) => library().forward_close.async(forward, (problem) => (problem ? reject(problem) : resolve())));
    }
}
