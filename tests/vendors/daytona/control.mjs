// The control API: sandboxes and snapshots.

import { apiError } from './errors.mjs';
import { changeNetwork, checkLists } from './network.mjs';

const REGIONS = ['us', 'eu'];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const texts = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && Object.values(value).every((one) => typeof one === 'string');
const TYPES = {
    string: (value) => typeof value === 'string',
    number: (value) => typeof value === 'number' && Number.isFinite(value),
    boolean: (value) => typeof value === 'boolean',
    object: texts,
    array: Array.isArray,
};
const CREATE = { name: 'string', snapshot: 'string', buildInfo: null, user: 'string', env: 'object', labels: 'object', public: 'boolean', target: 'string',
    cpu: 'number', memory: 'number', disk: 'number', gpu: 'number', autoStopInterval: 'number', autoPauseInterval: 'number', autoArchiveInterval: 'number',
    autoDeleteInterval: 'number', ttlMinutes: 'number', networkBlockAll: 'boolean', networkAllowList: 'string', domainAllowList: 'string', volumes: 'array',
    secrets: 'array' };

/** The body as the service understands it: nothing of it, unless it is said to be JSON. */
async function bodyOf(request) {
    const bytes = await request.body().catch(() => {
        throw apiError(400, 'request aborted', request.path);
    });
    if (!(request.headers['content-type'] ?? '').startsWith('application/json') || bytes.length === 0) return {};
    try {
        return JSON.parse(bytes.toString());
    } catch {
        throw apiError(400, 'Unexpected token in JSON', request.path);
    }
}

/** Where a port is. The token is another one after each start. */
function preview(sandboxes, sandbox, port) {
    if (!Number.isInteger(port) || port < 1 || port > 65535) throw apiError(400, 'Invalid port');
    const { id: sandboxId } = sandbox;
    return { sandboxId, url: `http://${port}-${sandboxId}.localhost:${sandboxes.edge}`, token: sandboxes.token(sandbox) };
}

function checkTypes(body, types, unknown) {
    const problems = [];
    for (const [name, value] of Object.entries(body)) {
        if (!(name in types)) unknown.push(name);
        else if (types[name] && value !== null && !TYPES[types[name]](value)) problems.push(`${name} must be a ${types[name]}`);
    }
    if (problems.length > 0) throw apiError(400, problems.join(', '));
}

