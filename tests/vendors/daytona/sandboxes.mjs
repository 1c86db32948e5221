// The sandboxes of the emulated service: their records, their states, and the boxes behind them.

import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createBox, deleteSnapshot } from '../common/box.mjs';
import { apiError } from './errors.mjs';
import { wall } from './network.mjs';

const HOME = '/home/daytona';
const CHANGE_MS = 60; // how long a change of state takes, besides the box's own time
const MINUTE_MS = Number(process.env.EMULATOR_MINUTE_MS ?? 60000);
const DEFAULT_SNAPSHOT = 'daytonaio/sandbox:0.5.0';
const PENDING_FREE = ['pending_build', 'archiving', 'error', 'build_failed'];
const VM = ['linux-vm', 'windows'];

const now = () => new Date().toISOString();

export class Sandboxes {
    all = new Map(); // id -> record with box, lastActivity
    gone = new Set(); // ids of the destroyed
    snapshots = new Map(); // id -> snapshot
    unknownFields = []; // that were sent and which the real service ignores without a word
    made = 0;
    proxyUrl = '';
    onChange = () => {};

    constructor() {
        for (const [name, sandboxClass] of [[DEFAULT_SNAPSHOT, 'container'], ['daytona-vm', 'linux-vm']]) {
            this.addSnapshot({ name, general: true, state: 'active', sandboxClass, box: undefined });
        }
        setInterval(() => this.#tick(), Math.min(1000, MINUTE_MS / 4)).unref();
    }

    // ---- finding

    find(idOrName) {
        return this.all.get(idOrName) ?? [...this.all.values()].find((sandbox) => sandbox.name === idOrName);
    }

    get(idOrName) {
        const sandbox = this.find(idOrName);
        if (!sandbox) throw apiError(404, `Sandbox with ID or name ${idOrName} not found`);
        return sandbox;
    }

    live() {
        return [...this.all.values()].filter((sandbox) => sandbox.desiredState !== 'destroyed');
    }

    findSnapshot(idOrName) {
        return this.snapshots.get(idOrName) ?? [...this.snapshots.values()].find((snapshot) => snapshot.name === idOrName);
    }

    addSnapshot(snapshot) {
        const made = { id: randomUUID(), organizationId: 'org-1', general: false, size: 1.2, cpu: 1, mem: 1, disk: 3, createdAt: now(),
            updatedAt: now(), lastUsedAt: now(), errorReason: null, sandboxClass: 'container', ...snapshot };
        this.snapshots.set(made.id, made);
        return made;
    }

    /** What is shown of a record. */
    show(sandbox, { asListed = false } = {}) {
        const { box, lastActivity, busy, deleteAt, starts, ...shown } = sandbox;
        if (asListed) for (const name of ['env', 'volumes', 'buildInfo', 'networkAllowList', 'domainAllowList']) delete shown[name];
        return { ...shown, toolboxProxyUrl: this.proxyUrl, lastActivityAt: new Date(lastActivity).toISOString(), updatedAt: now() };
    }

    /** What lets requests in to its ports, until it is started the next time. */
    token(sandbox) {
        return createHash('sha256').update(`${sandbox.id} ${sandbox.starts ?? 0}`).digest('hex').slice(0, 32);
    }

    /** The proxy in front of the ports: whom does it let in where? */
    admit(label, headers) {
        const [, port, id] = label.match(/^(\d+)-(.*)$/) ?? [];
        const sandbox = this.all.get(id);
        if (!sandbox) return null;
        this.touch(sandbox);
        if (!sandbox.public && headers['x-daytona-preview-token'] !== this.token(sandbox)) {
            return headers['x-daytona-preview-token'] ? { status: 401, text: 'the token is not valid' } : { status: 307, headers: { location: 'https://login.example/' } };
        }
        return sandbox.state === 'started' ? { box: sandbox.box, port: Number(port) } : { status: 400, text: 'the sandbox is not started' };
    }

    touch(sandbox) {
        sandbox.lastActivity = Date.now();
    }

    // ---- changes of state

    #set(sandbox, state) {
        sandbox.state = state;
        this.onChange(sandbox);
    }

    /** Nothing else may be under way. */
    settled(sandbox) {
        if (sandbox.state !== sandbox.desiredState && !PENDING_FREE.includes(sandbox.state)) {
            throw apiError(409, 'Sandbox state change in progress');
        }
    }

