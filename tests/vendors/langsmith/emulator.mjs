// LangSmith's sandbox API, as its clients use it: control plane below /v2/sandboxes, data plane at an address of each
// sandbox's own, under another host name. What the service rejects is rejected; commands really run, in boxes.
//
// EMULATOR_PAGE: longest page of a list. EMULATOR_OLD=1: lists as older servers make them. EMULATOR_NO_WEBSOCKET=1: a
// deployment without the WebSocket for commands. EMULATOR_NO_TUNNEL=1: without the one for ports; EMULATOR_TUNNEL_VERSION: another
// version of it; EMULATOR_PING_MS: how often that
// asks whether the client is there. EMULATOR_CLOCK_MS: how far the clock is behind that says when tokens of ports expire.
// EMULATOR_NO_PORTS=1: a deployment without URLs of ports. EMULATOR_WORKSPACE: the one that the key, which has several, is used for.

import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createBox, deleteSnapshot } from '../common/box.mjs';
import { createEdge } from '../common/ports.mjs';
import { createEmulator, HttpError } from '../common/server.mjs';
import { Commands } from './commands.mjs';
import { download, upload } from './files.mjs';
import { isProxy, shown as shownProxy, wall } from './network.mjs';
import { pings, serveTunnel } from './tunnel.mjs';

const KEY = 'lsv2_sk_5e1f0c77a2b94d0e_emulated';
const ROOT = '/v2/sandboxes';
const START_MS = 40, WAKE_MS = 400, BUILD_MS = 250, SLOW_MS = 600000;
const GIB = 2 ** 30;
const LONGEST_PAGE = Number(process.env.EMULATOR_PAGE ?? 500);
const CLOCK_MS = Number(process.env.EMULATOR_CLOCK_MS ?? 0);
const WORKSPACE = process.env.EMULATOR_WORKSPACE;
const OLD = process.env.EMULATOR_OLD === '1';

const boxes = new Map(); // name -> Sandbox
const snapshots = new Map(); // id -> snapshot

const failure = (status, error, message, more = {}) => new HttpError(status, { detail: { error, message, ...more } });
const invalid = (field, message) => new HttpError(422, { detail: [{ loc: ['body', field], msg: message, type: 'value_error' }] });
const now = () => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

// ---- what a request may say -----------------------------------------------------------------------------------------

const isText = (value) => typeof value === 'string';
const isInteger = (value) => Number.isSafeInteger(value) && value >= 0;
const isFlag = (value) => typeof value === 'boolean';
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isTexts = (value) => isObject(value) && Object.values(value).every(isText);
const isMinutes = (value) => isInteger(value) && value % 60 === 0;
const isSize = (value) => isInteger(value) && value > 0 && value <= 64 * GIB;
const isRunConfig = (value) => isObject(value) && Object.keys(value).every((key) => ['user', 'work_dir', 'env_vars'].includes(key)) &&
    (value.work_dir === undefined || (isText(value.work_dir) && value.work_dir.startsWith('/'))) && (value.env_vars === undefined || isTexts(value.env_vars));
const isLabels = (value) => isTexts(value) && Object.keys(value).length <= 128 &&
    Object.entries(value).every(([key, text]) => Buffer.byteLength(key) <= 256 && Buffer.byteLength(text) <= 4096);

const CREATE = { name: isText, snapshot_id: isText, snapshot_name: isText, snapshot: isText, wait_for_ready: isFlag, timeout: isInteger,
    idle_ttl_seconds: isMinutes, delete_after_stop_seconds: (value) => isMinutes(value) && value <= 2592000, vcpus: isInteger,
    cpu_millicores: isInteger, mem_bytes: isSize, fs_capacity_bytes: isSize, env_vars: isTexts, labels: isLabels, run_config: isRunConfig,
    preserve_memory_on_stop: isFlag, restore_memory: isFlag, proxy_config: isProxy, mount_config: isObject, access_delegation: isObject,
    tag_value_ids: Array.isArray };
const UPDATE = { name: isText, idle_ttl_seconds: isMinutes, delete_after_stop_seconds: isMinutes, vcpus: isInteger, cpu_millicores: isInteger,
    mem_bytes: isSize, fs_capacity_bytes: isSize, proxy_config: isProxy, run_config: isRunConfig, tag_value_ids: Array.isArray };
const BUILD = { name: isText, docker_image: isText, fs_capacity_bytes: isSize, registry_id: isText, tag: isText, labels: isLabels, run_config: isRunConfig };
const CAPTURE = { name: isText, docker_image: isText, fs_capacity_bytes: isSize, checkpoint: isText, include_memory: isFlag, tag: isText,
    labels: isLabels, run_config: isRunConfig };

