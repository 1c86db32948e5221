// Sandboxes, their sessions, and snapshots.

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createBox, deleteSnapshot } from '../common/box.mjs';
import { apiError } from './errors.mjs';
import { shown as shownPolicy, wall } from './network.mjs';

const CWD = '/vercel/sandbox';
const OLD = process.env.EMULATOR_OLD === '1'; // a server that tells no timeout of a sandbox, which it need not
const END_MS = 250, SNAPSHOT_MS = 300, MONTH_MS = 30 * 24 * 3600 * 1000;
const newId = (prefix) => `${prefix}_${randomBytes(12).toString('base64url').replace(/[-_]/g, 'x')}`;

/** One running machine, or what is known of it afterwards. */
class Session {
    id = newId('se');
    host = `sb-${randomBytes(8).toString('hex')}`; // of its ports: another one for each session
    status = 'pending';
    commands = new Map();
    requestedAt = Date.now();
    createdAt = Date.now();
    updatedAt = Date.now();

    constructor(sandbox) {
        this.sandbox = sandbox;
        this.timeout = sandbox.timeout;
        this.sourceSnapshotId = sandbox.currentSnapshotId;
    }

    async start(from, pendingMs) {
        const { sandbox } = this;
        const name = sandbox.runtime ? 'vercel-sandbox' : 'ubuntu';
        const environment = { LANG: 'C.UTF-8', ...sandbox.env };
        this.box = await createBox({ user: 'user', name, home: `/home/${name}`, environment, from });
        this.enforce();
        await this.box.mkdir(CWD, { parents: true });
        if (pendingMs > 0) await pause(pendingMs);
        if (this.status !== 'pending') return; // it was deleted meanwhile
        this.status = 'running';
        this.startedAt = Date.now();
        this.#watch();
    }

    enforce() {
        if (this.box) this.box.wall = wall(this.sandbox.networkPolicy);
    }

    #watch() {
        clearTimeout(this.timer);
        const left = this.startedAt + this.timeout - Date.now();
        this.timer = setTimeout(() => (left > 86400000 ? this.#watch() : this.end()), Math.min(left, 86400000));
    }

    extend(duration) {
        this.timeout += duration;
        this.updatedAt = Date.now();
        this.#watch();
    }

    /** 410 or 422, unless it runs. */
    mustRun() {
        if (this.status === 'running') return;
        if (this.status === 'stopping') throw apiError(422, 'sandbox_stopping', 'The sandbox is stopping.');
        if (this.status === 'snapshotting') throw apiError(422, 'sandbox_snapshotting', 'The sandbox is creating a snapshot.');
        if (this.status === 'pending') throw apiError(400, 'sandbox_pending', 'The sandbox is not running yet.');
        throw apiError(410, 'sandbox_stopped', 'Sandbox has stopped execution and is no longer available');
    }

    /** Ends it; the files of a persistent sandbox become a snapshot. */
    end() {
        if (this.status !== 'running') return this.ended ?? Promise.resolve();
        this.status = 'stopping';
        this.requestedStopAt = Date.now();
        clearTimeout(this.timer);
        return (this.ended = (async () => {
            for (const command of this.commands.values()) command.interrupt();
            await pause(END_MS);
            if (this.sandbox.persistent && !this.sandbox.deleted) {
                const kept = await this.sandbox.all.keep(this, 'automatic', this.sandbox.snapshotExpiration);
                if (this.sandbox.persistent) this.sandbox.currentSnapshotId = kept.id;
            }
            await this.#over('stopped');
        })());
    }

    /** Makes a snapshot, which is there at once, while the machine ends. */
    async snapshot(expiration) {
        this.status = 'snapshotting';
        clearTimeout(this.timer);
        for (const command of this.commands.values()) command.interrupt();
        const kept = await this.sandbox.all.keep(this, 'manual', expiration ?? this.sandbox.snapshotExpiration);
        this.sandbox.currentSnapshotId = kept.id;
        this.ended = pause(SNAPSHOT_MS).then(() => this.#over('stopped'));
        return kept;
    }

    async #over(status) {
        await this.box.stop();
        await this.box.destroy();
        Object.assign(this, { status, stoppedAt: Date.now(), updatedAt: Date.now() });
    }

    async kill() {
        clearTimeout(this.timer);
        this.status = 'aborted';
        for (const command of this.commands.values()) command.interrupt();
        await this.started?.catch(() => {});
        await this.box?.destroy();
    }

    shown() {
        const { id, status, timeout, requestedAt, startedAt, requestedStopAt, stoppedAt, sourceSnapshotId, createdAt, updatedAt, sandbox } = this;
        return { id, memory: sandbox.vcpus * 2048, vcpus: sandbox.vcpus, region: sandbox.region, runtime: sandbox.runtime, timeout, status, requestedAt,
            startedAt, requestedStopAt, stoppedAt, sourceSnapshotId, createdAt, cwd: CWD, updatedAt };
    }
}

class Sandbox {
    createdAt = Date.now();
    updatedAt = Date.now();
    deleted = false;