    async #change(sandbox, through, to, work) {
        sandbox.desiredState = to === 'destroyed' || to === 'started' || to === 'stopped' || to === 'archived' || to === 'paused' ? to : sandbox.desiredState;
        this.#set(sandbox, through);
        sandbox.busy = (async () => {
            await pause(CHANGE_MS);
            try {
                await work();
                if (sandbox.desiredState === 'destroyed' && to !== 'destroyed') return;
                this.#set(sandbox, to);
            } catch (failure) {
                sandbox.errorReason = failure.message;
                this.#set(sandbox, 'error');
            }
        })();
        return sandbox.busy;
    }

    async create(wanted, { snapshot }) {
        const id = randomUUID();
        const image = wanted.buildInfo?.dockerfileContent.match(/^FROM (\S+)/)?.[1];
        const sandbox = { id, organizationId: 'org-1', name: wanted.name ?? id, snapshot: image ? undefined : snapshot.name, user: wanted.user ?? 'daytona',
            env: wanted.env ?? {}, labels: wanted.labels ?? {}, public: wanted.public ?? false, networkBlockAll: wanted.networkBlockAll ?? false,
            networkAllowList: wanted.networkAllowList, domainAllowList: wanted.domainAllowList, target: wanted.target ?? 'us', cpu: wanted.cpu ?? 1,
            gpu: wanted.gpu ?? 0, memory: wanted.memory ?? 1, disk: wanted.disk ?? 3, state: 'creating', desiredState: 'started', recoverable: false,
            errorReason: null, autoStopInterval: wanted.autoStopInterval ?? 15, autoPauseInterval: wanted.autoPauseInterval ?? 0,
            autoArchiveInterval: wanted.autoArchiveInterval ?? 10080, autoDeleteInterval: wanted.autoDeleteInterval ?? -1,
            autoDestroyAt: wanted.ttlMinutes ? new Date(Date.now() + wanted.ttlMinutes * MINUTE_MS).toISOString() : undefined,
            volumes: wanted.volumes ?? [], buildInfo: wanted.buildInfo, createdAt: now(), sandboxClass: snapshot?.sandboxClass ?? 'container',
            daemonVersion: '0.205.1', runnerId: randomUUID(), lastActivity: Date.now(), box: null };
        this.all.set(id, sandbox);
        this.made++;
        const shown = this.show(sandbox); // what the answer holds stems from before the wait
        const started = this.#change(sandbox, image ? 'pending_build' : 'starting', 'started', async () => {
            if (image === 'broken:latest') throw new Error(`failed to pull ${image}: manifest unknown`);
            const settings = { user: 'user', name: 'daytona', environment: sandbox.env };
            const box = await createBox({ ...settings, home: HOME, from: snapshot?.box });
            if (sandbox.desiredState === 'destroyed') return void (await box.destroy());
            box.wall = wall(sandbox);
            sandbox.box = box;
        });
        if (!image) await started;
        if (sandbox.state === 'error' && !image) throw apiError(400, `Sandbox failed to start: ${sandbox.errorReason}`);
        return shown;
    }

    async start(sandbox) {
        if (sandbox.state === 'started' && sandbox.desiredState === 'started') return this.show(sandbox);
        if (sandbox.state !== 'archiving') this.settled(sandbox);
        if (!['stopped', 'archived', 'paused', 'archiving'].includes(sandbox.state)) throw apiError(400, 'Sandbox is not in valid state');
        const paused = sandbox.state === 'paused';
        const shown = this.show(sandbox);
        this.touch(sandbox);
        delete sandbox.deleteAt;
        sandbox.starts = (sandbox.starts ?? 0) + 1;
        await this.#change(sandbox, paused ? 'resuming' : sandbox.state === 'archived' ? 'restoring' : 'starting', 'started',
            () => (paused ? sandbox.box.thaw() : sandbox.box.start()));
        return { ...shown, state: 'starting', desiredState: 'started' };
    }

    async stop(sandbox) {
        this.settled(sandbox);
        if (!['started', 'paused'].includes(sandbox.state)) throw apiError(400, 'Sandbox is not in a stoppable state');
        if (sandbox.autoDeleteInterval === 0) return this.destroy(sandbox);
        const changing = this.#change(sandbox, 'stopping', 'stopped', () => sandbox.box.stop());
        if (sandbox.autoDeleteInterval > 0) changing.then(() => (sandbox.deleteAt = Date.now() + sandbox.autoDeleteInterval * MINUTE_MS));
        return this.show(sandbox);
    }

    pause(sandbox) {
        if (!VM.includes(sandbox.sandboxClass)) throw apiError(422, `Sandbox class ${sandbox.sandboxClass} does not support pause`);
        this.settled(sandbox);
        if (sandbox.state !== 'started') throw apiError(400, 'Sandbox is not started');
        this.#change(sandbox, 'pausing', 'paused', () => sandbox.box.freeze());
        return this.show(sandbox);
    }

    archive(sandbox) {
        this.settled(sandbox);
        if (sandbox.state !== 'stopped') throw apiError(400, 'Sandbox is not stopped');
        if (sandbox.autoDeleteInterval === 0) throw apiError(400, 'Ephemeral sandboxes cannot be archived');
        this.#change(sandbox, 'archiving', 'archived', () => {});
        return this.show(sandbox);
    }

    async recover(sandbox) {
        if (sandbox.state !== 'error' || !sandbox.recoverable) throw apiError(400, 'Sandbox is not recoverable');
        Object.assign(sandbox, { recoverable: false, errorReason: null });
        const shown = this.show(sandbox);
        this.#change(sandbox, 'starting', 'started', () => sandbox.box.start());
        return shown;
    }

    async fork(sandbox, name) {
        if (!VM.includes(sandbox.sandboxClass)) throw apiError(422, `Sandbox class ${sandbox.sandboxClass} does not support fork`);
        this.settled(sandbox);
        const box = await sandbox.box.snapshot();
        const { labels, env, autoStopInterval, autoDeleteInterval, networkBlockAll, networkAllowList } = sandbox; // no list of domains
        return this.create({ name, labels, env, autoStopInterval, autoDeleteInterval, networkBlockAll, networkAllowList }, { snapshot: { name: sandbox.snapshot, sandboxClass: sandbox.sandboxClass, box } });
    }

    /** A copy of a sandbox's files under a name. */
    makeSnapshot(sandbox, name, withMemory) {
        this.settled(sandbox);
        const before = sandbox.state;
        if (!['started', 'stopped'].includes(before)) throw apiError(400, 'Sandbox must be started or stopped');
        if (withMemory !== (VM.includes(sandbox.sandboxClass) && before === 'started')) throw apiError(400, `A ${sandbox.sandboxClass} that is ${before} cannot be copied so`);
        if (this.findSnapshot(name)) throw apiError(409, `Snapshot with name ${name} already exists`);
        const snapshot = this.addSnapshot({ name, state: 'snapshotting', sourceSandboxId: sandbox.id, sandboxClass: sandbox.sandboxClass });
        this.#change(sandbox, 'snapshotting', before, async () => {
            snapshot.box = await sandbox.box.snapshot();
            setTimeout(() => (snapshot.state = 'active'), CHANGE_MS);
        });
        return this.show(sandbox);
    }

    async deleteSnapshot(snapshot) {
        snapshot.state = 'removing';
        await pause(CHANGE_MS);
        this.snapshots.delete(snapshot.id);
        if (snapshot.box) await deleteSnapshot(snapshot.box);
    }

    destroy(sandbox) {
        this.settled(sandbox);
        sandbox.name = `DESTROYED_${sandbox.name}_${Date.now()}`; // so that the name is free at once
        this.#change(sandbox, 'destroying', 'destroyed', async () => {
            await sandbox.box?.destroy();
            this.gone.add(sandbox.id);
            this.all.delete(sandbox.id);
        });
        return this.show(sandbox);
    }

    /** What happens by itself. */
    #tick() {
        for (const sandbox of this.all.values()) {
            if (sandbox.desiredState === 'destroyed') continue;
            const idle = Date.now() - sandbox.lastActivity;
            const over = sandbox.autoDestroyAt && Date.parse(sandbox.autoDestroyAt) < Date.now();
            const rested = sandbox.deleteAt && sandbox.deleteAt < Date.now();
            if (sandbox.state !== sandbox.desiredState) continue;
            if (over || rested) this.destroy(sandbox);
            else if (sandbox.state === 'started' && sandbox.autoStopInterval > 0 && idle > sandbox.autoStopInterval * MINUTE_MS) this.stop(sandbox);
        }
    }
}
