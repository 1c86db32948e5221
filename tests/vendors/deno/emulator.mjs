// The API of Deno's sandboxes as its SDK uses it: all but a few requests over a WebSocket for each sandbox, with JSON-RPC on it.
// What the service rejects is rejected; commands really run, in boxes.
//
// Addresses: http://127.0.0.1:PORT is every region and the console; http://REGION.localhost:PORT is that region alone.
// EMULATOR_PAGE: longest page of volumes and snapshots. EMULATOR_MOST: how many sandboxes there may be. EMULATOR_LOSE=1: the
// answer to the first creation is lost. EMULATOR_MUTE_KILL=1: what is killed dies, but the answer does not come.

import { createEdge } from '../common/ports.mjs';
import { createEmulator } from '../common/server.mjs';
import { Connection } from './connection.mjs';
import { failure } from './errors.mjs';
import * as sandboxes from './sandboxes.mjs';
import * as volumes from './volumes.mjs';

const KEY = 'ddo_5e1f0c77a2b94d0e_emulated';
const PERSONAL = 'ddp_77a2b94d0e5e1f0c_emulated';
const ORGANIZATION = 'emulated';
let lose = process.env.EMULATOR_LOSE === '1';

function authenticate({ headers }) {
    const token = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1];
    const organization = headers['x-deno-org'];
    if (token !== KEY && token !== PERSONAL) throw failure(401, 'INVALID_TOKEN', 'the token is invalid or expired');
    if (token === PERSONAL && organization === undefined) throw failure(400, 'MISSING_ORG', 'a personal token needs X-Deno-Org');
    if (organization !== undefined && organization !== ORGANIZATION) throw failure(403, 'NOT_A_MEMBER', `no access to ${organization}`);
}

async function upgrade(request, accept) {
    const id = /^\/api\/v3\/sandbox\/([^/]+)\/connect$/.exec(request.path)?.[1];
    const making = request.path === '/api/v3/sandboxes/create';
    if (!id && !making) throw failure(404, 'NOT_FOUND', `no route ${request.path}`);
    const sandbox = making ? await sandboxes.create(request) : sandboxes.find(request, id);
    if (making && lose) {
        lose = false;
        return request.socket.destroy();
    }
    const socket = await accept({ 'x-deno-sandbox-id': sandbox.id }).catch(async (problem) => {
        if (making && sandbox.stopAt === undefined) await sandbox.end();
        throw problem;
    });
    sandbox.sockets.add(socket);
    socket.on('close', () => {
        sandbox.sockets.delete(socket);
        if (making && sandbox.stopAt === undefined) sandbox.end(); // it belongs to the connection
    });
    new Connection(socket, sandbox);
}

sandboxes.names.edge = await createEdge(sandboxes.admit);
await createEmulator({
    name: 'deno',
    before: authenticate,
    routes: [...sandboxes.routes, ...volumes.routes],
    upgrade,
    state: () => ({ exposed: [...sandboxes.names.keys()], sandboxes: sandboxes.running().map((one) => one.state), volumes: [...volumes.volumes.values()], snapshots: [...volumes.snapshots.values()] }),
});
