// E2B: its control API and the daemon of each sandbox (envd) behind its proxy, at one port, as its clients use them: strict, with
// commands that really run.
//
// EMULATOR_PAGE: longest page of a list. EMULATOR_HOURS: longest life that the plan allows. EMULATOR_OLD=1: a server without the
// requests below /v2 that make or connect. EMULATOR_ENVD: version of the daemon. EMULATOR_EDGE_MS: after so long streams are cut.

import { createEdge } from '../common/ports.mjs';
import { createEmulator } from '../common/server.mjs';
import { apiError, checkQuery, isFlag, isObject, isSeconds, isText, isTexts, page, read } from './errors.mjs';
import { fileRoutes } from './files.mjs';
import { CHANGE, checkEgress, isNetworkConfig } from './network.mjs';
import { processRoutes } from './processes.mjs';
import { checkTimeout, Sandboxes, showSnapshot } from './sandboxes.mjs';

const KEY = 'e2b_0123456789abcdef0123456789abcdef';
const USER_TOKEN = 'sk_e2b_fedcba9876543210fedcba9876543210';
const PAGE = Number(process.env.EMULATOR_PAGE ?? 100);
const OLD = process.env.EMULATOR_OLD === '1';
const S = '/sandboxes/:id';
const all = new Sandboxes();

// ---- making and finding ----------------------------------------------------------------------------------------------

const isResume = (value) => isObject(value) && Object.keys(value).length === 1 && isFlag(value.enabled);
const isMounts = (value) => Array.isArray(value) && value.every((one) => isText(one?.name) && isText(one?.path));
const CREATE = { templateID: isText, timeout: isSeconds, metadata: isTexts, envVars: isTexts, autoPause: isFlag, autoPauseMemory: isFlag, autoResume: isResume,
    allow_internet_access: isFlag, network: isNetworkConfig, volumeMounts: isMounts, mcp: isObject, iam: isObject };

function create(version) {
    return async (request) => {
        if (version === 2 && OLD) throw apiError(404, 'no matching operation was found');
        checkQuery(request);
        const body = await read(request, version === 2 ? CREATE : { ...CREATE, secure: isFlag }, ['templateID']);
        const timeout = body.timeout ?? (version === 2 ? 300 : 15);
        checkTimeout(timeout);
        if (body.autoResume?.enabled && !body.autoPause) throw apiError(400, 'auto-resume needs auto-pause');
        checkEgress({ ...body.network, allow_internet_access: body.allow_internet_access });
        const sandbox = await all.create({ ...body, timeout, secure: version === 2 || body.secure === true });
        return { status: 201, json: sandbox.handle() };
    };
}

function connect(version) {
    return async (request) => {
        if (version === 2 && OLD) throw apiError(404, 'no matching operation was found');
        const { timeout = 300 } = await read(request, { timeout: isSeconds, memory: isFlag }, version === 2 ? [] : ['timeout']);
        checkTimeout(timeout);
        const sandbox = all.get(request.params.id);
        if (sandbox.moving) sandbox.mustRun('connecting');
        const paused = sandbox.state === 'paused';
        if (paused) await sandbox.resume();
        if (paused || Date.now() + timeout * 1000 > sandbox.endAt) sandbox.live(timeout);
        return { status: paused ? 201 : 200, json: sandbox.handle() };
    };
}

/** `k=v&k2=v2`, with keys and values encoded once more. */
function wantedMetadata(text) {
    if (text === null) return [];
    return text.split('&').map((pair) => {
        const parts = pair.split('=');
        if (parts.length !== 2) throw apiError(400, `Error parsing metadata: ${pair}`);
        return parts.map((part) => decodeURIComponent(decodeURIComponent(part.replaceAll('+', ' '))));
    });
}

function list(request) {
    const { query } = request;
    checkQuery(request, 'metadata', 'state', 'order', 'startedAfter', 'template', 'limit', 'nextToken');
    const wanted = wantedMetadata(query.get('metadata'));
    const states = (query.get('state') ?? 'running,paused').split(',');
    const order = query.get('order') ?? 'desc';
    if (!states.every((state) => ['running', 'paused'].includes(state)) || !['asc', 'desc'].includes(order)) throw apiError(400, 'validation error: query');
    const items = [...all.byId.values()].filter((one) => states.includes(one.state) && wanted.every(([key, value]) => one.metadata?.[key] === value));
    if (order === 'desc') items.reverse();
    return page(request, items.map((one) => one.listed()), PAGE, order);
}

// ---- one sandbox -----------------------------------------------------------------------------------------------------

const sandboxOf = (request) => all.get(request.params.id);

async function setTimeoutOf(request) {
    const { timeout } = await read(request, { timeout: isSeconds }, ['timeout']);
    const sandbox = sandboxOf(request);
    if (sandbox.state !== 'running') throw apiError(404, `Sandbox "${sandbox.id}" doesn't exist or you don't have access to it`);
    if (timeout < 0) throw apiError(400, 'Timeout must be at least 0');
    if (timeout > 0) checkTimeout(timeout);
    sandbox.live(timeout);
    return { status: 204 };
}

