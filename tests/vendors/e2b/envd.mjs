// The way to the daemon of a sandbox: the proxy before it, and who may ask whom.

import { HttpError } from '../common/server.mjs';

const PORT = '49983';
const OLD_DAEMON = Number((process.env.EMULATOR_ENVD ?? '0.6.13').split('.')[1]) < 4; // has no default user

/** The sandbox that HEADERS lead to, as the shared host finds it. */
export function reach(all, request) {
    const { 'e2b-sandbox-id': id, 'e2b-sandbox-port': port } = request.headers;
    if (id === undefined || port === undefined) throw new HttpError(400, 'missing header');
    const sandbox = /^[a-z0-9]+$/.test(id) ? all.byId.get(id) : undefined;
    if (sandbox && port !== PORT) throw new HttpError(502, { sandboxId: id, message: 'The sandbox is running but port is not open', port: Number(port), code: 502 });
    if (sandbox?.moving) throw new HttpError(409, { sandboxId: id, message: 'The sandbox is still transitioning', code: 409 });
    if (sandbox?.state === 'paused' && sandbox.autoResume?.enabled) return sandbox.resume().then(() => (sandbox.live(sandbox.timeout), sandbox));
    if (sandbox?.state !== 'running') throw new HttpError(502, { sandboxId: id, message: 'The sandbox was not found', code: 502 });
    return sandbox;
}

/** A wrong token is told in plain JSON, also where Connect is spoken. */
export function checkToken(sandbox, request) {
    if (request.headers['x-api-key'] !== undefined) console.error('the key of the control API was sent to a sandbox');
    if (sandbox.accessToken !== undefined && request.headers['x-access-token'] !== sandbox.accessToken) {
        throw new HttpError(401, { code: 401, message: 'unauthorized access, please provide a valid access token or method signing if supported' });
    }
}

/** Whether USER, null for the default, is root; undefined: there is no such user. */
export function isRoot(user) {
    if (user === null && OLD_DAEMON) return undefined;
    return { user: false, root: true }[user ?? 'user'];
}
