// The push channel of the control API: as much of Socket.IO as the SDK needs to hear of changes of state.

import { randomUUID } from 'node:crypto';

const listeners = new Set();

/** Tells all that SANDBOX has another state. */
export function pushState(sandbox) {
    const event = JSON.stringify(['sandbox.state.updated', { sandbox, newState: sandbox.state }]);
    for (const socket of listeners) socket.send(`42${event}`);
}

/** Serves one connection. CHECK refuses a wrong token. */
export function listen(socket, check) {
    const opening = { sid: randomUUID(), upgrades: [], pingInterval: 25000, pingTimeout: 20000, maxPayload: 1000000 };
    const beat = setInterval(() => socket.send('2'), opening.pingInterval);
    socket.on('message', (bytes) => {
        const text = bytes.toString();
        if (!text.startsWith('40')) return;
        if (!check(JSON.parse(text.slice(2) || '{}').token)) {
            socket.send(`44${JSON.stringify({ message: 'unauthorized' })}`);
            return;
        }
        socket.send(`40${JSON.stringify({ sid: randomUUID() })}`);
        listeners.add(socket);
    });
    socket.on('close', () => {
        clearInterval(beat);
        listeners.delete(socket);
    });
    socket.send(`0${JSON.stringify(opening)}`);
}
