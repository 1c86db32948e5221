// Devboxes: their records, their states, and the boxes behind them.

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createBox } from '../common/box.mjs';
import { check, checkQuery, failure, isFlag, isObject, isText, isTextList, isTexts, isWhole, oneOf, page, read } from './errors.mjs';

const STATUSES = ['queued', 'provisioning', 'initializing', 'running', 'suspending', 'suspended', 'resuming', 'failure', 'shutdown'];
const CHANGE_MS = Number(process.env.EMULATOR_CHANGE_MS ?? 80); // each step of a change of state
const WINDOW_MS = Number(process.env.EMULATOR_WINDOW_MS ?? 30000); // the longest wait
const SECOND_MS = Number(process.env.EMULATOR_SECOND_MS ?? 1000); // of lifetimes
const MOST = Number(process.env.EMULATOR_MOST ?? 100); // running devboxes

const AFTER_IDLE = { idle_time_seconds: isWhole, on_idle: oneOf('shutdown', 'suspend') };
const isCores = (value) => value === 0.5 || value === 1 || (isWhole(value) && value % 2 === 0 && value > 0 && value <= 16);
const isMemory = (value) => value === 1 || (isWhole(value) && value % 2 === 0 && value > 0 && value <= 64);
const isDisk = (value) => isWhole(value) && value % 2 === 0 && value >= 2 && value <= 64;
export const LAUNCH = { after_idle: AFTER_IDLE, architecture: oneOf('x86_64', 'arm64'), available_ports: Array.isArray, custom_cpu_cores: isCores,
    custom_disk_size: isDisk, custom_gb_memory: isMemory, keep_alive_time_seconds: (value) => isWhole(value) && value > 0 && value <= 172800,
    launch_commands: isTextList, lifecycle: { after_idle: AFTER_IDLE, lifecycle_hooks: isObject, resume_triggers: isObject }, network_policy_id: isText,
    provisioning_tier: oneOf('standard', 'flex'), required_services: isTextList,
    resource_size_request: oneOf('X_SMALL', 'SMALL', 'MEDIUM', 'LARGE', 'X_LARGE', 'XX_LARGE', 'CUSTOM_SIZE'),
    user_parameters: { uid: isWhole, username: isText } };
const TUNNEL = { auth_mode: oneOf('open', 'authenticated'), http_keep_alive: isFlag, wake_on_http: isFlag };
const CREATE = { name: isText, metadata: isTexts, environment_variables: isTexts, launch_parameters: LAUNCH, blueprint_id: isText, blueprint_name: isText,
    snapshot_id: isText, entrypoint: isText, mounts: Array.isArray, code_mounts: Array.isArray, file_mounts: isTexts, secrets: isTexts, tunnel: TUNNEL,
    gateways: isObject, mcp: isObject };

/** Leads to all ports of a devbox; anybody may pass unless something else was asked for. */
function newTunnel({ auth_mode, http_keep_alive, wake_on_http }) {
    const more = auth_mode === 'authenticated' ? { auth_token: randomBytes(16).toString('hex') } : {};
    return { auth_mode: auth_mode ?? 'open', create_time_ms: Date.now(), http_keep_alive: http_keep_alive ?? true, wake_on_http: wake_on_http ?? false,
        tunnel_key: randomBytes(12).toString('hex'), ...more };
}

export const newId = (prefix) => `${prefix}_${randomBytes(12).toString('base64url').replace(/[-_]/g, 'x')}`;

export class Devboxes {
    all = new Map(); // id -> record with box
    made = 0;
    asked = new Map(); // x-request-id -> how often a creation came with it

    /** `origins`: finds blueprints and snapshots; `policies`: what may be reached */
    constructor(origins, policies) {
        Object.assign(this, { origins, policies });
        setInterval(() => this.#tick(), Math.min(500, SECOND_MS)).unref();
    }

    // ---- finding

    get(id) {
        const devbox = this.all.get(id);
        if (!devbox) throw failure(404, `Devbox ${id} not found`);
        return devbox;
    }

    live() {
        return [...this.all.values()].filter(({ status }) => status !== 'shutdown' && status !== 'failure');
    }

    /** A devbox for commands and files. */
    running(id) {
        const devbox = this.get(id);
        if (devbox.status !== 'running') throw failure(400, `Devbox ${id} is not in a proper state: ${devbox.status}`);
        devbox.usedAt = Date.now();
        return devbox;
    }

    show(devbox) {
        const { box, busy, usedAt, snapshots, waiting, executions, home, environment, ...shown } = devbox;
        return shown;
    }

    // ---- changes of state

    set(devbox, status) {
        devbox.status = status;
        devbox.state_transitions.push({ status, transition_time_ms: Date.now() });
        if (status === 'shutdown' || status === 'failure') devbox.end_time_ms = Date.now();
        for (const look of [...devbox.waiting]) look();
    }

    async #change(devbox, steps, to, work) {
        this.set(devbox, steps[0]);
        devbox.busy = (async () => {
            for (const step of steps.slice(1)) {
                await pause(CHANGE_MS);
                if (devbox.status === 'shutdown') return;
                this.set(devbox, step);
            }
            await pause(CHANGE_MS);
            try {
                await work();
                if (devbox.status !== 'shutdown') this.set(devbox, to);
            } catch {
                if (devbox.status === 'shutdown') return;
                devbox.failure_reason = 'execution_failed';
                this.set(devbox, 'failure');
            }
        })();
        return devbox.busy;
    }

