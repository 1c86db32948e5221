// The HTTP side of an emulated service: routes, WebSockets, a log of requests, and faults on demand. See ../README.md.

import http2 from 'node:http2';
import net from 'node:net';
import { pipeline } from 'node:stream/promises';
import { destroyAll } from './box.mjs';
import { Faults } from './faults.mjs';
import http from './http.mjs';
import { reached } from './outside.mjs';

const BODY_MAXIMUM = 64 << 20;

/** Thrown by a handler to answer with this status and, as JSON, this body. */
export class HttpError extends Error {
    constructor(status, body, headers = {}) {
        super(`HTTP ${status}`);
        Object.assign(this, { status, body, headers });
    }
}

const jsonBytes = (value) => Buffer.from(JSON.stringify(value));

// ---- requests --------------------------------------------------------------------------------------------------------

const gone = new WeakMap(); // socket, or stream of HTTP/2 -> signal: a kept connection carries many requests

function goneOf(socket) {
    if (!gone.has(socket)) {
        const abort = new AbortController();
        socket.once('close', () => abort.abort());
        gone.set(socket, abort.signal);
    }
    return gone.get(socket);
}

class Request {
    constructor(raw, url) {
        this.raw = raw;
        this.method = raw.method;
        this.path = url.pathname;
        this.query = url.searchParams;
        this.headers = raw.headers;
        this.stream = raw;
        this.socket = raw.socket;
        this.params = {};
        this.signal = goneOf(raw.stream ?? raw.socket); // aborted when the client has gone
    }

    async body(limit = BODY_MAXIMUM) {
        const pieces = [];
        let length = 0;
        for await (const piece of this.stream) {
            length += piece.length;
            if (length > limit) throw new HttpError(413, { message: 'the body is too large' });
            pieces.push(piece);
        }
        return Buffer.concat(pieces);
    }

    async json(limit) {
        const text = (await this.body(limit)).toString();
        try {
            return JSON.parse(text);
        } catch {
            throw new HttpError(400, { message: 'the body is not JSON' });
        }
    }
}

/** '/v1/x/:id' takes one segment, '/files/*path' the rest, slashes included. */
function compile([method, pattern, handler]) {
    const source = pattern.split('/').map((part) => {
        if (part.startsWith(':')) return `(?<${part.slice(1)}>[^/]+)`;
        if (part.startsWith('*')) return `(?<${part.slice(1)}>.*)`;
        return RegExp.escape?.(part) ?? part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    });
    return { method, pattern: new RegExp(`^${source.join('/')}$`), handler };
}

function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        throw new HttpError(400, { message: 'the path is badly escaped' });
    }
}

function findRoute(routes, request) {
    let known = false;
    for (const { method, pattern, handler } of routes) {
        const match = pattern.exec(request.path);
        if (!match) continue;
        known = true;
        if (method !== request.method) continue;
        request.params = Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, value]) => [name, decoded(value)]));
        return handler;
    }
    throw new HttpError(known ? 405 : 404, { message: `no route ${request.method} ${request.path}` });
}

// ---- answers ---------------------------------------------------------------------------------------------------------

/** {status, headers, bytes} or {status, headers, stream} of what a handler returned. */
function normal(response = {}) {
    const { status, headers = {}, json, body, stream, trailers, alone } = response;
    if (stream) return { status: status ?? 200, headers: { ...headers }, stream, trailers };
    if (json !== undefined) {
        return { status: status ?? 200, headers: { 'content-type': 'application/json', ...headers }, bytes: jsonBytes(json) };
    }
    const bytes = Buffer.from(body ?? '');
    return { status: status ?? (body === undefined ? 204 : 200), headers: { ...headers }, bytes, trailers, alone };
}

function fromFailure(failure) {
    if (failure instanceof HttpError) return normal({ status: failure.status, json: failure.body, headers: failure.headers });
    console.error(failure); // a fault of the emulator itself: tests look at its standard error
    return normal({ status: 500, json: { message: `emulator: ${failure.message}` } });
}