const ACCESS = ['restricted', 'workspace'];
const SERVICE = { port: (value) => isInteger(value) && value > 0 && value < 65536, expires_in_seconds: (value) => isInteger(value) && value > 0 && value <= 86400,
    access: (value) => ACCESS.includes(value) };

async function read(request, fields, required = []) {
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw failure(415, 'UnsupportedMediaType', 'the body must be application/json');
    const body = await request.json();
    if (!isObject(body)) throw invalid('', 'not an object');
    for (const [field, value] of Object.entries(body)) {
        if (!fields[field]) throw invalid(field, `${field}: extra fields not permitted`);
        if (!fields[field](value)) throw invalid(field, `${field}: not a valid value`);
    }
    for (const field of required) if (body[field] === undefined) throw invalid(field, `${field}: field required`);
    return body;
}

// ---- snapshots ------------------------------------------------------------------------------------------------------

function addSnapshot({ name, tag = 'latest', ...more }, make) {
    const snapshot = { id: randomUUID(), name, status: 'building', status_message: null, tags: [], labels: {}, created_at: now(), updated_at: now(), ...more };
    snapshots.set(snapshot.id, snapshot);
    make().then((from) => {
        for (const other of snapshots.values()) if (other.name === name) other.tags = other.tags.filter((one) => one !== tag);
        Object.assign(snapshot, { status: 'ready', tags: [tag], updated_at: now() });
        Object.defineProperty(snapshot, 'from', { value: from, enumerable: false });
    }, (problem) => Object.assign(snapshot, { status: 'failed', status_message: problem.message }));
    return snapshot;
}

async function buildSnapshot(request) {
    const body = await read(request, BUILD, ['name', 'docker_image', 'fs_capacity_bytes']);
    const { docker_image, fs_capacity_bytes, labels } = body;
    return { status: 201, json: addSnapshot({ name: body.name, tag: body.tag, docker_image, fs_capacity_bytes, labels }, async () => {
        await pause(docker_image.includes('slow') ? SLOW_MS : BUILD_MS, undefined, { ref: false });
        if (docker_image.includes('broken')) throw new Error(`cannot pull ${docker_image}: manifest unknown`);
    }) };
}

/** A snapshot that `id`, `name` or `name:tag` means. */
function findSnapshot(wanted) {
    if (snapshots.has(wanted)) return snapshots.get(wanted);
    if (OLD) return undefined;
    const [name, tag = 'latest'] = wanted.split(':');
    return [...snapshots.values()].find((one) => one.name === name && one.tags.includes(tag));
}

function snapshotFor(body) {
    const named = body.snapshot_name ?? body.snapshot;
    if (body.snapshot_id !== undefined && named !== undefined) throw failure(400, 'InvalidRequest', 'at most one of snapshot_id and snapshot_name');
    if (body.snapshot_id === undefined && named === undefined) return { id: '00000000-0000-4000-8000-000000000000', status: 'ready' };
    const snapshot = body.snapshot_id === undefined ? findSnapshot(named) : snapshots.get(body.snapshot_id);
    if (!snapshot) throw failure(400, 'InvalidRequest', 'snapshot not found');
    if (snapshot.status !== 'ready') throw failure(400, 'InvalidRequest', `snapshot is ${snapshot.status}`);
    return snapshot;
}

// ---- sandboxes ------------------------------------------------------------------------------------------------------

class Sandbox {
    id = randomUUID();
    status = 'provisioning';
    message = null;
    createdAt = now();
    stoppedAt = null;
    commands = null;
    grants = new Set(); // ports that those who log in may reach
    tokens = new Map(); // of ports: token -> {port, until}
    changed = Promise.resolve();

    constructor(body, snapshot) {
        this.name = body.name ?? `box-${this.id.slice(0, 8)}`;
        this.settings = body;
        this.snapshot = snapshot;
    }

    get environment() { return { ...this.settings.env_vars, ...this.settings.run_config?.env_vars }; }

