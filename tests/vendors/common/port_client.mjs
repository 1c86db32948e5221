// What passes through `sandlot port` to a web server in a box: node port_client.mjs CASE PORT. Prints what came.

import { once } from 'node:events';
import { createHash } from 'node:crypto';
import net from 'node:net';
import WebSocket from 'ws';
import http from './http.mjs';

const [what, port] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true });
const ask = async (path, options = {}, body = undefined) => {
    const request = http.request({ host: '127.0.0.1', port, path, agent, ...options });
    for (const piece of body ?? []) request.write(piece);
    request.end();
    const [response] = await once(request, 'response');
    return response;
};
const read = async (response) => (await response.toArray()).join('');

const cases = {
    async get() {
        const response = await ask('/a/b?c=%20d');
        return `${response.statusCode} ${await read(response)}`;
    },
    async twice() {
        const first = await ask('/one');
        await read(first);
        return `${first.headers.connection} ${await read(await ask('/two'))}`;
    },
    headers: async () => read(await ask('/headers', { headers: { Host: 'localhost:3000', 'X-Own': 'kept', 'Keep-Alive': 'timeout=5' } })),
    async upload() {
        const pieces = Array.from({ length: 64 }, (_, i) => Buffer.alloc(65536, i));
        const digest = createHash('sha256').update(Buffer.concat(pieces)).digest('hex');
        return await read(await ask('/upload', { method: 'POST' }, pieces)) === digest ? 'same' : 'other bytes';
    },
    async events() {
        const response = await ask('/events');
        const [first] = await once(response, 'data');
        console.log(String(first).trim());
        return (await read(response)).trim();
    },
    async socket() {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`);
        await once(socket, 'open');
        for (const text of ['one', 'two']) {
            socket.send(text);
            const [answer] = await once(socket, 'message');
            console.log(String(answer));
        }
        socket.terminate();
        return 'ended';
    },
    /** A connection that lasts, and on which nothing is said for half a minute. */
    async silent() {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`);
        await once(socket, 'open');
        await new Promise((resolve) => setTimeout(resolve, 30_000));
        socket.send('one');
        const [answer] = await Promise.race([once(socket, 'message'), once(socket, 'close')]);
        return String(answer);
    },
    async redis() {
        const socket = net.connect(port, '127.0.0.1', () => socket.write('*1\r\n$4\r\nPING\r\n'));
        socket.on('error', () => {}).resume();
        await once(socket, 'close');
        return 'closed';
    },
};
console.log(await cases[what]());
process.exit(0);
