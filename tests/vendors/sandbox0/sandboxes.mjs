// Sandboxes, what keeps them, and snapshots of their disks.

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createBox, deleteSnapshot } from '../common/box.mjs';
import { apiError } from './errors.mjs';
import { wall } from './network.mjs';

const CHANGE_MS = Number(process.env.EMULATOR_CHANGE_MS ?? 150); // a pause is accepted at once and takes so long
const START_MS = Number(process.env.EMULATOR_START_MS ?? 0); // how long a new one is "starting"
const ROWS_HAVE_SERVICES = process.env.EMULATOR_ROWS === 'services';
const SECOND_MS = Number(process.env.EMULATOR_SECOND_MS ?? 1000);
const WAKES_LATER = process.env.EMULATOR_WAKE === 'later'; // what wakes a sandbox is refused until it is awake

const short = () => randomBytes(5).toString('hex');
const never = '0001-01-01T00:00:00Z';
const after = (from, seconds) => (seconds > 0 ? new Date(from + seconds * 1000).toISOString() : never);

class Sandbox {
    id;
    status = 'starting';
    generation = 1;
    createdAt = Date.now();
    contexts = new Map();
    changing = Promise.resolve(); // pausing and resuming, one after the other
    pausing = false;

    constructor(all, template, config, from) {
        Object.assign(this, { all, template, from, config: { ttl: 0, hard_ttl: 0, auto_resume: true, ...config } });
        this.id = `rs-${short()}-${template}-${randomBytes(3).toString('hex').slice(0, 5)}`;
    }

    enforce() {
        if (this.box) this.box.wall = wall(this.config.network);
    }

    async #boot() {
        if (!this.box) {
            this.box = await createBox({ user: 'root', name: 'sandbox0', home: '/root', environment: { LANG: 'C.UTF-8', ...this.config.env_vars }, from: this.from });
            this.enforce();
        } else {
            await this.box.start();
        }
        await this.box.run(['sh', '-c', 'mkdir -p /workspace && find /tmp -mindepth 1 -delete']);
    }

    async start() {
        await this.#boot();
        this.refresh();
        if (START_MS > 0) pause(START_MS).then(() => { if (this.status === 'starting') this.status = 'running'; });
        else this.status = 'running';
    }

    /** Both clocks begin anew. */
    refresh(duration) {
        const { ttl, hard_ttl: hard } = this.config;
        const soft = duration ?? ttl;
        for (const timer of [this.timer, this.hardTimer]) clearTimeout(timer);
        this.expiresAt = after(Date.now(), soft);
        this.hardExpiresAt = after(Date.now(), hard);
        if (soft > 0) this.timer = setTimeout(() => this.pause(), Math.min(soft * SECOND_MS, 2 ** 31 - 1));
        if (hard > 0) this.hardTimer = setTimeout(() => this.all.delete(this), Math.min(hard * SECOND_MS, 2 ** 31 - 1));
    }

    /** Accepted at once. */
    pause() {
        if (this.status !== 'running' || this.pausing) return;
        this.pausing = true;
        this.changing = this.changing.then(async () => {
            await pause(CHANGE_MS);
            if (this.status !== 'running') return;
            this.contexts.clear();
            await this.box.stop();
            this.status = 'paused';
        }).finally(() => (this.pausing = false));
    }

    async resume() {
        await (this.changing = this.changing.then(async () => {
            if (this.status !== 'paused') return;
            await this.#boot();
            this.generation++;
            this.status = 'running';
            this.refresh();
        }));
    }

    /** For contexts and files: wakes it, or refuses. */
    async awake() {
        if (this.status === 'starting' || this.pausing) throw apiError(503, 'unavailable', 'sandbox is waking up', { 'retry-after': '1' });
        if (this.status === 'paused') {
            if (!this.config.auto_resume) throw apiError(503, 'unavailable', 'sandbox is not running and auto_resume is disabled');
            const awake = this.resume();
            if (WAKES_LATER) {
                awake.catch(console.error);
                throw apiError(503, 'unavailable', 'sandbox is waking up');
            }
            await awake;
        }
        if (this.status !== 'running') throw apiError(404, 'not_found', 'sandbox not found');
        return this.box;
    }

    /** A copy of its disk; a fork that nobody has woken yet is not there before. */
    async disk() {
        await (this.changing = this.changing.then(async () => {
            if (this.box) return;
            await this.#boot();
            await this.box.stop();
        }));
        return this.box.snapshot();
    }

    async kill() {
        this.status = 'terminating';
        for (const timer of [this.timer, this.hardTimer]) clearTimeout(timer);
        await this.changing.catch(() => {});
        await this.box?.destroy();
    }

    row() {
        return { id: this.id, template_id: this.template, status: this.status, paused: this.status === 'paused', runtime_generation: this.generation, cluster_id: null,
            created_at: new Date(this.createdAt).toISOString(), updated_at: new Date(this.createdAt).toISOString(), expires_at: this.expiresAt, hard_expires_at: this.hardExpiresAt };
    }

    listed() {
        return ROWS_HAVE_SERVICES ? { ...this.row(), services: this.config.services ?? null } : this.row();
    }

    shown() {
        return { ...this.row(), team_id: 'team-emulated', auto_resume: this.config.auto_resume, pod_name: this.id, claimed_at: new Date(this.createdAt).toISOString(),
            services: this.config.services ?? null, resources: this.config.resources };
    }
}

export class Sandboxes {
    byId = new Map();
    snapshots = new Map();

    get(id) {
        const sandbox = this.byId.get(id);
        if (!sandbox) throw apiError(404, 'not_found', 'sandbox not found');
        return sandbox;
    }

    async claim(template, config, snapshotId) {
        const sandbox = new Sandbox(this, template, config, snapshotId === undefined ? undefined : this.getSnapshot(snapshotId).box);
        this.byId.set(sandbox.id, sandbox);
        await sandbox.start();
        return sandbox;
    }

    /** A copy of the disk, which sleeps. */
    async fork(source, config) {
        const sandbox = new Sandbox(this, source.template, { ...source.config, ...config }, await source.disk());
        sandbox.refresh();
        sandbox.status = 'paused';
        this.byId.set(sandbox.id, sandbox);
        return sandbox;
    }

    async delete(sandbox) {
        await sandbox.kill();
        this.byId.delete(sandbox.id);
    }

    async keep(sandbox, { name = '', description = '', expires_at: expiresAt = never }) {
        const box = await sandbox.disk();
        const snapshot = { id: `rootfs-snapshot-${short()}`, sandbox_id: sandbox.id, name, description, created_at: new Date().toISOString(), expires_at: expiresAt, box };
        this.snapshots.set(snapshot.id, snapshot);
        return snapshot;
    }

    getSnapshot(id) {
        const snapshot = this.snapshots.get(id);
        if (!snapshot) throw apiError(404, 'not_found', 'rootfs snapshot not found');
        return snapshot;
    }

    async forget(snapshot) {
        this.snapshots.delete(snapshot.id);
        await deleteSnapshot(snapshot.box);
    }
}

export const showSnapshot = ({ box, ...shown }) => shown;