    async #begin(milliseconds, prepare) {
        this.status = 'provisioning';
        this.stoppedAt = null;
        this.changed = (async () => {
            await pause(milliseconds);
            try {
                await prepare();
                if (this.status === 'provisioning') this.status = 'ready';
            } catch (problem) {
                Object.assign(this, { status: 'failed', message: problem.message });
            }
        })();
        return this.changed;
    }

    provision() {
        return this.#begin(START_MS, async () => {
            if (this.settings.labels?.fail) throw new Error('CrashLoop: the image ends at once');
            this.box = await createBox({ home: '/root', user: 'root', environment: this.environment, from: this.snapshot.from });
            this.enforce();
            this.commands = new Commands(this.box, this.settings.run_config ?? {});
        });
    }

    enforce() {
        this.box.wall = wall(this.settings.proxy_config);
    }

    start(milliseconds = START_MS) { return this.#begin(milliseconds, () => this.box.start()); }

    async stop() {
        this.status = 'stopped';
        this.stoppedAt = now();
        this.tokens.clear();
        this.commands.end();
        await this.box.stop();
    }

    async delete() {
        if (this.status === 'deleting') return;
        this.status = 'deleting';
        await this.changed;
        this.commands?.end();
        await this.box?.destroy();
        boxes.delete(this.name);
    }

    shown(request) {
        const { settings } = this;
        const host = request.headers.host.replace(/^127\.0\.0\.1/, 'localhost');
        return { id: this.id, name: this.name, status: this.status, status_message: this.message, snapshot_id: this.snapshot.id,
            dataplane_url: `http://${host}/r/${this.id}`, idle_ttl_seconds: settings.idle_ttl_seconds ?? 600,
            delete_after_stop_seconds: settings.delete_after_stop_seconds ?? 1209600, vcpus: settings.vcpus ?? 1,
            mem_bytes: settings.mem_bytes ?? 2 * GIB, fs_capacity_bytes: settings.fs_capacity_bytes ?? 16 * GIB, labels: settings.labels ?? {},
            proxy_config: shownProxy(settings.proxy_config), created_at: this.createdAt, updated_at: now(), stopped_at: this.stoppedAt };
    }
}

async function create(request) {
    const body = await read(request, CREATE);
    if (body.timeout !== undefined && !body.wait_for_ready) throw invalid('timeout', 'timeout: only with wait_for_ready');
    if (body.name === '' || body.name?.length > 63) throw invalid('name', 'name: 1 to 63 characters');
    const snapshot = snapshotFor(body);
    if (body.name !== undefined && boxes.has(body.name)) throw failure(409, 'Conflict', 'a sandbox with this name already exists');
    const sandbox = new Sandbox(body, snapshot);
    boxes.set(sandbox.name, sandbox);
    const provisioned = sandbox.provision();
    if (body.wait_for_ready) {
        const late = await Promise.race([provisioned, pause((body.timeout ?? 30) * 1000, 'late', { ref: false })]);
        if (late === 'late') throw failure(408, 'Timeout', `the sandbox is not ready within ${body.timeout} s (${sandbox.status})`);
        if (sandbox.status === 'failed') throw failure(422, 'CrashLoop', sandbox.message, { error_id: 'e-4711' });
    }
    return { status: 201, json: sandbox.shown(request) };
}

function find(request) {
    const sandbox = boxes.get(request.params.name);
    if (!sandbox) throw failure(404, 'NotFound', 'sandbox not found');
    return sandbox;
}

async function update(request) {
    const sandbox = find(request);
    const body = await read(request, UPDATE);
    if (body.name !== undefined && body.name !== sandbox.name) {
        if (boxes.has(body.name)) throw failure(409, 'Conflict', 'a sandbox with this name already exists');
        boxes.delete(sandbox.name);
        sandbox.name = body.name;
        boxes.set(sandbox.name, sandbox);
    }
    if (body.proxy_config && sandbox.status !== 'ready') throw failure(400, 'InvalidRequest', `the sandbox is ${sandbox.status}, not ready`);
    Object.assign(sandbox.settings, body);
    if (body.proxy_config) sandbox.enforce();
    return { json: sandbox.shown(request) };
}

async function remove(request) {
    const sandbox = boxes.get(request.params.name) ?? [...boxes.values()].find((one) => one.id === request.params.name);
    if (!sandbox || sandbox.status === 'deleting') throw failure(404, 'NotFound', 'sandbox not found');
    await sandbox.delete();
    return { status: 204 };
}

async function start(request) {
    const sandbox = find(request);
    await read(request, {});
    if (sandbox.status !== 'stopped') throw failure(400, 'InvalidRequest', `the sandbox is ${sandbox.status}, not stopped`);
    sandbox.start();
    return { status: 202, json: sandbox.shown(request) };
}

async function stop(request) {
    const sandbox = find(request);
    await read(request, {});
    if (sandbox.status !== 'ready') throw failure(400, 'InvalidRequest', `the sandbox is ${sandbox.status}, not ready`);
    await sandbox.stop();
    return { status: 204 };
}

