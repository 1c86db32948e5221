// Objects as an API server keeps them: versions, selectors, pages, watches that can be joined late, and a history that is
// forgotten after a while.

import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { refusal } from './status.mjs';

const HISTORY = Number(process.env.EMULATOR_HISTORY ?? 2000); // events that are remembered
const PAGE = Number(process.env.EMULATOR_PAGE ?? Infinity); // objects that an answer has at most
let version = 1000;

const at = (object, path) => path.split('.').reduce((value, key) => value?.[key], object);
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

/** 'a=b,c!=d,e in (x,y),f,!g' as a test of labels */
function labelTest(selector) {
    const parts = selector ? selector.match(/[^,(]+(\([^)]*\))?/g) : [];
    const tests = parts.map((part) => {
        const some = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(part.trim());
        if (some) return (labels) => some[3].split(',').map((one) => one.trim()).includes(labels[some[1]]) === (some[2] === 'in');
        const equal = /^([^!=]+)(!=|==?)(.*)$/.exec(part.trim());
        if (equal) return (labels) => (labels[equal[1]] === equal[3]) === (equal[2] !== '!=');
        return part.startsWith('!') ? (labels) => !(part.slice(1) in labels) : (labels) => part in labels;
    });
    return (object) => tests.every((test) => test(object.metadata.labels ?? {}));
}

function fieldTest(selector) {
    const parts = (selector ?? '').split(',').filter(Boolean).map((part) => /^([^!=]+)(!=|==?)(.*)$/.exec(part));
    if (parts.includes(null)) throw refusal('BadRequest', `unable to parse field selector ${selector}`);
    return (object) => parts.every(([, path, sign, value]) => ((at(object, path) ?? '') === value) === (sign !== '!='));
}

/** RFC 7386 */
export function mergePatch(target, patch) {
    if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
    const made = target && typeof target === 'object' && !Array.isArray(target) ? { ...target } : {};
    for (const [key, value] of Object.entries(patch)) {
        if (value === null) delete made[key];
        else made[key] = mergePatch(made[key], value);
    }
    return made;
}

export class Resource {
    objects = new Map(); // namespace/name -> object
    #history = []; // {version, event}
    #forgotten = version; // versions up to here cannot be joined any more
    #watchers = new Set();

    constructor({ group = '', version: own = 'v1', plural, kind, short = [], categories = [] }) {
        Object.assign(this, { group, version: own, plural, kind, short, categories, apiVersion: group ? `${group}/${own}` : own });
    }

    get qualified() { return this.group ? `${this.plural}.${this.group}` : this.plural; }

    find(space, name) { return this.objects.get(`${space}/${name}`); }

    get(space, name) {
        const object = this.find(space, name);
        if (!object) throw refusal('NotFound', `${this.qualified} "${name}" not found`, { name, group: this.group, kind: this.plural });
        return object;
    }

    #tell(type, object) {
        const event = { type, object: structuredClone(object) };
        this.#history.push({ version, event });
        if (this.#history.length > HISTORY) this.#forgotten = this.#history.shift().version;
        for (const watcher of this.#watchers) watcher(event);
    }

    create(space, object) {
        const { name } = object.metadata;
        if (!name || name.length > 253 || !NAME.test(name)) throw refusal('Invalid', `${this.kind} "${name}" is invalid: metadata.name`);
        for (const [key, value] of Object.entries(object.metadata.labels ?? {})) {
            if (typeof value !== 'string' || value.length > 63 || !LABEL.test(value)) {
                throw refusal('Invalid', `${this.kind} "${name}" is invalid: metadata.labels: Invalid value: "${value}" of ${key}`);
            }
        }
        const old = this.find(space, name);
        if (old) {
            const deleted = old.metadata.deletionTimestamp ? 'object is being deleted: ' : '';
            throw refusal('AlreadyExists', `${deleted}${this.qualified} "${name}" already exists`, { name, kind: this.plural });
        }
        object.apiVersion = this.apiVersion;
        object.kind = this.kind;
        Object.assign(object.metadata, { namespace: space, uid: randomUUID(), resourceVersion: `${++version}`, generation: 1,
            creationTimestamp: new Date().toISOString().replace(/\.\d+/, '') });
        this.objects.set(`${space}/${name}`, object);
        this.#tell('ADDED', object);
        return object;
    }

    /** After a change of OBJECT in place; SPEC: of what is wanted of it. */
    changed(object, spec = false) {
        if (this.find(object.metadata.namespace, object.metadata.name) !== object) return;
        object.metadata.resourceVersion = `${++version}`;
        if (spec) object.metadata.generation++;
        this.#tell('MODIFIED', object);
    }

    #meet(object, { metadata }) {
        const { name } = object.metadata, wanted = metadata?.resourceVersion;
        if (wanted && wanted !== object.metadata.resourceVersion) {
            throw refusal('Conflict', `Operation cannot be fulfilled on ${this.qualified} "${name}": the object has been modified`);
        }
    }

