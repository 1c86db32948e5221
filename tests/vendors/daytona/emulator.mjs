// An emulator of Daytona: the control API below /api, the toolboxes of all sandboxes below /toolbox.
//
// EMULATOR_MINUTE_MS makes the minutes of lifetimes shorter, EMULATOR_PAGE the pages of listings, and EMULATOR_OLD_DAEMON=1 has
// the daemon answer errors of files with nothing but a status, as those before 2026 did.

import { createEdge } from '../common/ports.mjs';
import { createEmulator, HttpError } from '../common/server.mjs';
import { controlRoutes } from './control.mjs';
import { apiError, proxyError } from './errors.mjs';
import { listen, pushState } from './push.mjs';
import { Sandboxes } from './sandboxes.mjs';
import { toolboxRoutes } from './toolbox.mjs';

const KEY = 'dtn_0123456789abcdef0123456789abcdef';
const TOKEN = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0ZXN0In0.c2lnbmF0dXJl';
const ORGANIZATION = 'org-1';
const sandboxes = new Sandboxes();

function authenticate(request) {
    const refuse = request.path.startsWith('/toolbox/')
        ? proxyError(401, 'UNAUTHORIZED', 'unauthorized: Invalid credentials', request)
        : apiError(401, 'Invalid credentials', request.path);
    if (request.path === '/api/config' || request.path.startsWith('/api/socket.io/')) return;
    const bearer = request.headers.authorization?.match(/^Bearer (.+)$/)?.[1];
    if (bearer !== KEY && bearer !== TOKEN) throw refuse;
    if (bearer === TOKEN && request.headers['x-daytona-organization-id'] !== ORGANIZATION) throw refuse;
}

sandboxes.edge = await createEdge((label, headers) => sandboxes.admit(label, headers));
sandboxes.onChange = (sandbox) => pushState(sandboxes.show(sandbox));
const { url } = await createEmulator({
    name: 'daytona',
    before: authenticate,
    routes: [...controlRoutes(sandboxes), ...toolboxRoutes(sandboxes)],
    upgrade: async (request, accept) => {
        if (request.path !== '/api/socket.io/') throw new HttpError(404, { message: 'there is no such channel' });
        listen(await accept(), (token) => token === KEY || token === TOKEN);
    },
    state: () => ({
        edge: sandboxes.edge,
        sandboxes: sandboxes.live().map((sandbox) => sandboxes.show(sandbox)),
        made: sandboxes.made,
        snapshots: [...sandboxes.snapshots.values()].map(({ name, state }) => ({ name, state })),
        unknownFields: sandboxes.unknownFields,
    }),
});
sandboxes.proxyUrl = `${url}/toolbox`;
