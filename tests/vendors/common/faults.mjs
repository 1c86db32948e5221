// Faults on demand: rules that the tests send to /__control/faults, each for the next requests that it fits.
//
//   {method?, path?, skip?, times?, action}   path: a regular expression on path and query; skip: so many fitting requests
//                                             pass first; times: how often it acts, 1 unless told, -1 always
//
// What acts instead of the service, which is not asked at all:
//   {status, headers?, body?}   this answer; body: text, or anything else as JSON
//   {drop: "before"}            the connection is cut
//   {hang_ms}                   no answer for so long, then the connection is cut
// What acts on the answer of the service, which has done what was asked:
//   {delay_ms}                  the request waits so long first
//   {drop: "after"}             the connection is cut instead of an answer
//   {drop: "during", bytes?}    cut after so many bytes of the body, half of it unless told; of a WebSocket: of what is sent
//   {truncate_bytes}            only so many bytes of the body, and a length that says that this is all
//   {garbage: true}             bytes that mean nothing, with the status and type of the answer
//   {wrong_types: true}         JSON whose values all have other types
//   {replace}                   this body: text, or anything else as JSON
//   {slow_ms}                   the body comes in 16 pieces, with such a pause after each

import { setTimeout as pause } from 'node:timers/promises';
import { Readable, Transform } from 'node:stream';

const GARBAGE = Buffer.from('\u0000<<< \ufffd this is {not ] what was asked for');
const INSTEAD = ['status', 'hang_ms'];
const KNOWN = [...INSTEAD, 'headers', 'body', 'drop', 'bytes', 'delay_ms', 'truncate_bytes', 'garbage', 'wrong_types', 'replace', 'slow_ms'];

const asBytes = (body) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

function otherType(value) {
    if (Array.isArray(value)) return { items: value.map(otherType) };
    if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, otherType(one)]));
    if (typeof value === 'string') return [value.length];
    return value === null ? 17 : `${value}!`;
}

function wrongTypes(bytes) {
    try {
        return asBytes(otherType(JSON.parse(bytes.toString())));
    } catch {
        return GARBAGE;
    }
}

async function* slowly(bytes, pauseMs) {
    const size = Math.max(1, Math.ceil(bytes.length / 16));
    for (let at = 0; at < bytes.length; at += size) {
        yield bytes.subarray(at, at + size);
        await pause(pauseMs);
    }
}

/** Passes on LIMIT bytes, then calls CUT and never ends. */
function cutAfter(limit, cut) {
    let left = limit;
    let done = false;
    const end = () => {
        if (!done) setTimeout(cut, 20); // so that they are sent
        done = true;
    };
    return new Transform({
        transform(piece, _, next) {
            const part = piece.subarray(0, left);
            left -= part.length;
            if (left === 0) end();
            next(null, part.length > 0 ? part : undefined);
        },
        flush: end,
    });
}

/** The first LIMIT bytes; the rest is lost. */
function firstOf(limit) {
    let left = limit;
    return new Transform({
        transform(piece, _, next) {
            const part = piece.subarray(0, left);
            left -= part.length;
            next(null, part.length > 0 ? part : undefined);
        },
    });
}

const slowed = (pauseMs) => new Transform({
    transform: (piece, _, done) => setTimeout(() => done(null, piece), pauseMs),
});

export class Faults {
    rules = [];

    add(rules) {
        for (const rule of [rules].flat()) {
            const unknown = Object.keys(rule.action ?? {}).filter((name) => !KNOWN.includes(name));
            const idle = 'body' in (rule.action ?? {}) && !('status' in rule.action); // it would do nothing
            if (!rule.action || unknown.length > 0 || idle) throw new Error(`a fault without a known action: ${JSON.stringify(rule)}`);
            this.rules.push({ skip: 0, times: 1, ...rule });
        }
    }

    clear() {
        this.rules = [];
    }

    /** The action for this request, or null. */
    due(method, path) {
        for (const rule of this.rules) {
            if (rule.times === 0 || (rule.method && rule.method !== method)) continue;
            if (rule.path && !new RegExp(rule.path).test(path)) continue;
            if (rule.skip > 0) {
                rule.skip--;
                continue;
            }
            rule.times--;
            return rule.action;
        }
        return null;
    }

    /** Acts instead of the service; true if it did. */
    async instead(action, request, response, entry) {
        if (!action) return false;
        if (action.delay_ms) await pause(action.delay_ms);
        if (action.drop === 'before') {
            entry.status = 'dropped';
            request.socket.destroy();
            return true;
        }
        if (action.hang_ms) {
            entry.status = 'hung';
            request.stream.resume();
            await pause(action.hang_ms, undefined, { signal: request.signal }).catch(() => {});
            request.socket.destroy();
            return true;
        }
        if (!action.status) return false;
        entry.status = action.status;
        for await (const _ of request.stream); // the client may send before it reads
        const bytes = asBytes(action.body ?? { message: 'a fault on demand' });
        response.writeHead(action.status, { 'content-type': 'application/json', 'content-length': bytes.length, ...action.headers });
        response.end(bytes);
        return true;
    }