    /** The whole of it anew. */
    replace(space, name, whole) {
        const object = this.get(space, name);
        if (whole.metadata?.name !== name) throw refusal('BadRequest', `the name of the object (${whole.metadata?.name}) does not match the name on the URL (${name})`);
        this.#meet(object, whole);
        return this.#become(object, whole);
    }

    patch(space, name, patch) {
        const object = this.get(space, name);
        this.#meet(object, patch);
        return this.#become(object, mergePatch(object, patch));
    }

    #become(object, made) {
        const { metadata, status } = object;
        const spec = JSON.stringify(made.spec) !== JSON.stringify(object.spec);
        Object.assign(object, made, { status });
        for (const key of ['name', 'namespace', 'uid', 'creationTimestamp', 'generation']) object.metadata[key] = metadata[key];
        this.changed(object, spec);
        return object;
    }

    remove(object) {
        if (!this.objects.delete(`${object.metadata.namespace}/${object.metadata.name}`)) return;
        object.metadata.resourceVersion = `${++version}`;
        this.#tell('DELETED', object);
    }

    #test(query) {
        const label = labelTest(query.get('labelSelector')), field = fieldTest(query.get('fieldSelector'));
        return (object) => label(object) && field(object);
    }

    list(space, query) {
        const test = this.#test(query);
        const limit = Math.min(Number(query.get('limit') || Infinity), PAGE);
        const token = query.get('continue');
        let begin = '';
        if (token) {
            const said = JSON.parse(Buffer.from(token, 'base64url').toString());
            if (said.version <= this.#forgotten) throw refusal('Expired', 'The provided continue parameter is too old');
            begin = said.begin;
        }
        const all = [...this.objects].filter(([key, object]) => key.startsWith(`${space}/`) && key > begin && test(object)).sort(([a], [b]) => (a < b ? -1 : 1));
        const some = all.slice(0, limit);
        const more = all.length > some.length;
        return {
            kind: `${this.kind}List`, apiVersion: this.apiVersion,
            metadata: { resourceVersion: `${version}`, ...(more && {
                continue: Buffer.from(JSON.stringify({ version, begin: some.at(-1)[0] })).toString('base64url'),
                remainingItemCount: all.length - some.length }) },
            items: some.map(([, { apiVersion, kind, ...object }]) => (this.group ? { apiVersion, kind, ...object } : object)),
        };
    }

    /** A stream of events, one a line. */
    watch(space, query, signal) {
        const test = this.#test(query);
        const begin = query.get('resourceVersion');
        if (begin && begin !== '0' && Number(begin) < this.#forgotten) {
            throw refusal('Expired', `too old resource version: ${begin} (${this.#forgotten})`);
        }
        const stream = new Readable({ read() {} });
        const seen = new Set();
        const pass = (event) => {
            const key = event.object.metadata.uid;
            if (event.object.metadata.namespace !== space) return;
            if (test(event.object)) {
                seen.add(key);
                stream.push(`${JSON.stringify(event)}\n`);
            } else if (seen.delete(key)) {
                stream.push(`${JSON.stringify({ ...event, type: 'DELETED' })}\n`);
            }
        };
        if (begin && begin !== '0') for (const { version: own, event } of this.#history) { if (own > Number(begin)) pass(event); }
        else for (const object of this.objects.values()) pass({ type: 'ADDED', object: structuredClone(object) });
        this.#watchers.add(pass);
        const timer = setTimeout(() => {
            if (query.get('allowWatchBookmarks') === 'true') {
                stream.push(`${JSON.stringify({ type: 'BOOKMARK', object: { kind: this.kind, apiVersion: this.apiVersion,
                    metadata: { resourceVersion: `${version}`, creationTimestamp: null } } })}\n`);
            }
            stream.push(null);
        }, Number(query.get('timeoutSeconds') || 1800) * 1000);
        const end = () => {
            clearTimeout(timer);
            this.#watchers.delete(pass);
            stream.destroy();
        };
        stream.on('close', end);
        signal.addEventListener('abort', end);
        return stream;
    }
}
