// Sandboxes, what they are made from, and what is kept of them.

import { randomBytes } from 'node:crypto';
import { createBox, deleteSnapshot } from '../common/box.mjs';
import { apiError } from './errors.mjs';
import { checkEgress, wall } from './network.mjs';

const MAXIMUM_HOURS = Number(process.env.EMULATOR_HOURS ?? 24);
const ENVD = process.env.EMULATOR_ENVD ?? '0.6.13';
const TEMPLATES = ['base', 'code-interpreter-v1'];
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
export const HOME = '/home/user';

const newId = (length) => Array.from(randomBytes(length), (byte) => LETTERS[byte % LETTERS.length]).join('');
/** As long as tokens that say something of themselves. */
const token = (prefix) => `${prefix}${randomBytes(600).toString('hex')}`;

export function checkTimeout(seconds) {
    if (seconds <= 0) throw apiError(400, 'Timeout must be greater than 0');
    if (seconds > MAXIMUM_HOURS * 3600) throw apiError(400, `Timeout cannot be greater than ${MAXIMUM_HOURS} hours`);
}

class Sandbox {
    id = `i${newId(20)}`;
    startedAt = Date.now();
    state = 'running';
    commands = new Map(); // pid -> what runs
    moving = false; // it is being paused or resumed
    endAt = this.startedAt;

    constructor(all, settings) {
        Object.assign(this, { metadata: undefined, envVars: {}, autoPause: false, autoPauseMemory: true, secure: true, ...settings });
        this.all = all;
        if (this.secure) this.accessToken = token('ev1');
        this.trafficToken = this.network?.allowPublicTraffic === false ? token('tr1') : null;
    }

    async begin(from) {
        const environment = { LANG: 'C.UTF-8', E2B_SANDBOX: 'true', ...this.envVars };
        this.box = await createBox({ user: 'user', name: 'user', home: HOME, environment, from });
        this.enforce();
        this.live(this.timeout);
    }

    enforce() {
        this.box.wall = wall({ ...this.network, allow_internet_access: this.allow_internet_access });
    }

    /** Another policy: what is not named is cleared. */
    setNetwork({ allow_internet_access, ...egress }) {
        checkEgress({ ...egress, allow_internet_access });
        const { allowPublicTraffic, maskRequestHost } = this.network ?? {};
        Object.assign(this, { allow_internet_access, network: { allowPublicTraffic, maskRequestHost, ...egress } });
        this.enforce();
    }

    /** It ends, or is paused, after so many seconds. */
    live(seconds) {
        this.endAt = Math.min(Date.now() + seconds * 1000, this.startedAt + MAXIMUM_HOURS * 3600000);
        clearTimeout(this.timer);
        this.timer = setTimeout(() => (this.autoPause ? this.pause(this.autoPauseMemory) : this.kill()).catch(console.error), this.endAt - Date.now());
    }

    mustRun(doing) {
        if (this.moving) throw apiError(409, `Sandbox '${this.id}' is still transitioning`);
        if (this.state !== 'running') throw apiError(409, `Error ${doing} sandbox - sandbox '${this.id}' is already paused`);
    }

    async pause(memory) {
        clearTimeout(this.timer);
        this.moving = true;
        if (memory) await this.box.freeze();
        else await this.box.stop();
        Object.assign(this, { state: 'paused', moving: false });
        for (const command of this.commands.values()) command.cut();
    }

    async resume() {
        this.moving = true;
        if (this.box.frozen) await this.box.thaw();
        else await this.box.start();
        Object.assign(this, { state: 'running', moving: false });
    }

    async kill() {
        clearTimeout(this.timer);
        this.all.byId.delete(this.id);
        for (const command of this.commands.values()) command.cut();
        await this.box?.destroy();
    }

    /** What create and connect answer. */
    handle() {
        const { id: sandboxID, templateID, accessToken, trafficToken } = this;
        return { sandboxID, templateID, clientID: '6532622b', envdVersion: ENVD, envdAccessToken: accessToken, trafficAccessToken: trafficToken, domain: null };
    }