function drained(response) {
    return new Promise((resolve) => {
        const go = () => {
            response.off('drain', go).off('close', go);
            resolve();
        };
        response.on('drain', go).on('close', go);
    });
}

/** Of HTTP/2: the trailers are known when the body ends. */
async function deliverWithTrailers(response, { status, headers, bytes, stream, trailers }) {
    const isGone = () => response.stream.destroyed || response.stream.session?.destroyed !== false;
    response.writeHead(status, headers);
    if (bytes?.length) response.write(bytes);
    try {
        for await (const piece of stream ?? []) {
            if (isGone()) return;
            if (!response.write(piece)) await drained(response);
        }
    } catch (failure) {
        if (!isGone() && failure.code !== 'ABORT_ERR') throw failure;
    }
    response.addTrailers(trailers);
    response.end();
}

async function deliver(response, answer) {
    const { status, headers, bytes, stream, trailers, alone } = answer;
    if (trailers) return deliverWithTrailers(response, answer);
    if (alone && response.stream) return response.stream.respond({ ':status': status, ...headers }, { endStream: true });
    if (bytes) {
        if (status !== 204 && status !== 304) headers['content-length'] ??= bytes.length;
        response.writeHead(status, headers);
        response.end(response.req.method === 'HEAD' ? undefined : bytes);
        return;
    }
    response.writeHead(status, headers);
    response.flushHeaders();
    await pipeline(stream, response).catch(() => response.destroy());
}

// ---- the server ------------------------------------------------------------------------------------------------------

function readControl(faults, log, state, request) {
    const route = `${request.method} ${request.path.slice('/__control/'.length)}`;
    const actions = {
        'POST faults': async () => {
            faults.add(await request.json());
            return { json: faults.rules };
        },
        'DELETE faults': () => {
            faults.clear();
            return { json: [] };
        },
        'GET faults': () => ({ json: faults.rules }),
        'GET requests': () => ({ json: { count: log.requests.length, connections: log.connections, requests: log.requests } }),
        'DELETE requests': () => {
            log.requests.length = 0;
            log.connections = 0;
            return { json: {} };
        },
        'GET reached': () => ({ json: reached }),
        'GET state': async () => ({ json: (await state()) ?? {} }),
        // What tests ask often, as words: a program that reads JSON takes longer than all the rest.
        'GET count': () => ({ body: `${log.requests.length}` }),
        'GET statuses': () => ({ body: log.requests.map(({ status }) => `${status}\n`).join('') }),
        'GET live': async () => ({ body: `${(await state()).sandboxes.length}` }),
        'GET ids': async () => ({ body: (await state()).sandboxes.map(({ id }) => `${id}\n`).join('') }),
    };
    if (!actions[route]) throw new HttpError(404, { message: `no control ${route}` });
    return actions[route]();
}

/**
 * Starts a service on 127.0.0.1 and prints "listening PORT". It ends, with all its boxes, on SIGTERM, SIGINT or the end of
 * its standard input.
 *
 *   routes   [[method, pattern, async (request) => response]]
 *   before   (request) => response or nothing, ahead of every route: authentication, say
 *   upgrade  async (request, accept) => ...; `accept(headers)` completes the handshake, with these headers besides its own, and
 *            gives the WebSocket of package ws; thrown HttpErrors refuse it
 *   stream   async (request, accept) => ...; for requests that ask for an upgrade to anything but WebSocket, whose body is
 *            request.content: `accept()` answers 101 and gives {write(bytes), end(), socket}; thrown HttpErrors refuse it
 *   protocols  (offered, a Set) => the WebSocket protocol that is chosen; without it the first that is offered
 *   state    () => object for GET /__control/state
 *   stop     async () => ..., before the boxes are destroyed
 *   http2    whether it also speaks HTTP/2, to whoever begins with it; answers may then have `trailers`, or be `alone`: one
 *            block of headers that ends the stream
 */
