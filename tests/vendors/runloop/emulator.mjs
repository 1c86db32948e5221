// An emulator of Runloop's API.
//
// EMULATOR_OLD=1: a server that cannot create and wait in one request. EMULATOR_PAGE: the longest page of a list.
// EMULATOR_SECOND_MS: shorter seconds of lifetimes. EMULATOR_WINDOW_MS, EMULATOR_AWAIT_S: shorter waits. EMULATOR_CAP: bytes that an
// answer holds of a command's output. EMULATOR_IDLE_MS: when a silent stream is ended. EMULATOR_PIECE: bytes of one event.
// EMULATOR_SNAPSHOT_MS: how long a disk snapshot takes. EMULATOR_MOST: devboxes at a time.

import { createEdge } from '../common/ports.mjs';
import { createEmulator } from '../common/server.mjs';
import { Devboxes, devboxRoutes } from './devboxes.mjs';
import { failure } from './errors.mjs';
import { executionRoutes } from './executions.mjs';
import { fileRoutes } from './files.mjs';
import { Policies } from './network.mjs';
import { originRoutes, Origins } from './origins.mjs';

const KEY = 'ak_0123456789abcdefEMULATED';
const origins = new Origins();
const policies = new Policies();
const devboxes = new Devboxes(origins, policies);
const edge = await createEdge((label, headers) => devboxes.admit(label, headers));
let team = null; // a header of the user's own

await createEmulator({
    name: 'runloop',
    before: (request) => {
        if (request.headers.authorization !== `Bearer ${KEY}`) throw failure(401, 'Invalid API key');
        if (request.method !== 'GET' && !request.headers['x-request-id']) throw failure(400, 'x-request-id is missing');
        team = request.headers['x-team'] ?? team;
    },
    // Before the devboxes, whose ids are one segment of the path too.
    routes: [...policies.routes(), ...originRoutes(origins, devboxes), ...executionRoutes(devboxes), ...fileRoutes(devboxes), ...devboxRoutes(devboxes)],
    state: () => ({
        edge,
        sandboxes: devboxes.live().map((devbox) => devboxes.show(devbox)),
        made: devboxes.made,
        team,
        asked: Object.fromEntries(devboxes.asked),
        policies: [...policies.all.values()].map((one) => policies.show(one)),
        snapshots: [...origins.snapshots.values()].map(({ id, name, status }) => ({ id, name, status })),
        blueprints: [...origins.blueprints.values()].map(({ id, name, status }) => ({ id, name, status })),
    }),
});
