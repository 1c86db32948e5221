// Volumes, which live on without sandboxes, and their snapshots. Sandboxes boot from either by the field `root`.

import { randomUUID } from 'node:crypto';
import { deleteSnapshot } from '../common/box.mjs';
import { failure } from './errors.mjs';

const LONGEST_PAGE = Number(process.env.EMULATOR_PAGE ?? 100);
const SLUG = /^(?!-)(?!..--)[a-z0-9-]{2,32}(?<!-)$/;
const CAPACITY = /^\d+(\.\d+)?(GB|MB|kB|GiB|MiB|KiB)$/;

export const volumes = new Map(); // id -> volume, whose `files` are a snapshot of a box
export const snapshots = new Map();

const find = (all, name) => all.get(name) ?? [...all.values()].find((one) => one.slug === name);
export const findVolume = (name) => find(volumes, name);
export const findSnapshot = (name) => find(snapshots, name);

function need(all, name) {
    const one = find(all, name);
    if (!one) throw failure(404, 'NOT_FOUND', `there is no ${name}`);
    return one;
}

const brief = ({ id, slug }) => ({ id, slug });

async function read(request, required, optional = []) {
    const body = await request.json();
    const unknown = Object.keys(body).find((key) => ![...required, ...optional].includes(key));
    const missing = required.find((key) => body[key] === undefined);
    if (unknown || missing) throw failure(400, 'INVALID_REQUEST', unknown ? `unknown field ${unknown}` : `${missing} is missing`);
    if (!SLUG.test(body.slug)) throw failure(400, 'INVALID_SLUG', 'the slug is not valid');
    if (findVolume(body.slug) || findSnapshot(body.slug)) throw failure(409, 'SLUG_ALREADY_IN_USE', `${body.slug} is taken`);
    return body;
}

function keep(all, one, files) {
    Object.defineProperty(one, 'files', { value: files, writable: true, enumerable: false });
    all.set(one.id, one);
    return { json: one };
}

async function createVolume(request) {
    const { slug, region, capacity, from } = await read(request, ['slug', 'region', 'capacity'], ['from']);
    if (region !== 'ord') throw failure(400, 'INVALID_REGION', `no volumes in ${region}`);
    if (!Number.isInteger(capacity) && !CAPACITY.test(capacity)) throw failure(400, 'INVALID_CAPACITY', 'the capacity is not valid');
    const base = from === undefined || from.startsWith('builtin:') ? null : need(snapshots, from);
    return keep(volumes, { id: randomUUID(), slug, region, capacity: 1e9, estimated_allocated_size: 0, estimated_flattened_size: 0,
        is_bootable: from !== undefined, base_snapshot: base && brief(base) }, base?.files);
}

async function snapshotVolume(request) {
    const volume = need(volumes, request.params.id);
    const { slug } = await read(request, ['slug']);
    const files = volume.user ? await volume.user.box.snapshot() : volume.files;
    return keep(snapshots, { id: randomUUID(), slug, region: volume.region, allocated_size: 1, flattened_size: 1, is_bootable: volume.is_bootable,
        volume: brief(volume) }, files);
}

/** A page, and where the next one is, in a header. */
function list(all, request) {
    const { query } = request;
    const search = query.get('search') ?? '';
    const limit = Math.min(Number(query.get('limit') ?? 50), LONGEST_PAGE);
    const begin = Number(query.get('cursor') ?? 0);
    if (!Number.isInteger(begin)) throw failure(400, 'INVALID_CURSOR', 'unknown cursor');
    const found = [...all.values()].filter(({ slug }) => slug.includes(search));
    const more = new URL(request.path, `http://${request.headers.host}`);
    more.searchParams.set('cursor', begin + limit);
    const headers = begin + limit < found.length ? { link: `<${more}>; rel="next"` } : {};
    return { json: found.slice(begin, begin + limit), headers };
}

async function remove(all, request) {
    const one = need(all, request.params.id);
    if (one.user) throw failure(409, 'VOLUME_IN_USE', 'a sandbox uses it');
    all.delete(one.id);
    if (all === snapshots && one.files && ![...snapshots.values(), ...volumes.values()].some(({ files }) => files === one.files)) await deleteSnapshot(one.files);
    return { json: {} };
}

export const routes = [
    ['GET', '/api/v2/volumes', (request) => list(volumes, request)],
    ['POST', '/api/v2/volumes', createVolume],
    ['GET', '/api/v2/volumes/:id', (request) => ({ json: need(volumes, request.params.id) })],
    ['DELETE', '/api/v2/volumes/:id', (request) => remove(volumes, request)],
    ['POST', '/api/v2/volumes/:id/snapshot', snapshotVolume],
    ['GET', '/api/v2/snapshots', (request) => list(snapshots, request)],
    ['GET', '/api/v2/snapshots/:id', (request) => ({ json: need(snapshots, request.params.id) })],
    ['DELETE', '/api/v2/snapshots/:id', (request) => remove(snapshots, request)],
];