    async create(request) {
        const wanted = await read(request, CREATE);
        const launch = wanted.launch_parameters ?? {};
        const origins = ['blueprint_id', 'blueprint_name', 'snapshot_id'].filter((name) => wanted[name]);
        if (origins.length > 1) throw failure(400, `Only one of ${origins.join(', ')} may be given`);
        const own = ['custom_cpu_cores', 'custom_gb_memory'].filter((name) => launch[name] !== undefined);
        if ((launch.resource_size_request === 'CUSTOM_SIZE') !== (own.length === 2)) throw failure(400, 'CUSTOM_SIZE needs custom_cpu_cores and custom_gb_memory');
        const origin = this.origins.find(wanted);
        if (this.live().length >= MOST) throw failure(429, `You have reached the limit of ${MOST} running devboxes`);
        const wall = this.policies.wall(launch.network_policy_id);
        const id = newId('dbx');
        const requestId = request.headers['x-request-id'];
        this.asked.set(requestId, (this.asked.get(requestId) ?? 0) + 1);
        const user = launch.user_parameters?.username ?? 'user';
        const devbox = { id, name: wanted.name ?? null, status: '', create_time_ms: Date.now(), end_time_ms: null, metadata: wanted.metadata ?? {}, capabilities: [],
            launch_parameters: { keep_alive_time_seconds: 3600, ...launch }, state_transitions: [], blueprint_id: origin.blueprint ?? null,
            snapshot_id: origin.snapshot ?? null, failure_reason: null, shutdown_reason: null, box: null, busy: null, usedAt: Date.now(), snapshots: 0,
            waiting: new Set(), executions: new Map(), home: user === 'root' ? '/root' : `/home/${user}`, environment: wanted.environment_variables ?? {},
            tunnel: wanted.tunnel ? newTunnel(wanted.tunnel) : null };
        this.all.set(id, devbox);
        this.made++;
        this.#change(devbox, [launch.provisioning_tier === 'flex' ? 'queued' : 'provisioning', 'initializing'], 'running', async () => {
            const settings = { user: user === 'root' ? 'root' : 'user', name: user, home: devbox.home, environment: devbox.environment };
            const box = await createBox({ ...settings, from: origin.from });
            if (devbox.status === 'shutdown') return void (await box.destroy());
            box.wall = wall;
            devbox.box = box;
            for (const command of launch.launch_commands ?? []) {
                const { code } = await box.run(['/bin/bash', '-c', command], { cwd: devbox.home });
                if (code !== 0) throw new Error(`${command} failed with ${code}`);
            }
        });
        return devbox;
    }

    // ---- tunnels

    async enableTunnel(request) {
        const devbox = this.get(request.params.id);
        const wanted = await read(request, TUNNEL);
        if (devbox.status !== 'running') throw failure(400, `Devbox ${devbox.id} is not running: ${devbox.status}`);
        if (devbox.tunnel) throw failure(409, `Devbox ${devbox.id} has a tunnel already`);
        devbox.tunnel = newTunnel(wanted);
        return { json: devbox.tunnel };
    }

    async removeTunnel(request) {
        const devbox = this.get(request.params.id);
        await nothing(request);
        devbox.tunnel = null;
        return { json: {} };
    }

    /** The proxy in front of the ports: whom does it let in where? */
    admit(label, headers) {
        const [, port, key] = label.match(/^(\d+)-(.*)$/) ?? [];
        const devbox = this.live().find(({ tunnel }) => tunnel?.tunnel_key === key);
        if (!devbox) return null;
        const { auth_token: token, http_keep_alive: keepAlive } = devbox.tunnel;
        if (token && headers['x-runloop-tunnel-authorization'] !== `Bearer ${token}`) return { status: 401, text: 'the token is missing or wrong' };
        if (devbox.status !== 'running') return { status: 502, text: `the devbox is ${devbox.status}` };
        if (keepAlive) devbox.usedAt = Date.now();
        return { box: devbox.box, port: Number(port) };
    }

    async suspend(devbox) {
        if (devbox.status !== 'running') throw failure(400, `Devbox ${devbox.id} is not running: ${devbox.status}`);
        this.#change(devbox, ['suspending'], 'suspended', () => devbox.box.stop());
        return this.show(devbox);
    }

    async resume(devbox) {
        if (devbox.status !== 'suspended') throw failure(400, `Devbox ${devbox.id} is not suspended: ${devbox.status}`);
        this.#change(devbox, ['resuming'], 'running', () => devbox.box.start());
        devbox.usedAt = Date.now();
        return this.show(devbox);
    }

    shutdown(devbox, reason, force) {
        if (devbox.status === 'shutdown') throw failure(400, `Devbox ${devbox.id} is already shutdown`);
        if (devbox.snapshots > 0 && !force) throw failure(409, `A snapshot of devbox ${devbox.id} is in progress`);
        devbox.shutdown_reason = reason;
        this.set(devbox, 'shutdown');
        devbox.box?.destroy().catch(() => {});
        return this.show(devbox);
    }

    #tick() {
        for (const devbox of this.live()) {
            const { lifecycle, after_idle, keep_alive_time_seconds } = devbox.launch_parameters;
            const idle = lifecycle?.after_idle ?? after_idle;
            if (devbox.status !== 'running') continue;
            if (idle && Date.now() - devbox.usedAt > idle.idle_time_seconds * SECOND_MS) {
                if (idle.on_idle === 'suspend') this.suspend(devbox);
                else this.shutdown(devbox, 'idle', true);
            } else if (!idle && Date.now() - devbox.create_time_ms > keep_alive_time_seconds * SECOND_MS) {
                this.shutdown(devbox, 'keep_alive_timeout', true);
            }
        }
    }

    // ---- waiting

    /** Resolves when DEVBOX is in one of STATUSES; false after the window. */
    async until(devbox, statuses, seconds, signal) {
        if (statuses.includes(devbox.status)) return true;
        const { promise, resolve } = Promise.withResolvers();
        const look = () => statuses.includes(devbox.status) && resolve(true);
        const timer = setTimeout(resolve, Math.min((seconds ?? 30) * 1000, WINDOW_MS), false);
        const leave = () => resolve(false);
        signal.addEventListener('abort', leave);
        devbox.waiting.add(look);
        const reached = await promise;
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        devbox.waiting.delete(look);
        return reached;
    }

    async waitForStatus(request) {
        const devbox = this.get(request.params.id);
        const { statuses, timeout_seconds } = await read(request, { statuses: isTextList, timeout_seconds: isWhole }, ['statuses']);
        if (statuses.length === 0) throw failure(400, 'statuses must not be empty');
        for (const status of statuses) if (!STATUSES.includes(status)) throw failure(400, `unknown status ${status}`);
        if (!(await this.until(devbox, statuses, timeout_seconds, request.signal))) throw failure(408, 'Timed out waiting for the status');
        return { json: this.show(devbox) };
    }
}

