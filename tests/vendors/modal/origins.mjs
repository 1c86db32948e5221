// Apps, environments, secrets and images.

import { setTimeout as pause } from 'node:timers/promises';
import { deleteSnapshot } from '../common/box.mjs';
import { NAME, newId, outcome, refuse } from './ids.mjs';

const BUILDER = '2025.06';
const BUILD_MS = 250;
const ENVIRONMENTS = ['', 'main', 'dev'];

export class Origins {
    apps = new Map(); // environment and name -> id
    secrets = new Map(); // id -> variables
    named = new Map([['db', 'st-0000000000000000000000']]);
    images = new Map(); // id -> {id, recipe, result, done, snapshot}
    tags = new Map(); // "name:tag" -> {tag, image_id, created_at}

    constructor() {
        this.secrets.set('st-0000000000000000000000', { DB_PASSWORD: 'emulated' });
    }

    #environment(name) {
        if (!ENVIRONMENTS.includes(name)) throw refuse.invalid(`environment ${name} is not known`);
        return name === '' ? 'main' : name;
    }

    app({ app_name: name, environment_name: environment, object_creation_type: type }) {
        const key = `${this.#environment(environment)}/${name}`;
        if (!NAME.test(name)) throw refuse.invalid(`the name ${name} is not allowed`);
        if (!this.apps.has(key)) {
            if (type !== 1) throw refuse.notFound(`App '${name}' not found`);
            this.apps.set(key, newId('ap'));
        }
        return { app_id: this.apps.get(key) };
    }

    appNamed(name, environment) {
        return this.apps.get(`${this.#environment(environment)}/${name}`);
    }

    environment({ deployment_name: name, object_creation_type: type }) {
        if (type !== 0) throw refuse.invalid('environments are not made here');
        const found = this.#environment(name);
        return { environment_id: newId('en'), metadata: { name: found, settings: { image_builder_version: BUILDER, webhook_suffix: '' } } };
    }

    secret({ deployment_name: name, environment_name: environment, object_creation_type: type, env_dict: variables }) {
        this.#environment(environment);
        if (type === 5) {
            const id = newId('st');
            this.secrets.set(id, { ...variables });
            return { secret_id: id };
        }
        if (!this.named.has(name)) throw refuse.notFound(`Secret '${name}' not found`);
        return { secret_id: this.named.get(name) };
    }

    // ---- images

    get({ image, app_id: app, builder_version: version }) {
        if (!image) throw refuse.invalid('image is missing');
        if (version !== BUILDER) throw refuse.invalid(`builder version ${version} is not known`);
        if (![...this.apps.values()].includes(app)) throw refuse.notFound(`App ${app} not found`);
        const [from, ...more] = image.dockerfile_commands;
        if (!/^FROM \S+$/.test(from ?? '')) throw refuse.invalid('the Dockerfile does not begin with FROM');
        const recipe = [from, ...more].join('\n');
        let found = [...this.images.values()].find((one) => one.recipe === recipe && one.result?.status !== outcome.FAILURE);
        if (!found) this.images.set((found = this.#build(recipe)).id, found);
        return { image_id: found.id, ...(found.result ? { result: found.result } : {}) };
    }

    #build(recipe) {
        const image = { id: newId('im'), recipe, result: null };
        const [, slow] = /slow:(\d+)/.exec(recipe) ?? [];
        image.done = pause(slow ? Number(slow) : BUILD_MS).then(() => {
            const broken = recipe.includes('broken');
            image.result = broken ? { status: outcome.FAILURE, exception: 'manifest unknown: 100% “not” there' } : { status: outcome.SUCCESS };
        });
        return image;
    }

    async *join({ image_id: id, timeout, last_entry_id: last }) {
        const image = this.image(id);
        if (!(timeout > 0 && timeout <= 60)) throw refuse.invalid('timeout: up to 60');
        const first = last === '' ? 1 : Number(last.split('-')[0]) + 1;
        for (let entry = first; entry <= 2; entry++) yield { entry_id: `${entry}-0`, task_logs: [{ data: `Step ${entry}\n`, file_descriptor: 1 }] };
        await Promise.race([image.done, pause(Math.min(timeout * 1000, 400))]);
        if (image.result) yield { result: image.result, entry_id: '3-0', eof: true };
    }

    image(id) {
        const image = this.images.get(id);
        if (!image) throw refuse.notFound(`Image ${id} not found`);
        return image;
    }

    built(id) {
        const image = this.image(id);
        if (image.result?.status !== outcome.SUCCESS) throw refuse.precondition(`image ${id} is not built`);
        return image;
    }

    addSnapshot(snapshot) {
        const id = newId('im');
        this.images.set(id, { id, recipe: null, result: { status: outcome.SUCCESS }, snapshot });
        return id;
    }

    fromId({ image_id: id }) {
        return { image_id: this.image(id).id };
    }

    #tag(tag, environment) {
        if (!/^([A-Za-z0-9_.-]+\/){0,2}[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+$/.test(tag)) throw refuse.invalid(`the tag ${tag} is not allowed`);
        this.#environment(environment);
        return tag;
    }

    byTag({ tag, environment_name: environment }) {
        const found = this.tags.get(this.#tag(tag, environment));
        if (!found || !this.images.has(found.image_id)) throw refuse.notFound(`Image '${tag}' not found`);
        return { image_id: found.image_id };
    }

    publish({ image_id: id, tag, environment_name: environment }) {
        this.built(id);
        this.tags.set(this.#tag(tag, environment), { tag, image_id: id, created_at: Date.now() / 1000 });
        return { image_id: id, revision_id: newId('ir') };
    }

    listTags({ environment_name: environment, tag_prefix: prefix, max_objects: most, page_token: token }) {
        this.#environment(environment);
        if (most > 100) throw refuse.invalid('max_objects: up to 100');
        const size = Number(process.env.EMULATOR_PAGE ?? (most || 100));
        const begin = token === '' ? 0 : Number(token);
        if (!(begin >= 0)) throw refuse.invalid('page_token');
        const all = [...this.tags.values()].filter((one) => one.tag.startsWith(prefix) && this.images.has(one.image_id));
        return { items: all.slice(begin, begin + size), next_page_token: begin + size < all.length ? String(begin + size) : '', environment_name: 'main' };
    }

    async remove({ image_id: id }) {
        const { snapshot } = this.image(id);
        this.images.delete(id);
        if (snapshot) await deleteSnapshot(snapshot);
        return {};
    }

    /** The variables of a definition: of its secrets, then its own. */
    variables(ids, own) {
        return Object.assign({}, ...ids.map((id) => {
            if (!this.secrets.has(id)) throw refuse.notFound(`Secret ${id} not found`);
            return this.secrets.get(id);
        }), ...own);
    }
}

export function originHandlers(origins) {
    return {
        AppGetOrCreate: (message) => origins.app(message),
        EnvironmentGetOrCreate: (message) => origins.environment(message),
        SecretGetOrCreate: (message) => origins.secret(message),
        ImageGetOrCreate: (message) => origins.get(message),
        ImageJoinStreaming: (message) => origins.join(message),
        ImageFromId: (message) => origins.fromId(message),
        ImageGetByTag: (message) => origins.byTag(message),
        ImagePublish: (message) => origins.publish(message),
        ImageListTags: (message) => origins.listTags(message),
        ImageDelete: (message) => origins.remove(message),
    };
}
