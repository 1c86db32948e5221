// An emulator of Modal's two services, at one address: what tells them apart is the path.
//
// EMULATOR_OLD=1: a server that knows the first generation of sandboxes alone. EMULATOR_PAGE: the longest page of a list.
// EMULATOR_SECOND_MS: shorter seconds of lifetimes. EMULATOR_SCHEDULE_MS: how long a sandbox waits for a task. EMULATOR_TOKEN_MS: how
// long a token really is good, EMULATOR_TOKEN_SAYS_MS: how long it says. EMULATOR_KEY_MS: how long a key for the router. Those that are given out after one was refused for its age
// stay good: what is busy has its second one once, too. EMULATOR_KEY_CUTS=N: the key expires, once, with message N of a command's output.
// EMULATOR_PIECE: bytes of output in one message, of which EMULATOR_LOST=N is not sent and EMULATOR_TWICE=N is sent again.
// EMULATOR_BUSY=N: the first N calls are asked to wait.

import { createEdge } from '../common/ports.mjs';
import { createEmulator } from '../common/server.mjs';
import { code, GrpcError, grpcRoutes, loadProto } from '../common/grpc.mjs';
import { newJwt, refuse } from './ids.mjs';
import { originHandlers, Origins } from './origins.mjs';
import { routerHandlers } from './execs.mjs';
import { KEY_LIFE_MS, sandboxHandlers, Sandboxes } from './sandboxes.mjs';

const TOKEN = { id: 'ak-0123456789abcdefEMULATED', secret: 'as-0123456789abcdefEMULATED' };
const LIFE_MS = 20 * 60 * 1000; // of a token, as it says
let tokenMs = Number(process.env.EMULATOR_TOKEN_MS ?? LIFE_MS);
const { service, type } = loadProto(new URL('service.proto', import.meta.url), 'emulated');
const origins = new Origins();
const sandboxes = new Sandboxes(origins);
const tokens = new Map(); // each until when it is good
let busy = Number(process.env.EMULATOR_BUSY ?? 0);

/** A refusal that says when to come back. */
function beBusy() {
    busy--;
    const policy = type('RetryPolicy').encode({ retry_after_secs: 0.3 }).finish();
    const status = type('Status').encode({ code: code.RESOURCE_EXHAUSTED, message: 'busy', details: [{ type_url: 'type.googleapis.com/modal.client.RPCRetryPolicy', value: policy }] });
    throw new GrpcError(code.RESOURCE_EXHAUSTED, 'too many requests', status.finish());
}

const UNARY_WITHOUT_RETRY = new Set(['ImageJoinStreaming']);

function letIn({ headers }, method) {
    if (!(Number(headers['x-modal-client-type']) >= 1 && Number(headers['x-modal-client-type']) <= 9)) throw refuse.precondition('x-modal-client-type is not known');
    if (!/^1\.\d+\.\d+/.test(headers['x-modal-client-version'] ?? '')) throw refuse.precondition('the client is too old');
    if (headers['x-modal-token-id'] !== TOKEN.id || headers['x-modal-token-secret'] !== TOKEN.secret) throw refuse.auth('Token missing or wrong');
    if (method.endsWith('V2') && !(tokens.get(headers['x-modal-auth-token']) > Date.now())) {
        if (tokens.has(headers['x-modal-auth-token'])) tokenMs = LIFE_MS;
        throw refuse.auth('x-modal-auth-token is missing or old');
    }
    if (!UNARY_WITHOUT_RETRY.has(method) && !/^[0-9a-f-]{36}$/.test(headers['x-idempotency-key'] ?? '')) throw refuse.invalid('x-idempotency-key is missing');
    if (busy > 0 && method !== 'AuthTokenGet') beBusy();
}

const keyOf = ({ headers }) => headers.authorization?.replace(/^Bearer /, '');
const ownerOf = (key) => [...sandboxes.all.values()].find((one) => one.keys.has(key));

function checkKey(request) {
    const key = keyOf(request);
    const owner = ownerOf(key);
    if (owner?.keys.get(key) >= Date.now()) return;
    if (owner) sandboxes.keyMs = KEY_LIFE_MS;
    throw refuse.auth(`the key ${key} is not valid`);
}

function expireKey(request) {
    const key = keyOf(request);
    ownerOf(key).keys.set(key, 0);
    checkKey(request);
}

/** The key is of this sandbox, and nothing of the other service's came along. */
function letThrough(request) {
    const { headers } = request;
    const stray = Object.keys(headers).find((name) => name.startsWith('x-modal-'));
    if (stray) throw refuse.invalid(`${stray} is not for a worker`);
    checkKey(request);
}

const control = {
    AuthTokenGet: () => {
        const token = newJwt({ sub: 'emulated' }, Number(process.env.EMULATOR_TOKEN_SAYS_MS ?? LIFE_MS));
        tokens.set(token, Date.now() + tokenMs);
        return { token };
    },
    ...originHandlers(origins),
    ...sandboxHandlers(sandboxes),
};

const { port } = await createEmulator({
    name: 'modal',
    http2: true,
    routes: [
        ...grpcRoutes(service('Control'), '/modal.client.ModalClient', control, { before: letIn }),
        ...grpcRoutes(service('Router'), '/modal.task_command_router.TaskCommandRouter', routerHandlers(sandboxes, expireKey), { before: letThrough }),
    ],
    state: () => ({
        sandboxes: sandboxes.live().map(({ id, first, name, tags, definition, variables, started, execs }) => ({
            id, first, name, definition, variables, started, execs: execs.size, tags: Object.fromEntries(tags.map((one) => [one.tag_name, one.tag_value])) })),
        made: sandboxes.made,
        apps: [...origins.apps.keys()],
        images: [...origins.images.values()].map(({ id, recipe, snapshot }) => ({ id, recipe, snapshot: Boolean(snapshot) })),
        tags: [...origins.tags.keys()],
    }),
});
sandboxes.edge = await createEdge((label, headers) => sandboxes.admit(label, headers));
sandboxes.url = `https://127.0.0.1:${port}`;