async function nothing(request) {
    if ((await request.body()).length > 0) throw failure(400, 'This call takes no body');
}

export function devboxRoutes(devboxes) {
    const one = (request) => devboxes.get(request.params.id);
    const shown = (devbox) => ({ json: devboxes.show(devbox) });
    const routes = [
        ['POST', '/v1/devboxes', async (request) => shown(await devboxes.create(request))],
        ['GET', '/v1/devboxes', (request) => {
            checkQuery(request, 'status', 'limit', 'starting_after', 'include_total_count');
            const status = request.query.get('status');
            if (status && !STATUSES.includes(status)) throw failure(400, `unknown status ${status}`);
            const all = [...devboxes.all.values()].reverse().filter((devbox) => !status || devbox.status === status);
            return page(request, all, 'devboxes', (devbox) => devboxes.show(devbox));
        }],
        ['GET', '/v1/devboxes/:id', (request) => shown(one(request))],
        ['POST', '/v1/devboxes/:id', async (request) => {
            const devbox = one(request);
            const body = await read(request, { name: isText, metadata: isTexts });
            if (body.name !== undefined) devbox.name = body.name || null;
            if (body.metadata !== undefined) devbox.metadata = body.metadata ?? {};
            return shown(devbox);
        }],
        ['POST', '/v1/devboxes/:id/wait_for_status', (request) => devboxes.waitForStatus(request)],
        ['POST', '/v1/devboxes/:id/keep_alive', async (request) => {
            await nothing(request);
            devboxes.running(request.params.id);
            return { json: {} };
        }],
        ['POST', '/v1/devboxes/:id/enable_tunnel', (request) => devboxes.enableTunnel(request)],
        ['POST', '/v1/devboxes/:id/remove_tunnel', (request) => devboxes.removeTunnel(request)],
        ...['suspend', 'resume'].map((change) => ['POST', `/v1/devboxes/:id/${change}`, async (request) => {
            await nothing(request);
            return { json: await devboxes[change](one(request)) };
        }]),
        ['POST', '/v1/devboxes/:id/shutdown', async (request) => {
            checkQuery(request, 'force');
            const body = await request.body();
            if (body.length > 0) check(JSON.parse(body.toString()), {});
            return { json: devboxes.shutdown(one(request), 'api_shutdown', request.query.get('force') === 'true') };
        }],
    ];
    if (process.env.EMULATOR_OLD === '1') return routes;
    return [['POST', '/v1/devboxes/create_and_await_running', async (request) => {
        const devbox = await devboxes.create(request);
        await devboxes.until(devbox, ['running', 'failure', 'shutdown'], Number(process.env.EMULATOR_AWAIT_S ?? 25), new AbortController().signal);
        return shown(devbox);
    }], ...routes];
}
