// The life of sandboxes: made by a handshake, ended by their time, by a request or with the connection that they belong to.

import { randomInt } from 'node:crypto';
import { createBox } from '../common/box.mjs';
import { isAddress, matches } from '../common/outside.mjs';
import { failure } from './errors.mjs';
import { findSnapshot, findVolume } from './volumes.mjs';

const LONGEST_MS = 30 * 60 * 1000;
const SPARE_MS = 60 * 1000; // for clocks that differ
const LETTERS = '0123456789abcdefghjkmnpqrstuvwxyz';
const MOST = Number(process.env.EMULATOR_MOST ?? 100);
const HOST = /^([a-z]{3})\.localhost(:|$)/; // what stands for a region's own address

const all = new Map();
export const running = () => [...all.values()].filter((one) => one.status === 'running');

// ---- what a creation may say -----------------------------------------------------------------------------------------

const isText = (value) => typeof value === 'string';
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isTexts = (value) => Array.isArray(value) && value.every(isText);
const isHost = (value) => isText(value) && /^(\*\.)?[\w.-]+(:\d+)?$|^\[[0-9a-f:]+\](:\d+)?$/i.test(value) && !value.includes('/');
const CONFIG = {
    memory_mb: (value) => Number.isInteger(value) && value >= 768 && value <= 4096,
    stop_at_ms: (value) => Number.isInteger(value) && value > Date.now() - SPARE_MS && value <= Date.now() + LONGEST_MS + SPARE_MS,
    labels: (value) => isObject(value) && Object.keys(value).length <= 5 && Object.entries(value).every(([key, text]) =>
        isText(text) && Buffer.byteLength(key) <= 64 && Buffer.byteLength(text) <= 128),
    root: (value) => isObject(value) && isText(value.volume) && Object.keys(value).length === 1,
    volumes: (value) => Array.isArray(value) && value.every((one) => isText(one.volume) && isText(one.path) && one.path.startsWith('/')),
    allow_net: (value) => Array.isArray(value) && value.every(isHost),
    secrets: (value) => isObject(value) && Object.values(value).every((one) => isText(one.value) && isTexts(one.hosts) && one.hosts.length > 0),
};

function readConfig(request) {
    const header = request.headers['x-deno-sandbox-config'] ?? '';
    const text = Buffer.from(header, 'base64').toString('latin1');
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(header) || /[^\x20-\x7e]/.test(text)) throw failure(400, 'INVALID_CONFIG', 'the config is no base64 of ASCII');
    const config = JSON.parse(text);
    const wrong = Object.keys(config).find((key) => !CONFIG[key]?.(config[key]));
    if (wrong) throw failure(400, 'INVALID_CONFIG', `${wrong} is not valid`);
    if (config.memory_mb === undefined) throw failure(400, 'INVALID_CONFIG', 'memory_mb is missing');
    return config;
}

/** Who is listed without a port is open on each. */
function wall(list) {
    const parts = (list ?? []).map((entry) => /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry)).map(([, name, port]) => ({ name, port: port && Number(port) }));
    const fits = (name, host) => (isAddress(host) ? name === host || name === `[${host}]` : matches(name, host));
    return list && { allows: ({ host, port }) => parts.some((one) => fits(one.name, host) && (!one.port || one.port === port)) };
}

// ---- a sandbox -------------------------------------------------------------------------------------------------------

class Sandbox {
    status = 'running';
    createdAt = new Date().toISOString();
    stoppedAt = null;
    environment = {};
    pings = 0;
    sockets = new Set();
    #timer;

    constructor(region, config) {
        this.region = region;
        this.id = `sbx_${region}_${Array.from({ length: 20 }, () => LETTERS[randomInt(LETTERS.length)]).join('')}`;
        this.config = config;
    }

    async start() {
        const { root, stop_at_ms } = this.config;
        this.volume = root && findVolume(root.volume);
        const from = this.volume ?? (root && findSnapshot(root.volume));
        if (root && !from?.is_bootable) throw failure(404, 'VOLUME_NOT_FOUND', `nothing to boot from is called ${root.volume}`);
        if (this.volume?.user) throw failure(409, 'VOLUME_IN_USE', 'another sandbox has booted from it');
        for (const { volume } of this.config.volumes ?? []) if (!findVolume(volume)) throw failure(404, 'VOLUME_NOT_FOUND', `no volume ${volume}`);
        this.box = await createBox({ home: '/home/app', user: 'user', name: 'app', from: from?.files });
        this.box.wall = wall(this.config.allow_net);
        if (this.volume) Object.defineProperty(this.volume, 'user', { value: this, writable: true, configurable: true });
        if (stop_at_ms !== undefined) this.lastUntil(stop_at_ms);
        all.set(this.id, this);
    }

