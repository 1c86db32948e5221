// What devboxes start from: blueprints and disk snapshots.

import { setTimeout as pause } from 'node:timers/promises';
import { createBox, deleteSnapshot } from '../common/box.mjs';
import { LAUNCH, newId } from './devboxes.mjs';
import { checkQuery, failure, isObject, isText, isTextList, isTexts, page, read } from './errors.mjs';

const BUILD_MS = 300, SNAPSHOT_MS = Number(process.env.EMULATOR_SNAPSHOT_MS ?? 150);
const BUILD = { name: isText, dockerfile: isText, system_setup_commands: isTextList, launch_parameters: LAUNCH, metadata: isTexts, base_blueprint_id: isText,
    base_blueprint_name: isText, build_args: isTexts, file_mounts: isTexts, secrets: isTexts, code_mounts: Array.isArray, build_context: isObject,
    network_policy_id: isText, services: Array.isArray };
const SNAPSHOT = { name: isText, metadata: isTexts, commit_message: isText };

export class Origins {
    blueprints = new Map();
    snapshots = new Map();

    /** Of a creation: {from, blueprint, snapshot}. */
    find({ blueprint_id, blueprint_name, snapshot_id }) {
        if (snapshot_id) {
            const snapshot = this.snapshots.get(snapshot_id);
            if (snapshot?.status !== 'complete') throw failure(400, `Snapshot ${snapshot_id} not found`);
            return { from: snapshot.box, snapshot: snapshot_id };
        }
        if (!blueprint_id && !blueprint_name) return {};
        const good = [...this.blueprints.values()].reverse().filter(({ status }) => status === 'build_complete');
        const blueprint = good.find(({ id, name }) => (blueprint_id ? id === blueprint_id : name === blueprint_name));
        if (!blueprint) throw failure(404, `Blueprint ${blueprint_id ?? blueprint_name} not found`);
        return { from: blueprint.box, blueprint: blueprint.id };
    }

    // ---- blueprints

    showBlueprint({ box, ...shown }) {
        return shown;
    }

    blueprint(request) {
        const blueprint = this.blueprints.get(request.params.id);
        if (!blueprint) throw failure(404, `Blueprint ${request.params.id} not found`);
        return blueprint;
    }

    async build(request) {
        const body = await read(request, BUILD, ['name']);
        const image = body.dockerfile?.match(/^FROM (\S+)\n/)?.[1];
        if (body.dockerfile && !image) throw failure(400, 'body.dockerfile: it does not begin with FROM');
        const blueprint = { id: newId('bpt'), name: body.name, create_time_ms: Date.now(), state: 'created', status: 'provisioning', failure_reason: null,
            parameters: body, metadata: body.metadata ?? {} };
        this.blueprints.set(blueprint.id, blueprint);
        this.#carryOut(blueprint, image);
        return { json: this.showBlueprint(blueprint) };
    }