    /** The answer of the service with the fault. */
    damage(action, answer, response) {
        if (!action) return answer;
        if (action.drop === 'after') {
            answer.stream?.destroy();
            response.socket?.destroy();
            return { ...answer, stream: undefined, bytes: Buffer.alloc(0) };
        }
        return answer.stream ? this.#damageStream(action, answer, response) : this.#damageBytes(action, answer, response);
    }

    #damageBytes(action, answer, response) {
        const { bytes } = answer;
        if (action.drop === 'during') {
            const length = Math.min(action.bytes ?? Math.floor(bytes.length / 2), bytes.length);
            answer.headers['content-length'] = Math.max(bytes.length, length + 1);
            const cut = async function* () {
                if (length > 0) yield bytes.subarray(0, length);
                await pause(20); // so that they are sent
                response.socket?.destroy();
            };
            return { ...answer, bytes: undefined, stream: Readable.from(cut()) };
        }
        if (action.slow_ms) {
            answer.headers['content-length'] = bytes.length;
            return { ...answer, bytes: undefined, stream: Readable.from(slowly(bytes, action.slow_ms)) };
        }
        delete answer.headers['content-length'];
        if (action.truncate_bytes !== undefined) return { ...answer, bytes: bytes.subarray(0, action.truncate_bytes) };
        if (action.garbage) return { ...answer, bytes: GARBAGE };
        if (action.wrong_types) return { ...answer, bytes: wrongTypes(bytes) };
        if (action.replace !== undefined) return { ...answer, bytes: asBytes(action.replace) };
        return answer;
    }

    #damageStream(action, answer, response) {
        const { stream } = answer;
        if (action.drop === 'during') {
            const half = Math.floor((Number(answer.headers['content-length']) || 2) / 2);
            const cut = cutAfter(action.bytes ?? half, () => {
                stream.destroy();
                response.socket?.destroy();
            });
            return { ...answer, stream: stream.pipe(cut) };
        }
        if (action.slow_ms) return { ...answer, stream: stream.pipe(slowed(action.slow_ms)) };
        if (action.truncate_bytes !== undefined) {
            delete answer.headers['content-length'];
            return { ...answer, stream: stream.pipe(firstOf(action.truncate_bytes)) };
        }
        if (action.garbage || action.wrong_types || action.replace !== undefined) {
            stream.destroy();
            delete answer.headers['content-length'];
            return { ...answer, stream: undefined, bytes: action.replace === undefined ? GARBAGE : asBytes(action.replace) };
        }
        return answer;
    }

    // ---- WebSockets: an upgrade is refused or cut, or what the service sends is damaged

    async insteadOfSocket(action, socket, entry, refuse) {
        if (!action) return false;
        if (action.delay_ms) {
            socket.resume(); // or nobody would notice that the other side has gone
            await pause(action.delay_ms);
            socket.pause();
            if (socket.readableEnded) return socket.destroy();
        }
        if (action.drop === 'before' || action.hang_ms) {
            entry.status = action.hang_ms ? 'hung' : 'dropped';
            if (action.hang_ms) await pause(action.hang_ms);
            socket.destroy();
            return true;
        }
        if (!action.status) return false;
        entry.status = action.status;
        refuse(socket, { status: action.status, headers: action.headers ?? {}, bytes: asBytes(action.body ?? { message: 'a fault on demand' }) });
        return true;
    }

    /** A function that writes bytes to an upgraded SOCKET, as the fault has it. */
    damageStream(action, socket) {
        const write = (bytes) => void (socket.writable && socket.write(bytes));
        if (!action) return write;
        let left = action.truncate_bytes ?? action.bytes ?? 5;
        return (bytes) => {
            if (action.drop === 'after') return void socket.destroy();
            if (action.garbage || action.wrong_types) return write(GARBAGE);
            if (action.drop !== 'during' && action.truncate_bytes === undefined) return write(bytes);
            write(bytes.subarray(0, Math.max(left, 0)));
            left -= bytes.length;
            if (left < 0) setTimeout(() => (action.drop ? socket.destroy() : socket.end()), 20); // so that they are sent
        };
    }

    damageSocket(action, webSocket, socket) {
        if (!action) return webSocket;
        const send = webSocket.send.bind(webSocket);
        let left = action.bytes ?? 1;
        webSocket.send = (data, ...more) => {
            if (action.drop === 'after') return socket.destroy();
            if (action.drop === 'during') {
                left -= Buffer.byteLength(data);
                if (left < 0) return socket.destroy();
            }
            if (action.garbage || action.wrong_types) return send(action.garbage ? GARBAGE.toString() : wrongTypes(Buffer.from(data)).toString(), ...more);
            if (action.truncate_bytes !== undefined) return send(Buffer.from(data).subarray(0, action.truncate_bytes), { binary: typeof data !== 'string' });
            if (action.replace !== undefined) return send(asBytes(action.replace).toString(), ...more);
            if (action.slow_ms) return setTimeout(() => send(data, ...more), action.slow_ms);
            return send(data, ...more);
        };
        return webSocket;
    }
}