async function setNetwork(request) {
    const body = await read(request, CHANGE);
    const sandbox = sandboxOf(request);
    sandbox.mustRun('changing the network of');
    sandbox.setNetwork(body);
    return { status: 204 };
}

async function pause(request) {
    const { memory = true } = await read(request, { memory: isFlag });
    const sandbox = sandboxOf(request);
    sandbox.mustRun('pausing');
    await sandbox.pause(memory);
    return { status: 204 };
}

async function fork(request) {
    const { timeout = 300, count = 1 } = await read(request, { timeout: isSeconds, count: isSeconds });
    const sandbox = sandboxOf(request);
    sandbox.mustRun('forking');
    checkTimeout(timeout);
    if (count < 1 || count > 100) throw apiError(400, 'validation error: count');
    return { status: 201, json: await Promise.all(Array.from({ length: count }, async () => ({ sandbox: (await all.fork(sandbox, timeout)).handle() }))) };
}

async function snapshot(request) {
    if (request.headers['content-length'] === '0') throw apiError(400, 'validation error: request body is required');
    const { name } = await read(request, { name: isText });
    if (name !== undefined && !/^[a-z0-9_-]+$/.test(name)) throw apiError(400, `Invalid template name: ${name}`);
    const sandbox = all.find(request.params.id);
    if (sandbox?.state !== 'running') throw apiError(404, `Sandbox "${request.params.id}" doesn't exist or you don't have access to it`);
    return { status: 201, json: showSnapshot(await all.keep(sandbox, name)) };
}

function snapshots(request) {
    checkQuery(request, 'sandboxID', 'name', 'limit', 'nextToken');
    const id = request.query.get('sandboxID');
    const name = request.query.get('name');
    return page(request, [...all.snapshots.values()].filter((one) => (id === null || one.sandboxID === id) &&
        (name === null || one.names.some((own) => own === name || own === `team/${name}`))).map(showSnapshot), PAGE);
}

async function remove(request) {
    await sandboxOf(request).kill();
    return { status: 204 };
}

async function removeTemplate(request) {
    await all.forget(request.params.id);
    return { status: 204 };
}

// ---- who asks --------------------------------------------------------------------------------------------------------

const ofDaemon = (path) => /^\/(process|filesystem)\.|^\/(files|health)(\/|$)/.test(path);

function authenticate(request) {
    if (ofDaemon(request.path)) return;
    const { authorization, 'x-api-key': key } = request.headers;
    if (key === undefined && authorization === undefined) throw apiError(401, 'authorization header is missing');
    if (key !== undefined && !key.startsWith('e2b_')) throw apiError(401, 'Invalid API key format');
    if (key === KEY || (key === undefined && authorization === `Bearer ${USER_TOKEN}`)) return;
    throw apiError(401, 'Cannot get the team for the given API key\nit is not known');
}

/** The proxy in front of the ports: open to all, unless the sandbox was made without public traffic. */
function admit(label, headers) {
    const [, port, id] = label.match(/^(\d+)-(.*)$/) ?? [];
    const sandbox = all.byId.get(id);
    if (sandbox?.state !== 'running') return { status: 502, text: JSON.stringify({ sandboxId: id, message: 'The sandbox was not found', code: 502 }) };
    if (sandbox.network?.allowPublicTraffic === false && headers['e2b-traffic-access-token'] !== sandbox.trafficToken) return { status: 403, text: 'the traffic access token is missing or wrong' };
    return { box: sandbox.box, port: Number(port) };
}

const edge = await createEdge(admit);
await createEmulator({
    name: 'e2b',
    before: authenticate,
    routes: [
        ['POST', '/v2/sandboxes', create(2)],
        ['POST', '/sandboxes', create(1)],
        ['GET', '/v2/sandboxes', list],
        ['GET', S, (request) => ({ json: sandboxOf(request).detail() })],
        ['DELETE', S, remove],
        ['POST', `/v2${S}/connect`, connect(2)],
        ['POST', `${S}/connect`, connect(1)],
        ['POST', `${S}/timeout`, setTimeoutOf],
        ['PUT', `${S}/network`, setNetwork],
        ['POST', `${S}/pause`, pause],
        ['POST', `${S}/fork`, fork],
        ['POST', `${S}/snapshots`, snapshot],
        ['GET', '/snapshots', snapshots],
        ['DELETE', '/templates/:id', removeTemplate],
        ...processRoutes(all),
        ...fileRoutes(all),
    ],
    state: () => ({ edge, sandboxes: [...all.byId.values()].map((one) => one.shown()), snapshots: [...all.snapshots.values()].map(showSnapshot) }),
});