async function capture(request) {
    const sandbox = find(request);
    const body = await read(request, CAPTURE, ['name']);
    if (sandbox.status !== 'ready') throw failure(400, 'InvalidRequest', `the sandbox is ${sandbox.status}, not ready`);
    return { status: 201, json: addSnapshot({ name: body.name, tag: body.tag, labels: body.labels, source_sandbox_id: sandbox.id }, async () => {
        await pause(BUILD_MS);
        const from = await sandbox.box.snapshot();
        const box = await createBox({ home: '/root', from }); // what is in /tmp there is not on the disk
        await box.run(['sh', '-c', 'rm -rf /tmp/* /tmp/.[!.]*']);
        const kept = await box.snapshot();
        await box.destroy();
        await deleteSnapshot(from);
        return kept;
    }) };
}

// ---- ports ----------------------------------------------------------------------------------------------------------

async function serviceUrl(request) {
    const sandbox = find(request);
    if (process.env.EMULATOR_NO_PORTS === '1') throw failure(501, 'NotImplemented', 'service URLs are not configured');
    const { port, access, expires_in_seconds: seconds } = await read(request, SERVICE, ['port']);
    if (access && seconds) throw invalid('expires_in_seconds', 'expires_in_seconds: not with access');
    if (sandbox.status !== 'ready') throw failure(400, 'NotReady', `the sandbox is ${sandbox.status}`);
    const address = `http://${port}-${sandbox.id}.localhost:${edge}/`;
    if (access) {
        sandbox.grants.add(port);
        return { json: { browser_url: address, service_url: address, access } };
    }
    if (sandbox.grants.has(port)) throw failure(409, 'Conflict', 'the port has a login grant');
    const token = randomBytes(24).toString('base64url');
    const until = Date.now() + (seconds ?? 600) * 1000;
    sandbox.tokens.set(token, { port, until });
    return { json: { browser_url: `${address}_login?token=${token}`, service_url: address, token, expires_at: new Date(until - CLOCK_MS).toISOString() } };
}

/** The proxy in front of the ports: whom does it let in where? */
function admit(label, headers) {
    const [, port, id] = label.match(/^(\d+)-(.*)$/) ?? [];
    const sandbox = [...boxes.values()].find((one) => one.id === id);
    if (!sandbox) return null;
    const { port: granted, until } = sandbox.tokens.get(headers['x-langsmith-sandbox-service-token']) ?? {};
    if (granted !== Number(port) || until < Date.now()) return { status: 401, text: 'the token is missing, wrong or over' };
    return { box: sandbox.box, port: granted };
}

// ---- lists ----------------------------------------------------------------------------------------------------------

const LIST_QUERY = ['page_size', 'cursor', 'limit', 'offset', 'name_contains', 'status', 'created_by', 'label', 'sort_by', 'sort_order', 'sort_direction'];

function number(query, name, least, most, normal) {
    const text = query.get(name);
    if (text === null) return normal;
    if (!/^\d+$/.test(text) || Number(text) < least || Number(text) > most) throw invalid(name, `${name}: ${least} to ${most}`);
    return Number(text);
}

/** A page of ALL in the form of today, or of older servers, which know neither cursors nor page sizes. */
function page(request, key, all) {
    const { query } = request;
    for (const name of query.keys()) if (!LIST_QUERY.includes(name)) throw invalid(name, `${name}: unknown query parameter`);
    const part = query.get('name_contains')?.toLowerCase();
    const items = all.filter((one) => part === undefined || one.name.toLowerCase().includes(part)).reverse();
    if (OLD) {
        const size = Math.min(number(query, 'limit', 1, 500, 50), LONGEST_PAGE), from = number(query, 'offset', 0, 1e9, 0);
        return { json: { [key]: items.slice(from, from + size), offset: from + size < items.length ? from + size : 0 } };
    }
    const size = Math.min(query.has('page_size') ? number(query, 'page_size', 1, 500) : number(query, 'limit', 1, 500, 50), LONGEST_PAGE);
    const cursor = query.get('cursor');
    const last = cursor === null ? null : /^at:(.+)$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
    if (last === undefined) throw failure(400, 'InvalidRequest', 'invalid cursor');
    const from = last === null ? number(query, 'offset', 0, 1e9, 0) : items.findIndex((one) => one.id === last) + 1;
    const shown = items.slice(from, from + size);
    const more = from + size < items.length;
    return { json: { items: shown, [key]: shown, next_cursor: more ? Buffer.from(`at:${shown.at(-1).id}`).toString('base64url') : null,
        offset: more ? from + size : 0 } };
}

// ---- the data plane -------------------------------------------------------------------------------------------------

