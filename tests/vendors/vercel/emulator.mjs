// Vercel's API of sandboxes below /api, as its clients use it: strict, with real states, and commands that really run.
//
// EMULATOR_PLAN=hobby: the shorter limits of that plan. EMULATOR_PAGE: longest page of a list. EMULATOR_PENDING_MS: how long a
// new sandbox is pending. EMULATOR_EDGE_MS: after so long streams are cut. EMULATOR_OLD=1: a server without `logs`, whose
// sandboxes have no `timeout`.

import { createEdge } from '../common/ports.mjs';
import { createEmulator } from '../common/server.mjs';
import { commandRoutes } from './commands.mjs';
import { apiError, badRequest, checkQuery, isFlag, isInteger, isObject, isText, isTexts, page, read } from './errors.mjs';
import { mkdir, readFile, write } from './files.mjs';
import { isPolicy } from './network.mjs';
import { Sandboxes, showSnapshot } from './sandboxes.mjs';

const TEAM = 'team_emulated', PROJECT = 'prj_emulated';
const TOKEN = 'vcp_0123456789abcdefEMULATED';
const claims = (values) => ['eyJhbGciOiJub25lIn0', Buffer.from(JSON.stringify(values)).toString('base64url'), 'c2lnbmF0dXJl'].join('.');
const OIDC = claims({ owner_id: TEAM, project_id: PROJECT, exp: 4102444800 });
const MAXIMUM_MS = process.env.EMULATOR_PLAN === 'hobby' ? 2700000 : 86400000;
const PAGE = Number(process.env.EMULATOR_PAGE ?? 50);
const PENDING_MS = Number(process.env.EMULATOR_PENDING_MS ?? 0);
const RUNTIMES = ['node22', 'node24', 'node26', 'python3.13'];
const S = '/api/v2/sandboxes/sessions/:session';
const all = new Sandboxes();

// ---- what a request may say ------------------------------------------------------------------------------------------

const SOURCES = { git: ['url', 'depth', 'revision', 'username', 'password'], tarball: ['url'], snapshot: ['snapshotId'] };
const isSource = (value) => isObject(value) && Object.hasOwn(SOURCES, value.type) && Object.keys(value).every((key) => key === 'type' || SOURCES[value.type].includes(key)) &&
    isText(value.type === 'snapshot' ? value.snapshotId : value.url);
const isTags = (value) => isTexts(value) && Object.keys(value).length <= 5;
const SETTINGS = {
    name: (value) => isText(value) && /^[a-zA-Z0-9_-]{1,128}$/.test(value),
    ports: (value) => Array.isArray(value) && value.length <= 15 && value.every((port) => isInteger(port) && port > 0 && port < 65536),
    timeout: isInteger,
    resources: (value) => isObject(value) && Object.keys(value).every((key) => key === 'vcpus') && isInteger(value.vcpus),
    image: isText, persistent: isFlag, env: isTexts, tags: isTags, networkPolicy: isPolicy, snapshotExpiration: isInteger, keepLastSnapshots: isObject, region: isText,
    failoverRegions: Array.isArray,
};
const CREATE = { ...SETTINGS, projectId: isText, source: isSource };
const UPDATE = { ...SETTINGS, currentSnapshotId: isText, keepLastSnapshots: (value) => value === null || isObject(value) };

function checkProject(project) {
    if (project !== PROJECT) throw apiError(project ? 404 : 400, project ? 'not_found' : 'bad_request', project ? 'Project not found.' : 'Missing project.');
}

function checkTimeout(timeout) {
    if (timeout !== undefined && (timeout < 1000 || timeout > MAXIMUM_MS)) {
        throw apiError(400, 'sandbox_timeout_invalid', `The timeout must be at most ${MAXIMUM_MS} ms for this plan.`);
    }
}

const settingsOf = ({ projectId, source, resources, ...rest }) => ({ ...rest, ...(resources ? { vcpus: resources.vcpus } : {}) });

// ---- by name ---------------------------------------------------------------------------------------------------------