export async function createEmulator({ name, routes, before = () => undefined, upgrade, protocols, stream, state = () => ({}), stop = () => {}, http2: second = false }) {
    const compiled = routes.map(compile);
    const faults = new Faults();
    const log = { requests: [], connections: 0 };

    /** The course of a request under a fault, if one is due. */
    async function serve(raw, response) {
        const request = new Request(raw, new URL(raw.url, 'http://emulator'));
        if (request.path.startsWith('/__control/')) {
            await deliver(response, await Promise.resolve().then(() => readControl(faults, log, state, request)).then(normal, fromFailure));
            return;
        }
        const entry = { method: request.method, path: raw.url, status: null, at: Date.now() };
        log.requests.push(entry);
        const action = faults.due(request.method, raw.url);
        if (await faults.instead(action, request, response, entry)) return;
        let answer;
        try {
            answer = normal((await before(request)) ?? (await findRoute(compiled, request)(request)));
        } catch (failure) {
            if (request.signal.aborted) {
                entry.status = 'gone'; // whoever asked is
                return;
            }
            answer = fromFailure(failure);
        }
        entry.status = answer.status;
        await deliver(response, faults.damage(action, answer, response));
        raw.resume(); // what no handler read, or the connection could not be used again
    }

    const onRequest = (raw, response) => {
        serve(raw, response).catch((failure) => {
            if (failure?.code !== 'ERR_STREAM_PREMATURE_CLOSE') console.error(failure);
            response.destroy?.();
        });
    };
    const first = http.createServer({ keepAliveTimeout: 60000, requestTimeout: 0, highWaterMark: 1 << 18 }, onRequest);
    const server = second ? eitherServer(first, onRequest) : first;
    const sockets = new Set();
    server.on('connection', (socket) => {
        log.connections++;
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket)).on('error', () => {});
    });
    if (stream) acceptStreams(first, { stream, before, faults, log, routes: compiled });
    if (upgrade) await acceptWebSockets(first, { upgrade, protocols, before, faults, log });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();

    let ending = null;
    const end = () => (ending ??= (async () => {
        server.close();
        setTimeout(() => process.exit(1), 30000); // its boxes die with it
        process.on('uncaughtException', () => {}); // what is under way, a box that is being made, fails now
        for (const socket of sockets) socket.destroy();
        await stop();
        await destroyAll();
        process.exit(0);
    })());
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, end);
    process.stdin.on('end', end).on('error', end).resume();
    process.title = `emulator ${name}`;
    console.log(`listening ${port}`);
    return { port, server, url: `http://127.0.0.1:${port}` };
}

// ---- HTTP/2 ----------------------------------------------------------------------------------------------------------

/** A server that gives a connection to FIRST, or, if it begins as HTTP/2 does, to one of that. */
function eitherServer(first, onRequest) {
    const sockets = new Map(); // session -> what it runs on, which Node hides
    let accepted = null;
    const second = http2.createServer({ settings: { initialWindowSize: 1 << 22 } }, (raw, response) => {
        const socket = sockets.get(raw.stream.session);
        for (const one of [raw, response]) Object.defineProperty(one, 'socket', { value: socket });
        raw.on('error', () => {});
        response.on('error', () => {});
        raw.stream.on('error', () => {});
        onRequest(raw, response);
    });
    second.on('session', (session) => {
        sockets.set(session, accepted);
        session.setLocalWindowSize(1 << 24);
        session.on('error', () => {}).once('close', () => sockets.delete(session));
    });
    return net.createServer({ pauseOnConnect: false }, (socket) => {
        socket.once('data', (begin) => {
            socket.pause();
            socket.unshift(begin);
            accepted = socket;
            const is2 = begin.subarray(0, 3).toString() === 'PRI';
            (is2 ? second : first).emit('connection', socket);
            if (!is2) process.nextTick(() => socket.resume()); // the other one reads what is there by itself
        });
    });
}