/** The sandbox of a request to its data plane; a stopped one wakes, which takes a moment. */
function reach(request) {
    const sandbox = [...boxes.values()].find((one) => one.id === request.params.id);
    if (!request.headers.host.startsWith('localhost:')) throw failure(404, 'NotFound', 'not the host of the data plane');
    if (!sandbox || sandbox.status === 'deleting') throw failure(404, 'NotFound', 'sandbox not found');
    if (sandbox.status === 'stopped') {
        sandbox.waking = true;
        sandbox.start(WAKE_MS).then(() => (sandbox.waking = false));
    }
    if (sandbox.waking) throw failure(503, 'ServiceUnavailable', `Sandbox is starting: ${sandbox.name}`);
    if (sandbox.status === 'provisioning') throw failure(400, 'NotReady', 'the sandbox is not ready');
    if (sandbox.status !== 'ready') throw failure(502, 'ConnectionError', `the sandbox is ${sandbox.status}`);
    return sandbox;
}

async function upgrade(request, accept) {
    const [, id, way] = /^\/r\/([^/]+)\/(execute\/ws|tunnel)$/.exec(request.path) ?? [];
    if (!id || process.env[way === 'tunnel' ? 'EMULATOR_NO_TUNNEL' : 'EMULATOR_NO_WEBSOCKET'] === '1') throw failure(404, 'NotFound', 'no such route');
    request.params = { id };
    const sandbox = reach(request);
    if (way === 'tunnel') serveTunnel(await accept(), sandbox.box);
    else sandbox.commands.serve(await accept());
}

function authenticate(request) {
    if (!request.headers['x-api-key']) throw new HttpError(401, { detail: 'Missing authentication' });
    if (request.headers['x-api-key'] !== KEY) throw new HttpError(401, { detail: 'Invalid token' });
    if (WORKSPACE && request.headers['x-tenant-id'] !== WORKSPACE) throw new HttpError(403, { error: 'Forbidden' });
    if (request.headers.expect) throw failure(417, 'ExpectationFailed', 'no Expect');
}

const one = (request) => find(request);
const shownSnapshot = (request) => {
    const snapshot = findSnapshot(request.params.id);
    if (!snapshot) throw failure(404, 'NotFound', 'snapshot not found');
    return snapshot;
};

const routes = [
    ['POST', `${ROOT}/boxes`, create],
    ['GET', `${ROOT}/boxes`, (request) => page(request, 'sandboxes', [...boxes.values()].map((box) => box.shown(request)))],
    ['GET', `${ROOT}/boxes/:name`, (request) => ({ json: one(request).shown(request) })],
    ['GET', `${ROOT}/boxes/:name/status`, (request) => ({ json: { status: one(request).status, status_message: one(request).message } })],
    ['PATCH', `${ROOT}/boxes/:name`, update],
    ['DELETE', `${ROOT}/boxes/:name`, remove],
    ['POST', `${ROOT}/boxes/:name/start`, start],
    ['POST', `${ROOT}/boxes/:name/stop`, stop],
    ['POST', `${ROOT}/boxes/:name/snapshot`, capture],
    ['POST', `${ROOT}/boxes/:name/service-url`, serviceUrl],
    ['POST', `${ROOT}/snapshots`, buildSnapshot],
    ['GET', `${ROOT}/snapshots`, (request) => page(request, 'snapshots', [...snapshots.values()])],
    ['GET', `${ROOT}/snapshots/:id`, (request) => ({ json: shownSnapshot(request) })],
    ['DELETE', `${ROOT}/snapshots/:id`, async (request) => {
        const snapshot = shownSnapshot(request);
        snapshots.delete(snapshot.id);
        if (snapshot.from) await deleteSnapshot(snapshot.from);
        return { status: 204 };
    }],
    ['POST', '/r/:id/execute', async (request) => reach(request).commands.post(request)],
    ['POST', '/r/:id/upload', async (request) => upload(reach(request).box, request)],
    ['GET', '/r/:id/download', async (request) => download(reach(request).box, request)],
    ['HEAD', '/r/:id/download', async (request) => download(reach(request).box, request)],
];

const edge = await createEdge(admit);
await createEmulator({
    name: 'langsmith',
    routes,
    before: authenticate,
    upgrade,
    state: () => ({
        sandboxes: [...boxes.values()].map(({ name, id, status, settings }) => ({ id: name, uuid: id, status, settings })),
        snapshots: [...snapshots.values()],
        pings,
        commands: [...boxes.values()].flatMap((box) => box.commands?.running() ?? []),
    }),
});
