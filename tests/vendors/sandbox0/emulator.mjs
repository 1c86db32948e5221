// Sandbox0's API below /api/v1, as its clients use it: strict, with real states, and commands that really run.
//
// EMULATOR_PAGE: longest page of a list. EMULATOR_START_MS: how long a new sandbox is "starting". EMULATOR_CHANGE_MS: how long a
// pause takes. EMULATOR_WAKE=later: what wakes a sandbox is refused until it is awake. EMULATOR_SECOND_MS: of a lifetime.
// EMULATOR_KEPT: bytes kept of a stream. EMULATOR_LONGEST: of a file that is uploaded. EMULATOR_OLD=1, null, empty: a server that only
// has `output_raw`, and what each stream alone is there. EMULATOR_ROWS=services: rows of lists have the services too. EMULATOR_BASH=none: an image without bash and /workspace.

import { createHash } from 'node:crypto';
import { createEdge } from '../common/ports.mjs';
import { createEmulator, HttpError } from '../common/server.mjs';
import { contextRoutes } from './contexts.mjs';
import { apiError, checked, checkQuery, good, invalid, isFlag, isObject, isSeconds, isText, isTexts, read } from './errors.mjs';
import { fileRoutes } from './files.mjs';
import { isPolicy, sourceNames, sourceRoutes } from './network.mjs';
import { Sandboxes, showSnapshot } from './sandboxes.mjs';

const TOKEN = 's0_emulated_0123456789abcdef0123456789abcdef';
const PAGE = Number(process.env.EMULATOR_PAGE ?? 200);
const TEMPLATES = ['default', 'python'];
const S = '/api/v1/sandboxes/:id';
const all = new Sandboxes();

// ---- what a request may say ------------------------------------------------------------------------------------------

const isMemory = (value) => isObject(value) && Object.keys(value).every((key) => key === 'memory') && /^[0-9]+(Mi|Gi)$/.test(value.memory);
const isService = (value) => isObject(value) && Object.keys(value).every((key) => ['id', 'display_name', 'port', 'runtime', 'ingress', 'health_check'].includes(key)) &&
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(value.id) && Number.isInteger(value.port) && value.port > 0 && value.port < 65536 && isFlag(value.ingress?.public);
const LIFETIMES = { ttl: isSeconds, hard_ttl: isSeconds };
const CONFIG = { ...LIFETIMES, env_vars: isTexts, auto_resume: isFlag, resources: isMemory, network: isPolicy, webhook: isObject, services: (value) => Array.isArray(value) && value.every(isService) };
const SNAPSHOT = { name: isText, description: isText, expires_at: isText };

function checkConfig(config, fields = CONFIG) {
    const { ttl = 0, hard_ttl: hard = 0 } = checked(config, fields, 'config');
    if (ttl > 0 && hard > 0 && ttl > hard) throw apiError(400, 'bad_request', 'ttl must be less than or equal to hard_ttl');
    return config;
}

function authorize(request) {
    const { authorization } = request.headers;
    if (authorization === undefined) throw apiError(401, 'unauthorized', 'missing authorization header');
    if (!authorization.startsWith('Bearer ')) throw apiError(401, 'unauthorized', 'invalid authorization header format');
    const token = authorization.slice(7);
    if (token !== TOKEN) throw token === 'gateway' ? new HttpError(401, { error: 'unauthorized' }) : apiError(401, 'unauthorized', token.startsWith('s0_') ? 'invalid api key' : 'invalid token');
    const team = request.headers['x-team-id'];
    if (team !== undefined && team !== 'team-emulated') throw apiError(403, 'forbidden', 'sandbox belongs to a different team');
}

// ---- sandboxes -------------------------------------------------------------------------------------------------------

const sandboxOf = (request) => all.get(request.params.id);

async function claim(request) {
    checkQuery(request);
    const { template, snapshot_id: snapshot, config = {} } = await read(request, { template: isText, snapshot_id: isText, config: isObject, mounts: Array.isArray });
    if (!template) throw apiError(400, 'bad_request', 'template is required');
    checkConfig(config);
    const name = template.toLowerCase();
    if (name === 'unready') throw apiError(409, 'template_not_ready', 'template is not ready', { 'retry-after': '1' });
    if (!TEMPLATES.includes(name)) throw apiError(404, 'not_found', `template ${template} not found`);
    const sandbox = await all.claim(name, config, snapshot);
    return good({ sandbox_id: sandbox.id, status: sandbox.status, pod_name: sandbox.id, template: name, cluster_id: null }, 201);
}

function list(request) {
    const { query } = request;
    checkQuery(request, 'status', 'template_id', 'paused', 'limit', 'offset');
    const limit = Number(query.get('limit') ?? 50), offset = Number(query.get('offset') ?? 0);
    if (!(Number.isInteger(limit) && limit >= 1 && limit <= 200 && Number.isInteger(offset) && offset >= 0)) throw invalid('limit and offset');
    const rows = [...all.byId.values()].filter((one) => (query.get('status') ?? one.status) === one.status && (query.get('template_id') ?? one.template) === one.template)
        .map((one) => one.listed()).reverse();
    const shown = rows.slice(offset, offset + Math.min(limit, PAGE));
    return good({ sandboxes: shown, count: rows.length, has_more: offset + shown.length < rows.length });
}

async function update(request) {
    const sandbox = sandboxOf(request);
    const { config = {} } = await read(request, { config: isObject });
    Object.assign(sandbox.config, checkConfig({ ...config }));
    sandbox.enforce();
    return good(sandbox.shown());
}