    async #carryOut(blueprint, image) {
        await pause(BUILD_MS);
        blueprint.status = 'building';
        await pause(BUILD_MS);
        if (image === 'broken:latest') {
            Object.assign(blueprint, { status: 'failed', failure_reason: 'build_failed' });
            return;
        }
        const box = await createBox({ user: 'user', name: 'user', home: '/home/user' });
        await box.run(['/bin/bash', '-c', `echo ${JSON.stringify(image ?? 'default')} >built-from`], { cwd: '/home/user' });
        blueprint.box = await box.snapshot();
        await box.destroy();
        blueprint.status = 'build_complete';
    }

    async deleteBlueprint(request) {
        const blueprint = this.blueprint(request);
        this.blueprints.delete(blueprint.id);
        if (blueprint.box) await deleteSnapshot(blueprint.box);
        return { json: {} };
    }

    // ---- disk snapshots

    showSnapshot({ box, status, error_message, ...shown }) {
        return shown;
    }

    snapshot(request) {
        const snapshot = this.snapshots.get(request.params.id);
        if (!snapshot) throw failure(404, `Snapshot ${request.params.id} not found`);
        return snapshot;
    }

    async capture(devboxes, request, wait) {
        const body = await read(request, SNAPSHOT);
        if ((body.commit_message ?? '').length > 1000) throw failure(400, 'body.commit_message: too long');
        const devbox = devboxes.running(request.params.id);
        const snapshot = { id: newId('snp'), source_devbox_id: devbox.id, create_time_ms: Date.now(), name: body.name ?? null, metadata: body.metadata ?? {},
            commit_message: body.commit_message ?? null, size_bytes: null, source_blueprint_id: devbox.blueprint_id, status: 'in_progress' };
        this.snapshots.set(snapshot.id, snapshot);
        devbox.snapshots++;
        const made = this.#copy(devbox, snapshot);
        if (wait) await made;
        return { json: this.showSnapshot(snapshot) };
    }

    async #copy(devbox, snapshot) {
        try {
            await pause(SNAPSHOT_MS);
            snapshot.box = await devbox.box.snapshot();
            Object.assign(snapshot, { status: 'complete', size_bytes: 1 << 20 });
        } catch (problem) {
            Object.assign(snapshot, { status: 'error', error_message: problem.message });
        } finally {
            devbox.snapshots--;
        }
    }

    async deleteSnapshot(request) {
        const snapshot = this.snapshot(request);
        this.snapshots.delete(snapshot.id);
        if (snapshot.box) await deleteSnapshot(snapshot.box);
        return { json: {} };
    }

    listSnapshots(request) {
        checkQuery(request, 'devbox_id', 'limit', 'starting_after', 'source_blueprint_id', 'include_total_count', /^metadata\[[^\]]+\](\[in\])?$/);
        const fits = (snapshot) => [...request.query].every(([name, value]) => {
            const [, key, many] = name.match(/^metadata\[([^\]]+)\](\[in\])?$/) ?? [];
            if (key) return many ? value.split(',').includes(snapshot.metadata[key]) : snapshot.metadata[key] === value;
            return name === 'devbox_id' ? snapshot.source_devbox_id === value : true;
        });
        return page(request, [...this.snapshots.values()].reverse().filter(fits), 'snapshots', this.showSnapshot);
    }
}

export function originRoutes(origins, devboxes) {
    const snapshots = '/v1/devboxes/disk_snapshots';
    return [
        ['GET', snapshots, (request) => origins.listSnapshots(request)],
        ['GET', `${snapshots}/:id/status`, (request) => {
            const snapshot = origins.snapshot(request);
            return { json: { status: snapshot.status, error_message: snapshot.error_message ?? null, snapshot: snapshot.status === 'complete' ? origins.showSnapshot(snapshot) : null } };
        }],
        ['POST', `${snapshots}/:id/delete`, (request) => origins.deleteSnapshot(request)],
        ['POST', `${snapshots}/:id`, async (request) => ({ json: origins.showSnapshot(Object.assign(origins.snapshot(request), await read(request, SNAPSHOT))) })],
        ['POST', '/v1/devboxes/:id/snapshot_disk_async', (request) => origins.capture(devboxes, request, false)],
        ['POST', '/v1/devboxes/:id/snapshot_disk', (request) => origins.capture(devboxes, request, true)],
        ['GET', '/v1/blueprints', (request) => {
            checkQuery(request, 'name', 'status', 'limit', 'starting_after', 'include_total_count');
            const [name, status] = [request.query.get('name'), request.query.get('status')];
            const all = [...origins.blueprints.values()].reverse();
            // The filter finds more than just that name.
            return page(request, all.filter((one) => (!name || one.name.includes(name)) && (!status || one.status === status)), 'blueprints', origins.showBlueprint);
        }],
        ['POST', '/v1/blueprints', (request) => origins.build(request)],
        ['GET', '/v1/blueprints/:id', (request) => ({ json: origins.showBlueprint(origins.blueprint(request)) })],
        ['GET', '/v1/blueprints/:id/logs', (request) => ({ json: { blueprint_id: origins.blueprint(request).id, logs: [{ level: 'info', message: 'built', timestamp_ms: Date.now() }] } })],
        ['POST', '/v1/blueprints/:id/delete', (request) => origins.deleteBlueprint(request)],
    ];
}