    constructor(all, settings) {
        Object.assign(this, { vcpus: 2, region: 'iad1', persistent: true, timeout: 300000, ports: [], env: {}, ...settings });
        this.all = all;
        this.name ??= newId('sandbox').replace('_', '-');
    }

    /** Begins a session from the current snapshot. */
    begin(pendingMs = 0) {
        const snapshot = this.currentSnapshotId === undefined ? undefined : this.all.liveSnapshot(this.currentSnapshotId);
        const session = new Session(this);
        this.session = session;
        this.all.sessions.set(session.id, session);
        session.started = session.start(snapshot?.box, pendingMs);
        return session.started;
    }

    /** The session of today; a new one unless there is one. */
    async resume() {
        const ending = this.session.ended;
        if (['stopping', 'snapshotting'].includes(this.session.status)) await ending;
        if (this.session.status === 'running' || this.session.status === 'pending') return false;
        await (this.resuming ??= this.begin().finally(() => (this.resuming = undefined)));
        return true;
    }

    shown() {
        const { name, persistent, region, vcpus, runtime, image, timeout, networkPolicy, createdAt, updatedAt, session, currentSnapshotId, tags, snapshotExpiration,
            keepLastSnapshots } = this;
        return { name, persistent, region, vcpus, memory: vcpus * 2048, runtime, image, timeout: OLD ? undefined : timeout, networkPolicy: shownPolicy(networkPolicy),
            createdAt, updatedAt, currentSessionId: session.id, currentSnapshotId, status: session.status, statusUpdatedAt: session.updatedAt, cwd: CWD, tags,
            snapshotExpiration, keepLastSnapshots };
    }

    whole(more = {}) {
        return { sandbox: this.shown(), session: this.session.shown(), routes: this.routes(), ...more };
    }

    routes() {
        return this.ports.map((port) => {
            const subdomain = `${this.session.host}-${port}`;
            return { url: `http://${subdomain}.localhost:${this.all.edge}`, subdomain, port };
        });
    }
}

export class Sandboxes {
    byName = new Map();
    sessions = new Map();
    snapshots = new Map();

    async create(settings, pendingMs) {
        const sandbox = new Sandbox(this, settings);
        this.byName.set(sandbox.name, sandbox);
        const started = sandbox.begin(pendingMs);
        if (pendingMs > 0) started.catch(() => {});
        else await started;
        return sandbox;
    }

    get(name) {
        const sandbox = this.byName.get(name);
        if (!sandbox) throw apiError(404, 'not_found', `Sandbox not found: ${name}`);
        return sandbox;
    }

    getSession(id) {
        const session = this.sessions.get(id);
        if (!session || session.sandbox.deleted) throw apiError(404, 'not_found', `Session not found: ${id}`);
        return session;
    }

    /** The proxy in front of the ports: open to all, for ports that were declared, while the session runs. */
    admit(label) {
        const [, host, port] = label.match(/^(.*)-(\d+)$/) ?? [];
        const session = [...this.sessions.values()].find((one) => one.host === host && one.status === 'running');
        return session?.sandbox.ports.includes(Number(port)) ? { box: session.box, port: Number(port) } : null;
    }

    async delete(sandbox, withSnapshots) {
        sandbox.deleted = true;
        const shown = sandbox.shown();
        await sandbox.session.kill();
        this.byName.delete(sandbox.name);
        if (withSnapshots) {
            for (const snapshot of this.snapshots.values()) {
                const used = [...this.byName.values()].some((one) => one.currentSnapshotId === snapshot.id);
                if (snapshot.sandboxName === sandbox.name && !used) await this.deleteSnapshot(snapshot);
            }
        }
        return shown;
    }

    // ---- snapshots

    async keep(session, creationMethod, expiration = MONTH_MS) {
        const box = await session.box.snapshot();
        const now = Date.now();
        const snapshot = { id: newId('snap'), sourceSessionId: session.id, region: session.sandbox.region, status: 'created', sizeBytes: 4096, createdAt: now, updatedAt: now,
            expiresAt: expiration === 0 ? undefined : now + expiration, creationMethod, sandboxName: session.sandbox.name, box };
        this.snapshots.set(snapshot.id, snapshot);
        return snapshot;
    }

    getSnapshot(id) {
        const snapshot = this.snapshots.get(id);
        if (!snapshot) throw apiError(404, 'not_found', `Snapshot not found: ${id}`);
        return snapshot;
    }

    /** One that can be started from. */
    liveSnapshot(id) {
        const snapshot = this.snapshots.get(id);
        if (snapshot?.status !== 'created') throw apiError(410, 'snapshot_not_found', `Snapshot ${id} is not available`);
        return snapshot;
    }

    async deleteSnapshot(snapshot) {
        if (snapshot.status === 'deleted') return;
        Object.assign(snapshot, { status: 'deleted', updatedAt: Date.now() });
        await deleteSnapshot(snapshot.box);
    }
}

export const showSnapshot = ({ sandboxName, box, ...shown }) => shown;