async function refresh(request) {
    const sandbox = sandboxOf(request);
    const { duration } = await read(request, { duration: isSeconds }, { optional: true });
    sandbox.refresh(duration);
    return good({ sandbox_id: sandbox.id, expires_at: sandbox.expiresAt, hard_expires_at: sandbox.hardExpiresAt });
}

async function setNetwork(request) {
    const sandbox = sandboxOf(request);
    const body = JSON.parse((await request.body()).toString());
    if (!isPolicy(body)) throw apiError(400, 'bad_request', 'invalid network policy');
    sandbox.config.network = body;
    sandbox.enforce();
    return good(body);
}

function pause(request) {
    const sandbox = sandboxOf(request);
    sandbox.pause();
    return good({ sandbox_id: sandbox.id, paused: sandbox.status === 'paused', status: sandbox.status });
}

async function resume(request) {
    const sandbox = sandboxOf(request);
    await sandbox.resume();
    return good({ sandbox_id: sandbox.id, resumed: true });
}

async function fork(request) {
    const sandbox = sandboxOf(request);
    const { config = {} } = await read(request, { config: isObject }, { optional: true });
    const child = await all.fork(sandbox, checkConfig(config, LIFETIMES));
    return good({ source_sandbox_id: sandbox.id, sandbox: child.shown() }, 201);
}

async function remove(request) {
    await all.delete(sandboxOf(request));
    return good({ message: 'sandbox deleted' });
}

// ---- services: ports that lead into a sandbox --------------------------------------------------------------------------

const labelOf = (sandbox, service) => `${sandbox.id}--${service.id}`;

function viewsOf(sandbox) {
    const views = (sandbox.config.services ?? []).map((service) => ({ ...service, publishable: service.ingress.public,
        ...(service.ingress.public ? { public_url: `http://${labelOf(sandbox, service)}.localhost:${edge}/` } : { publish_blockers: ['ingress is not public'] }) }));
    return good({ sandbox_id: sandbox.id, services: views, exposure_domain: `localhost:${edge}` });
}

async function setServices(request) {
    const sandbox = sandboxOf(request);
    sandbox.config.services = (await read(request, { services: CONFIG.services })).services;
    return viewsOf(sandbox);
}

/** Lets in who sends what one of the service's routes has the digest of. */
function admit(label, headers) {
    const [id, name] = label.split('--');
    const sandbox = all.byId.get(id);
    const service = sandbox?.config.services?.find((one) => one.id === name && one.ingress.public);
    if (!service) return null;
    if (sandbox.status !== 'running') return { status: 503, text: 'the sandbox sleeps' };
    const { mode = 'none', header_name: header = 'authorization', header_value_sha256: digest } = service.ingress.routes?.[0]?.auth ?? {};
    const is = createHash('sha256').update(headers[header.toLowerCase()] ?? '').digest('hex');
    return mode === 'none' || is === digest ? { box: sandbox.box, port: service.port } : { status: 401, text: 'unauthorized' };
}

// ---- snapshots -------------------------------------------------------------------------------------------------------

async function keep(request) {
    const sandbox = sandboxOf(request);
    const body = await read(request, SNAPSHOT, { optional: true });
    if (body.expires_at && Date.parse(body.expires_at) < Date.now()) throw apiError(400, 'bad_request', 'expires_at must be in the future');
    return good(showSnapshot(await all.keep(sandbox, body)), 201);
}

function snapshotsOf(request) {
    const { id } = sandboxOf(request);
    const shown = [...all.snapshots.values()].filter((one) => one.sandbox_id === id).map(showSnapshot);
    return good({ snapshots: shown, count: shown.length });
}

const snapshotOf = (request) => all.getSnapshot(request.params.snapshot);

async function forget(request) {
    await all.forget(snapshotOf(request));
    return good({ deleted: true });
}

const edge = await createEdge(admit);
await createEmulator({
    name: 'sandbox0',
    before: authorize,
    routes: [
        ['POST', '/api/v1/sandboxes', claim],
        ['GET', '/api/v1/sandboxes', list],
        ['GET', S, (request) => good(sandboxOf(request).shown())],
        ['GET', `${S}/status`, (request) => good({ sandbox_id: request.params.id, status: sandboxOf(request).status })],
        ['PUT', S, update],
        ['DELETE', S, remove],
        ['POST', `${S}/refresh`, refresh],
        ['GET', `${S}/network`, (request) => good(sandboxOf(request).config.network ?? { mode: 'allow-all' })],
        ['PUT', `${S}/network`, setNetwork],
        ['GET', `${S}/services`, (request) => viewsOf(sandboxOf(request))],
        ['PUT', `${S}/services`, setServices],
        ['POST', `${S}/pause`, pause],
        ['POST', `${S}/resume`, resume],
        ['POST', `${S}/fork`, fork],
        ['POST', `${S}/snapshots`, keep],
        ['GET', `${S}/snapshots`, snapshotsOf],
        ['GET', '/api/v1/sandbox-rootfs-snapshots/:snapshot', (request) => good(showSnapshot(snapshotOf(request)))],
        ['DELETE', '/api/v1/sandbox-rootfs-snapshots/:snapshot', forget],
        ...sourceRoutes,
        ...contextRoutes(S, sandboxOf),
        ...fileRoutes(S, sandboxOf),
    ],
    state: () => ({
        sources: sourceNames(),
        sandboxes: [...all.byId.values()].map((one) => ({ ...one.shown(), config: one.config, contexts: [...one.contexts.values()].map((context) => context.body) })),
        snapshots: [...all.snapshots.values()].map(showSnapshot),
    }),
});