    listed() {
        const { id: sandboxID, templateID, startedAt, endAt, state, metadata } = this;
        return { sandboxID, templateID, clientID: '6532622b', envdVersion: ENVD, startedAt: new Date(startedAt).toISOString(), endAt: new Date(endAt).toISOString(), state,
            cpuCount: 2, memoryMB: 512, diskSizeMB: 512, metadata };
    }

    detail() {
        return { ...this.listed(), envdAccessToken: this.accessToken, domain: null, network: this.network,
            lifecycle: { autoResume: this.autoResume?.enabled ?? false, onTimeout: this.autoPause ? 'pause' : 'kill' } };
    }

    shown() {
        const { id, envVars, allow_internet_access, network, autoPause, autoPauseMemory, autoResume, timeout, secure } = this;
        return { id, ...this.listed(), envVars, allow_internet_access, network, autoPause, autoPauseMemory, autoResume, timeout, secure,
            commands: [...this.commands.values()].map((one) => one.config) };
    }
}

export class Sandboxes {
    byId = new Map();
    snapshots = new Map(); // template id -> {id, names, box, sandboxID}

    async create(settings) {
        const kept = this.snapshots.get(this.#plain(settings.templateID)) ?? this.#named(settings.templateID);
        if (!kept && !TEMPLATES.includes(settings.templateID)) throw apiError(404, `template '${settings.templateID}' not found`);
        const sandbox = new Sandbox(this, { ...settings, templateID: kept?.id ?? settings.templateID });
        this.byId.set(sandbox.id, sandbox);
        await sandbox.begin(kept?.box);
        return sandbox;
    }

    find(id) {
        if (!/^[a-z0-9]+(-[a-z0-9]+)?$/.test(id)) throw apiError(400, 'Invalid sandbox ID');
        return this.byId.get(id.split('-')[0]);
    }

    get(id) {
        const sandbox = this.find(id);
        if (!sandbox) throw apiError(404, `Sandbox "${id}" doesn't exist or you don't have access to it`);
        return sandbox;
    }

    /** A second one, of the state of now. */
    async fork(source, timeout) {
        const box = await source.box.snapshot();
        try {
            const { templateID, metadata, envVars, autoPause, autoPauseMemory, autoResume, network, allow_internet_access } = source;
            const sandbox = new Sandbox(this, { templateID, metadata, envVars, autoPause, autoPauseMemory, autoResume, network, allow_internet_access, timeout });
            this.byId.set(sandbox.id, sandbox);
            await sandbox.begin(box);
            return sandbox;
        } finally {
            await deleteSnapshot(box);
        }
    }

    // ---- snapshots, which are templates

    #plain = (id) => id.replace(/:default$/, '');
    #named = (name) => [...this.snapshots.values()].find((one) => one.names.includes(this.#plain(name)) || one.names.includes(`team/${this.#plain(name)}`));

    async keep(sandbox, name) {
        const box = await sandbox.box.snapshot();
        const before = name === undefined ? undefined : this.#named(name);
        if (before) await deleteSnapshot(before.box);
        const kept = before ?? { id: newId(20), names: name === undefined ? [] : [`team/${name}`] };
        Object.assign(kept, { box, sandboxID: sandbox.id });
        this.snapshots.set(kept.id, kept);
        return kept;
    }

    async forget(id) {
        const kept = this.snapshots.get(this.#plain(id)) ?? this.#named(id);
        if (!kept) throw apiError(404, `the template '${id}' does not exist`);
        if ([...this.byId.values()].some((one) => one.templateID === kept.id)) throw apiError(400, `cannot delete template '${id}' because there are sandboxes that use it`);
        this.snapshots.delete(kept.id);
        await deleteSnapshot(kept.box);
    }
}

export const showSnapshot = ({ id, names }) => ({ snapshotID: names.length > 0 ? `${names[0]}:default` : `${id}:default`, names: names.map((name) => `${name}:default`) });