    lastUntil(stopAt) {
        clearTimeout(this.#timer);
        this.stopAt = Math.min(stopAt, Date.now() + LONGEST_MS);
        this.#timer = setTimeout(() => this.end(), Math.max(0, this.stopAt - Date.now()));
    }

    async end() {
        if (this.status !== 'running') return;
        this.status = 'stopped';
        this.stoppedAt = new Date().toISOString();
        clearTimeout(this.#timer);
        for (const socket of this.sockets) socket.close(1000, 'the sandbox has ended');
        if (this.volume) {
            this.volume.files = await this.box.snapshot();
            delete this.volume.user;
        }
        await this.box.destroy();
    }

    get shown() {
        const { id, createdAt, stoppedAt, region, status, config } = this;
        return { id, createdAt, stoppedAt, region, status, labels: config.labels ?? {} };
    }

    get state() {
        const { id, config, environment, stopAt, pings, sockets } = this;
        return { id, config, environment, stopAt, pings, connections: sockets.size };
    }
}

const regionOf = (request) => HOST.exec(request.headers.host ?? '')?.[1];

export async function create(request) {
    const config = readConfig(request);
    if (running().length >= MOST) throw failure(429, 'SANDBOX_LIMIT_REACHED', 'the organization has as many sandboxes as it may');
    const sandbox = new Sandbox(regionOf(request) ?? 'ord', config);
    await sandbox.start();
    return sandbox;
}

/** The running one that a request is about; each region knows its own only. */
export function find(request, id) {
    const sandbox = all.get(id);
    const region = regionOf(request);
    if (sandbox?.status !== 'running' || (region && region !== sandbox.region)) throw failure(404, 'SANDBOX_NOT_FOUND', `there is no sandbox ${id}`);
    return sandbox;
}

async function extend(request) {
    const sandbox = find(request, request.params.id);
    const { stop_at_ms, ...more } = await request.json();
    if (!Number.isInteger(stop_at_ms) || Object.keys(more).length > 0) throw failure(400, 'INVALID_REQUEST', 'only stop_at_ms, a number');
    if (sandbox.stopAt === undefined) throw failure(400, 'SESSION_BOUND', 'it lasts as long as its connection');
    sandbox.lastUntil(stop_at_ms);
    return { json: { stop_at_ms: sandbox.stopAt } };
}

async function kill(request) {
    await find(request, request.params.id).end();
    if (process.env.EMULATOR_MUTE_KILL === '1') await new Promise((_, reject) => request.signal.addEventListener('abort', reject));
    return { status: 200, body: '' };
}

// ---- ports: a name is asked for, and the sandbox told which port to serve there; everybody gets in --------------------------

export const names = new Map(); // first label -> {sandbox, port}

async function expose(request) {
    const sandbox = find(request, request.params.id);
    if (Object.keys(await request.json()).length > 0) throw failure(400, 'INVALID_REQUEST', 'nothing but an empty object');
    const label = `${LETTERS[10 + randomInt(20)]}${Date.now().toString(36)}-${randomInt(1e9)}`;
    names.set(label, { sandbox });
    return { json: { domain: `${label}.localhost:${names.edge}` } };
}

export const methods = {
    exposeHttp({ sandbox }, { domain, port }) {
        const name = names.get(domain.split('.')[0]);
        if (name?.sandbox !== sandbox) throw new Error(`${domain} is not of this sandbox`);
        if (port === undefined) throw new Error('only ports are served');
        name.port = port;
        return null;
    },
};

export function admit(label) {
    const { sandbox, port } = names.get(label) ?? {};
    return sandbox?.status === 'running' && port ? { box: sandbox.box, port } : null;
}

/** Those that have ended are in it too. */
function list(request) {
    const wanted = [...request.query].map(([name, value]) => [/^labels\[(.*)\]$/.exec(name)?.[1], value]);
    if (wanted.some(([key]) => key === undefined)) throw failure(400, 'INVALID_REQUEST', 'unknown parameter');
    return { json: [...all.values()].map((one) => one.shown).filter(({ labels }) => wanted.every(([key, value]) => labels[key] === value)) };
}

export const routes = [
    ['DELETE', '/api/v3/sandbox/:id', kill],
    ['PATCH', '/api/v3/sandbox/:id', extend],
    ['POST', '/api/v3/sandbox/:id/expose/http', expose],
    ['GET', '/api/v2/sandboxes', list],
];
