// Ports of sandboxes as services have them at URLs of their own: a proxy at a port of its own, to which all names below
// "localhost" lead, that finds sandbox and port by the Host of a request, lets in who has the token, and carries all bytes to a
// server that listens in the sandbox's box and nowhere else.

import { once } from 'node:events';
import net from 'node:net';
import http from './http.mjs';

const HEAD_MAXIMUM = 64 << 10;
// Runs in the box: what comes from standard input goes to the port, and the other way round. It ends when all is written: Node does not wait for
// what a pipe has not taken.
const BRIDGE = `const socket = require('net').connect({ port: Number(process.argv[1]), host: 'localhost' });
socket.on('error', () => process.exit(9)).on('connect', () => { process.stdin.pipe(socket); socket.pipe(process.stdout); }).on('close', () => process.stdout.write('', () => process.exit(0)));`;

function refuse(socket, status, headers, text) {
    const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`);
}

/** The headers of a request, by their names in small letters. */
function headersOf(head) {
    return Object.fromEntries(head.split('\r\n').slice(1).filter(Boolean).map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
}

/** All bytes, from FIRST on, to PORT in the box and back. */
async function carry(socket, box, port, first) {
    let silent = true;
    const bridge = await box.spawn({
        argv: ['/run/agent/node', '-e', BRIDGE, String(port)],
        stdin: socket,
        onStdout: (bytes) => {
            silent = false;
            return socket.write(bytes) ? undefined : new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
        },
    });
    socket.once('close', () => bridge.kill().catch(() => {}));
    const { code } = await bridge.done;
    if (code === 9 && silent) refuse(socket, 502, {}, `nothing listens on port ${port}`);
    else socket.end();
}

async function serve(socket, admit) {
    let bytes = Buffer.alloc(0);
    while (bytes.indexOf('\r\n\r\n') < 0) {
        const piece = await new Promise((resolve) => socket.once('readable', () => resolve(socket.read())).once('end', () => resolve(null)).once('close', () => resolve(null)));
        if (!piece || bytes.length > HEAD_MAXIMUM) return socket.destroy();
        bytes = Buffer.concat([bytes, piece]);
    }
    const headers = headersOf(bytes.subarray(0, bytes.indexOf('\r\n\r\n')).toString('latin1'));
    const [, label] = headers.host?.match(/^([a-z0-9-]+)\.localhost:\d+$/) ?? [];
    const found = label ? await admit(label, headers) : null;
    if (!found) return refuse(socket, 404, {}, `there is no such host: ${headers.host}`);
    if (found.status) return refuse(socket, found.status, found.headers ?? {}, found.text ?? '');
    socket.unshift(bytes);
    await carry(socket, found.box, found.port);
}

/** For tests with a vendor's SDK: asks for the URL of a port, whose name this machine need not know. {status, text}. */
export async function askPort(url, headers = {}) {
    const { host, port, pathname } = new URL(url);
    const request = http.get({ host: '127.0.0.1', port, path: pathname, headers: { ...headers, host }, agent: false });
    const [response] = await once(request, 'response');
    return { status: response.statusCode, text: (await response.toArray()).join('') };
}

/**
 * Begins to serve. ADMIT gets the first label of a request's host and its headers, and returns {box, port}, or {status, headers, text} to
 * refuse it, or nothing where there is no such sandbox. Returns the port.
 */
export async function createEdge(admit) {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
        socket.on('error', () => {});
        serve(socket, admit).catch((failure) => {
            if (!socket.destroyed) console.error(failure);
            socket.destroy();
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    return server.address().port;
}