function checkCreate(sandboxes, body) {
    checkTypes(body, CREATE, sandboxes.unknownFields);
    if (body.name !== undefined && (!body.name || /[<>\u0000-\u001f]|:\/\//.test(body.name))) throw apiError(400, 'name is invalid');
    if (body.name && sandboxes.find(body.name)) throw apiError(409, `Sandbox with name ${body.name} already exists`);
    if (body.snapshot && body.buildInfo) throw apiError(400, 'Cannot specify a snapshot when using a build info entry');
    if (body.buildInfo && !/^FROM \S+\n/.test(body.buildInfo.dockerfileContent ?? '')) throw apiError(400, 'dockerfileContent is invalid');
    if (!body.buildInfo && ['cpu', 'memory', 'disk', 'gpu'].some((name) => body[name] !== undefined)) {
        throw apiError(400, 'Cannot specify Sandbox resources when using a snapshot');
    }
    if (body.cpu > 16) throw apiError(400, 'Total CPU limit exceeded. Maximum allowed: 16.');
    for (const name of ['autoStopInterval', 'autoPauseInterval', 'autoArchiveInterval', 'ttlMinutes']) {
        if (body[name] < 0 || (body[name] !== undefined && !Number.isInteger(body[name]))) throw apiError(400, `${name} must be a non-negative integer`);
    }
    checkLists(body);
    if (body.target && !REGIONS.includes(body.target)) throw apiError(404, `Region ${body.target} not found`);
    if (body.env && Object.keys(body.env).some((name) => !/^[A-Za-z_]\w*$/.test(name))) throw apiError(400, 'env has an invalid name');
}

async function create(sandboxes, request) {
    const body = await bodyOf(request);
    checkCreate(sandboxes, body);
    const snapshot = body.buildInfo ? undefined : sandboxes.findSnapshot(body.snapshot ?? 'daytonaio/sandbox:0.5.0');
    if (!body.buildInfo && snapshot?.name.startsWith('unused') && !snapshot.unused) Object.assign(snapshot, { state: 'inactive', unused: true });
    if (!body.buildInfo && snapshot?.state !== 'active') throw apiError(400, `Snapshot ${body.snapshot} not found. Did you add it through the Daytona Dashboard?`);
    return { json: await sandboxes.create(body, { snapshot }) };
}

function list(sandboxes, request) {
    const { query } = request;
    const limit = Number(query.get('limit') ?? 100);
    if (!Number.isInteger(limit) || limit < 1 || limit > 200) throw apiError(400, 'limit must not be greater than 200');
    let labels = {};
    try {
        labels = JSON.parse(query.get('labels') ?? '{}');
    } catch {
        throw apiError(400, 'labels must be a JSON string');
    }
    const states = query.getAll('states');
    const fits = (sandbox) => sandbox.state !== 'destroyed' && Object.entries(labels).every(([name, value]) => sandbox.labels[name] === value) &&
        (states.length === 0 || states.includes(sandbox.state));
    const all = [...sandboxes.all.values()].filter(fits).reverse();
    const cursor = query.get('cursor');
    const at = cursor ? Number(Buffer.from(cursor, 'base64url').toString().match(/^at=(\d+)$/)?.[1] ?? NaN) : 0;
    if (!Number.isInteger(at)) throw apiError(400, 'Invalid cursor');
    const size = Math.min(limit, Number(process.env.EMULATOR_PAGE ?? limit));
    const next = at + size < all.length ? Buffer.from(`at=${at + size}`).toString('base64url') : null;
    // The state in a listing is an old one: what is being deleted still seems to have started.
    const shown = (sandbox) => ({ ...sandboxes.show(sandbox, { asListed: true }), ...(sandbox.state === 'destroying' ? { state: 'started' } : {}) });
    return { json: { items: all.slice(at, at + size).map(shown), nextCursor: next } };
}

async function setNetwork(sandboxes, request) {
    const body = await bodyOf(request);
    checkTypes(body, { networkBlockAll: 'boolean', networkAllowList: 'string', domainAllowList: 'string' }, sandboxes.unknownFields);
    const sandbox = sandboxes.get(request.params.id);
    changeNetwork(sandbox, body);
    return { json: sandboxes.show(sandbox) };
}

async function makeSnapshot(sandboxes, request) {
    const body = await bodyOf(request);
    checkTypes(body, { name: 'string', includeMemory: 'boolean' }, sandboxes.unknownFields);
    if (!body.name) throw apiError(400, 'name must be a string');
    return { json: sandboxes.makeSnapshot(sandboxes.get(request.params.id), body.name, body.includeMemory ?? false) };
}

async function addSnapshot(sandboxes, request) {
    const body = await bodyOf(request);
    checkTypes(body, { name: 'string', imageName: 'string', buildInfo: null, entrypoint: 'array', cpu: 'number', memory: 'number', disk: 'number', gpu: 'number',
        regionId: 'string', sandboxClass: 'string' }, sandboxes.unknownFields);
    if (!body.name || !(body.imageName || body.buildInfo)) throw apiError(400, 'name and imageName are required');
    if (sandboxes.findSnapshot(body.name)) throw apiError(409, `Snapshot with name "${body.name}" already exists for this organization`);
    const snapshot = sandboxes.addSnapshot({ name: body.name, imageName: body.imageName, state: 'pending' });
    setTimeout(() => (snapshot.state = 'active'), 150);
    return { json: showSnapshot(snapshot) };
}

const showSnapshot = ({ box, ...shown }) => shown;

function listSnapshots(sandboxes, request) {
    const page = Number(request.query.get('page') ?? 1);
    const limit = Math.min(Number(request.query.get('limit') ?? 100), Number(process.env.EMULATOR_PAGE ?? 100));
    const all = [...sandboxes.snapshots.values()];
    return { json: { items: all.slice((page - 1) * limit, page * limit).map(showSnapshot), total: all.length, page, totalPages: Math.max(1, Math.ceil(all.length / limit)) } };
}

function activate(sandboxes, request) {
    const snapshot = sandboxes.snapshots.get(request.params.id);
    if (!snapshot) throw apiError(404, `Snapshot with ID ${request.params.id} not found`);
    if (snapshot.state !== 'inactive') throw apiError(400, `Snapshot ${snapshot.name} is not inactive`);
    snapshot.state = 'pulling';
    setTimeout(() => (snapshot.state = 'active'), 150);
    return { json: showSnapshot(snapshot) };
}

function snapshotOf(sandboxes, idOrName) {
    const snapshot = sandboxes.findSnapshot(idOrName);
    if (!snapshot) throw apiError(404, `Snapshot with ID or name ${idOrName} not found`);
    return snapshot;
}

async function removeSnapshot(sandboxes, request) {
    const { id } = request.params;
    if (!UUID.test(id)) throw apiError(400, 'Validation failed (uuid is expected)');
    const snapshot = snapshotOf(sandboxes, id);
    if (snapshot.general) throw apiError(403, 'You cannot delete a general snapshot');
    await sandboxes.deleteSnapshot(snapshot);
    return { status: 200, body: '' };
}

/** An interval in the path. */
function interval(sandboxes, field, least) {
    return (request) => {
        const minutes = Number(request.params.minutes);
        const sandbox = sandboxes.get(request.params.id);
        if (!Number.isInteger(minutes) || minutes < least) throw apiError(400, `${field} must be a non-negative integer`);
        sandbox[field] = minutes;
        return { status: 201, json: sandboxes.show(sandbox) };
    };
}

export function controlRoutes(sandboxes) {
    const one = (request) => sandboxes.get(request.params.id);
    const change = (name) => async (request) => ({ json: await sandboxes[name](one(request)) });
    return [
        ['GET', '/api/config', () => ({ json: { version: '0.205.1', defaultSnapshot: 'daytonaio/sandbox:0.5.0', proxyToolboxUrl: sandboxes.proxyUrl } })],
        ['POST', '/api/sandbox', (request) => create(sandboxes, request)],
        ['GET', '/api/sandbox', (request) => list(sandboxes, request)],
        ['GET', '/api/sandbox/:id', (request) => ({ json: sandboxes.show(one(request)) })],
        ['DELETE', '/api/sandbox/:id', change('destroy')],
        ['GET', '/api/sandbox/:id/toolbox-proxy-url', (request) => ({ json: { url: one(request) && sandboxes.proxyUrl } })],
        ['GET', '/api/sandbox/:id/ports/:port/preview-url', (request) => ({ json: preview(sandboxes, one(request), Number(request.params.port)) })],
        ['POST', '/api/sandbox/:id/start', change('start')],
        ['POST', '/api/sandbox/:id/stop', change('stop')],
        ['POST', '/api/sandbox/:id/pause', change('pause')],
        ['POST', '/api/sandbox/:id/archive', change('archive')],
        ['POST', '/api/sandbox/:id/recover', change('recover')],
        ['POST', '/api/sandbox/:id/fork', async (request) => {
            const body = await bodyOf(request);
            checkTypes(body, { name: 'string' }, sandboxes.unknownFields);
            if (body.name && sandboxes.find(body.name)) throw apiError(409, `Sandbox with name ${body.name} already exists`);
            return { json: await sandboxes.fork(one(request), body.name) };
        }],
        ['POST', '/api/sandbox/:id/last-activity', (request) => {
            sandboxes.touch(one(request));
            return { status: 201, body: '' };
        }],
        ['PUT', '/api/sandbox/:id/labels', async (request) => {
            const { labels } = await bodyOf(request);
            if (!texts(labels)) throw apiError(400, 'labels must be an object');
            one(request).labels = labels;
            return { json: { labels } };
        }],
        ['POST', '/api/sandbox/:id/network-settings', (request) => setNetwork(sandboxes, request)],
        ['POST', '/api/sandbox/:id/autostop/:minutes', interval(sandboxes, 'autoStopInterval', 0)],
        ['POST', '/api/sandbox/:id/autodelete/:minutes', interval(sandboxes, 'autoDeleteInterval', -1)],
        ['POST', '/api/sandbox/:id/autoarchive/:minutes', interval(sandboxes, 'autoArchiveInterval', 0)],
        ['POST', '/api/sandbox/:id/autopause/:minutes', interval(sandboxes, 'autoPauseInterval', 0)],
        ['POST', '/api/sandbox/:id/snapshot', (request) => makeSnapshot(sandboxes, request)],
        ['POST', '/api/snapshots', (request) => addSnapshot(sandboxes, request)],
        ['GET', '/api/snapshots', (request) => listSnapshots(sandboxes, request)],
        ['GET', '/api/snapshots/:id', (request) => ({ json: showSnapshot(snapshotOf(sandboxes, request.params.id)) })],
        ['POST', '/api/snapshots/:id/activate', (request) => activate(sandboxes, request)],
        ['DELETE', '/api/snapshots/:id', (request) => removeSnapshot(sandboxes, request)],
    ];
}