/** Version 2 makes the older kind, with a runtime; version 3 all others. */
function create(version) {
    return async (request) => {
        checkQuery(request);
        const runtime = (value) => version === 2 && RUNTIMES.includes(value);
        const body = await read(request, { ...CREATE, runtime }, version === 2 ? ['runtime'] : []);
        checkProject(body.projectId);
        checkTimeout(body.timeout);
        if (body.runtime && body.image) throw badRequest('`runtime` and `image` cannot be used together');
        const snapshotId = body.source?.snapshotId;
        if (snapshotId && (body.runtime || body.image)) throw badRequest('`runtime` and `image` cannot be used with a snapshot');
        if (body.image?.includes('broken')) throw badRequest(`cannot pull ${body.image}: manifest unknown`);
        if (body.name && all.byName.has(body.name)) throw apiError(409, 'conflict', `A sandbox named ${body.name} already exists.`);
        if (snapshotId) all.liveSnapshot(snapshotId);
        const sandbox = await all.create({ ...settingsOf(body), currentSnapshotId: snapshotId }, PENDING_MS);
        return { json: sandbox.whole() };
    };
}

async function get(request) {
    checkQuery(request, 'projectId', 'resume');
    checkProject(request.query.get('projectId'));
    const sandbox = all.get(request.params.name);
    const resumed = request.query.get('resume') === 'true' ? await sandbox.resume() : undefined;
    return { json: sandbox.whole({ resumed }) };
}

async function update(request) {
    checkQuery(request, 'projectId');
    checkProject(request.query.get('projectId'));
    const sandbox = all.get(request.params.name);
    const body = await read(request, UPDATE);
    checkTimeout(body.timeout);
    Object.assign(sandbox, settingsOf(body), { updatedAt: Date.now() });
    sandbox.session.enforce();
    return { json: { sandbox: sandbox.shown(), routes: sandbox.routes() } };
}

async function remove(request) {
    checkQuery(request, 'projectId', 'deleteOrphanSnapshots');
    checkProject(request.query.get('projectId'));
    const sandbox = all.get(request.params.name);
    if (sandbox.deleted) throw apiError(404, 'not_found', `Sandbox not found: ${sandbox.name}`);
    return { json: { sandbox: await all.delete(sandbox, request.query.get('deleteOrphanSnapshots') === 'true') } };
}

/** From the last snapshot of the original, not from what runs; without one it is empty. */
async function fork(request) {
    checkQuery(request, 'projectId');
    checkProject(request.query.get('projectId'));
    const { persistent, timeout, tags, env, ports, image, runtime, vcpus, region, currentSnapshotId, networkPolicy, snapshotExpiration } = all.get(request.params.name);
    const body = await read(request, SETTINGS);
    checkTimeout(body.timeout);
    if (body.name && all.byName.has(body.name)) throw apiError(409, 'conflict', `A sandbox named ${body.name} already exists.`);
    const settings = { persistent, timeout, tags, env, ports, image, runtime, vcpus, region, currentSnapshotId, networkPolicy, snapshotExpiration, ...settingsOf(body) };
    return { json: (await all.create(settings, PENDING_MS)).whole() };
}

const ORDERS = { createdAt: (one) => one.createdAt, name: (one) => one.name, statusUpdatedAt: (one) => one.session.updatedAt, currentSnapshotId: (one) => one.currentSnapshotId ?? '' };

function list(request) {
    const { query } = request;
    checkQuery(request, 'project', 'limit', 'cursor', 'sortBy', 'sortOrder', 'namePrefix', 'tags');
    checkProject(query.get('project'));
    const order = ORDERS[query.get('sortBy') ?? 'createdAt'];
    const prefix = query.get('namePrefix'), tags = query.getAll('tags');
    if (!order) throw badRequest('Invalid request: `sortBy` is not valid.');
    if (prefix !== null && query.get('sortBy') !== 'name') throw badRequest('`namePrefix` needs `sortBy=name`');
    if (tags.length > 1) throw badRequest('only one tag filter');
    const [key, ...value] = (tags[0] ?? '').split(':');
    const items = [...all.byName.values()].filter((one) => !one.deleted && (prefix === null || one.name.startsWith(prefix)) &&
        (tags.length === 0 || one.tags?.[key] === value.join(':')));
    items.sort((a, b) => (order(a) < order(b) ? 1 : order(a) > order(b) ? -1 : 0));
    if (query.get('sortOrder') === 'asc') items.reverse();
    return page(request, 'sandboxes', items.map((one) => one.shown()), PAGE);
}

// ---- sessions and snapshots ------------------------------------------------------------------------------------------

const sessionOf = (request) => all.getSession(request.params.session);

async function stop(request) {
    checkQuery(request);
    const session = sessionOf(request);
    await read(request, {});
    if (session.status === 'snapshotting') session.mustRun();
    session.end().catch(console.error);
    return { json: { session: session.shown(), sandbox: session.sandbox.shown() } };
}