// ---- WebSockets ------------------------------------------------------------------------------------------------------

const GONE = new Error('whoever asked is gone');

function refuse(socket, { status, headers, bytes }) {
    const lines = [`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        `content-length: ${bytes.length}`, 'connection: close', '', ''];
    socket.end(Buffer.concat([Buffer.from(lines.join('\r\n')), bytes]));
}

/** The body of a request that asks for an upgrade, which Node leaves alone. */
async function contentOf(raw, socket, head) {
    const wanted = Number(raw.headers['content-length'] ?? 0);
    let content = head;
    while (content.length < wanted) {
        const piece = await new Promise((resolve) => socket.once('data', resolve).once('close', () => resolve(null)));
        if (!piece) throw GONE;
        content = Buffer.concat([content, piece]);
    }
    socket.pause();
    if (content.length > wanted) socket.unshift(content.subarray(wanted));
    return content.subarray(0, wanted);
}

function acceptStreams(server, { stream, before, faults, log, routes }) {
    server.on('upgrade', async (raw, socket, head) => {
        if (raw.headers.upgrade === 'websocket') return;
        const request = new Request(raw, new URL(raw.url, 'http://emulator'));
        const entry = { method: raw.method, path: raw.url, status: null, at: Date.now() };
        log.requests.push(entry);
        const action = faults.due(raw.method, raw.url);
        const accept = () => {
            entry.status = 101;
            socket.write('HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
            return { write: faults.damageStream(action, socket), end: () => socket.end(), socket };
        };
        try {
            request.content = await contentOf(raw, socket, head);
            if (await faults.insteadOfSocket(action, socket, entry, refuse)) return;
            await before(request);
            findRoute(routes, request);
            await stream(request, accept);
        } catch (failure) {
            if (failure === GONE) return;
            const answer = fromFailure(failure);
            entry.status = answer.status;
            refuse(socket, answer);
        } finally {
            entry.status ??= 'gone';
        }
    });
}

async function acceptWebSockets(server, { upgrade, protocols, before, faults, log }) {
    const { WebSocketServer } = await import('ws');
    const acceptor = new WebSocketServer({ noServer: true, maxPayload: BODY_MAXIMUM, handleProtocols: protocols });
    server.on('upgrade', async (raw, socket, head) => {
        const request = new Request(raw, new URL(raw.url, 'http://emulator'));
        const entry = { method: raw.method, path: raw.url, status: null, at: Date.now(), messages: 0 };
        log.requests.push(entry);
        const action = faults.due(raw.method, raw.url);
        let accepted = null;
        const accept = (headers = {}) => (accepted ??= new Promise((resolve, reject) => {
            if (!socket.readable || !socket.writable) {
                socket.destroy(); // whoever asked is gone
                return reject(GONE);
            }
            const add = (lines) => lines.push(...Object.entries(headers).map(([name, value]) => `${name}: ${value}`));
            acceptor.on('headers', add);
            acceptor.handleUpgrade(raw, socket, head, (webSocket) => {
                entry.status = 101;
                webSocket.on('message', () => entry.messages++).on('error', () => {});
                resolve(faults.damageSocket(action, webSocket, socket));
            });
            acceptor.off('headers', add);
        }));
        try {
            if (await faults.insteadOfSocket(action, socket, entry, refuse)) return;
            const answer = await before(request);
            if (answer) throw Object.assign(new HttpError(answer.status, answer.json ?? {}), { headers: answer.headers ?? {} });
            await upgrade(request, accept);
        } catch (failure) {
            if (request.signal.aborted || failure === GONE) return;
            if (accepted) {
                console.error(failure);
                (await accepted).close(1011);
            } else {
                const answer = fromFailure(failure);
                entry.status = answer.status;
                refuse(socket, answer);
            }
        } finally {
            entry.status ??= 'gone'; // whoever asked is
        }
    });
}