async function extend(request) {
    checkQuery(request);
    const session = sessionOf(request);
    session.mustRun();
    const { duration } = await read(request, { duration: isInteger }, ['duration']);
    checkTimeout(session.timeout + duration);
    session.extend(duration);
    return { json: { session: session.shown() } };
}

async function snapshot(request) {
    checkQuery(request);
    const session = sessionOf(request);
    session.mustRun();
    const { expiration } = await read(request, { expiration: isInteger });
    const kept = await session.snapshot(expiration);
    return { json: { snapshot: showSnapshot(kept), session: session.shown() } };
}

async function setPolicy(request) {
    checkQuery(request);
    const session = sessionOf(request);
    session.mustRun();
    const policy = await read(request, { mode: isText, allow: () => true, subnets: isObject });
    if (!isPolicy(policy)) throw badRequest('Invalid request: `networkPolicy` is not valid.');
    session.sandbox.networkPolicy = policy;
    session.enforce();
    return { json: { session: session.shown() } };
}

function listOf(key, items) {
    return (request) => {
        checkQuery(request, 'project', 'name', 'limit', 'cursor', 'sortOrder');
        checkProject(request.query.get('project'));
        const name = request.query.get('name');
        return page(request, key, items(name).reverse(), PAGE);
    };
}

const sessions = (name) => [...all.sessions.values()].filter((one) => !one.sandbox.deleted && (name === null || one.sandbox.name === name)).map((one) => one.shown());
const snapshots = (name) => [...all.snapshots.values()].filter((one) => name === null || one.sandboxName === name).map(showSnapshot);

async function removeSnapshot(request) {
    const found = all.getSnapshot(request.params.id);
    await all.deleteSnapshot(found);
    return { json: { snapshot: showSnapshot(found) } };
}

function authenticate(request) {
    if (![`Bearer ${TOKEN}`, `Bearer ${OIDC}`].includes(request.headers.authorization)) throw apiError(403, 'forbidden', 'Not authorized');
    if (request.query.get('teamId') !== TEAM) throw apiError(403, 'forbidden', 'You do not have access to this team.');
}

const inSession = (handler) => async (request) => handler(sessionOf(request), request);

all.edge = await createEdge((label) => all.admit(label));
await createEmulator({
    name: 'vercel',
    before: authenticate,
    routes: [
        ['POST', '/api/v3/sandboxes', create(3)],
        ['POST', '/api/v2/sandboxes', create(2)],
        ['GET', '/api/v2/sandboxes', list],
        ['GET', '/api/v2/sandboxes/sessions', listOf('sessions', sessions)],
        ['GET', '/api/v2/sandboxes/snapshots', listOf('snapshots', snapshots)],
        ['GET', '/api/v2/sandboxes/snapshots/:id', (request) => ({ json: { snapshot: showSnapshot(all.getSnapshot(request.params.id)) } })],
        ['DELETE', '/api/v2/sandboxes/snapshots/:id', removeSnapshot],
        ['GET', S, (request) => ({ json: { session: sessionOf(request).shown(), routes: sessionOf(request).sandbox.routes() } })],
        ['POST', `${S}/stop`, stop],
        ['POST', `${S}/extend-timeout`, extend],
        ['POST', `${S}/snapshot`, snapshot],
        ['POST', `${S}/network-policy`, setPolicy],
        ['POST', `${S}/fs/write`, inSession(write)],
        ['POST', `${S}/fs/read`, inSession(readFile)],
        ['POST', `${S}/fs/mkdir`, inSession(mkdir)],
        ...commandRoutes(S, sessionOf),
        ['GET', '/api/v2/sandboxes/:name', get],
        ['PATCH', '/api/v2/sandboxes/:name', update],
        ['DELETE', '/api/v2/sandboxes/:name', remove],
        ['POST', '/api/v2/sandboxes/:name/fork', fork],
    ],
    state: () => ({
        edge: all.edge,
        sandboxes: [...all.byName.values()].map((one) => ({ id: one.name, ...one.shown(), env: one.env, ports: one.ports, networkPolicy: one.networkPolicy, source: one.source,
            endsAt: one.session.startedAt + one.session.timeout })),
        snapshots: [...all.snapshots.values()].filter((one) => one.status === 'created').map(showSnapshot),
        commands: [...all.sessions.values()].flatMap((one) => [...one.commands.values()]).filter((one) => one.exitCode === null).length,
    }),
});
