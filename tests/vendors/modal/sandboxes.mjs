// Sandboxes of both generations, at the control plane.

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { createBox } from '../common/box.mjs';
import { has } from '../common/grpc.mjs';
import { check as checkNetwork, wall } from './network.mjs';
import { isFirst, NAME, newId, newJwt, newUlid, outcome, refuse } from './ids.mjs';

const START_MS = Number(process.env.EMULATOR_CHANGE_MS ?? 150);
const SECOND_MS = Number(process.env.EMULATOR_SECOND_MS ?? 1000);
const SCHEDULE_MS = Number(process.env.EMULATOR_SCHEDULE_MS ?? 0); // until a sandbox has a task
export const KEY_LIFE_MS = 3600_000; // how long a key for the router is good
const PAGE = Number(process.env.EMULATOR_PAGE ?? 100);
const LONGEST_LIFE = 86400;

export class Sandboxes {
    all = new Map();
    tasks = new Map(); // task id -> sandbox
    made = 0;
    keyMs = Number(process.env.EMULATOR_KEY_MS ?? KEY_LIFE_MS);

    constructor(origins) {
        this.origins = origins;
        this.url = null; // of the router
        this.edge = null; // port of the proxy in front of the ports of sandboxes
    }

    // ---- making

    #check(definition, tags) {
        const { timeout_secs: life, workdir, name, resources, network_access: network } = definition;
        if (!(life >= 1 && life <= LONGEST_LIFE)) throw refuse.invalid(`timeout_secs: 1 to ${LONGEST_LIFE}`);
        if (workdir && !workdir.startsWith('/')) throw refuse.invalid('workdir must be absolute');
        if (name && !NAME.test(name)) throw refuse.invalid(`the name ${name} is not allowed`);
        if (!resources) throw refuse.invalid('resources are missing');
        checkNetwork(network);
        for (const { tag_name: key, tag_value: value } of tags) {
            if (![key, value].every((text) => /^[A-Za-z0-9._-]{1,63}$/.test(text))) throw refuse.invalid(`the tag ${key}=${value} is not allowed`);
        }
    }

    create({ app_id: app, definition, tags }, first, variables) {
        if (!definition) throw refuse.invalid('definition is missing');
        if (![...this.origins.apps.values()].includes(app)) throw refuse.notFound(`App ${app} not found`);
        this.#check(definition, tags);
        const image = this.origins.built(definition.image_id);
        const name = definition.name ?? '';
        if (name && this.#named(name, app)) throw refuse.exists(`a sandbox named ${name} exists`);
        if (!first && definition.resources.gpu_config?.gpu_type) throw refuse.invalid('no GPU here');
        const sandbox = {
            id: first ? newId('sb') : newUlid('sb'), first, app, name, tags, definition, image, variables, execs: new Map(), keys: new Map(),
            host: randomBytes(8).toString('hex'), tokens: new Map(),
            created: Date.now() / 1000 + this.made++ / 1e6, started: 0, task: null, result: null, ended: Promise.withResolvers?.() ?? withResolvers(),
        };
        this.all.set(sandbox.id, sandbox);
        sandbox.booting = this.#boot(sandbox);
        if (SCHEDULE_MS === 0) this.#schedule(sandbox);
        else setTimeout(() => this.#schedule(sandbox), SCHEDULE_MS);
        return sandbox;
    }

    #schedule(sandbox) {
        if (sandbox.result) return;
        sandbox.task = sandbox.first ? newId('ta') : `${newUlid('ta')}V`;
        this.tasks.set(sandbox.task, sandbox);
    }

    async #boot(sandbox) {
        const { workdir, timeout_secs: life, idle_timeout_secs: idle } = sandbox.definition;
        const from = sandbox.image.snapshot;
        const [box] = await Promise.all([createBox({ user: 'root', home: '/root', name: 'modal', environment: { HOME: '/root', ...sandbox.variables }, ...(from ? { from } : {}) }),
            pause(START_MS + SCHEDULE_MS)]);
        box.wall = wall(sandbox.definition.network_access);
        sandbox.box = box;
        sandbox.cwd = workdir || '/root';
        await box.mkdir(sandbox.cwd, { parents: true }).catch(() => {});
        if (sandbox.image.recipe?.includes('crash')) this.end(sandbox, outcome.INIT_FAILURE, 'the entrypoint could not be started');
        if (sandbox.result) {
            await box.destroy();
            return;
        }
        sandbox.started = Date.now() / 1000;
        sandbox.used = Date.now();
        sandbox.timers = [setTimeout(() => this.end(sandbox, outcome.TIMEOUT), life * SECOND_MS)];
        if (idle) {
            sandbox.timers.push(setInterval(() => {
                const busy = [...sandbox.execs.values()].some((exec) => exec.running);
                if (busy) sandbox.used = Date.now();
                if (Date.now() - sandbox.used >= idle * SECOND_MS) this.end(sandbox, outcome.IDLE_TIMEOUT);
            }, 50));
        }
    }

    end(sandbox, status, exception = '') {
        if (sandbox.result) return;
        sandbox.result = { status, exception, exitcode: 0 };
        for (const timer of sandbox.timers ?? []) clearInterval(timer);
        sandbox.ended.resolve();
        for (const exec of sandbox.execs.values()) exec.abort();
        sandbox.booting.then(() => sandbox.box.destroy()).catch(() => {});
    }

    // ---- finding

    #named(name, app) {
        return [...this.all.values()].find((one) => one.name === name && one.app === app && !one.result);
    }

    find(id, first) {
        const sandbox = this.all.get(id);
        if (!sandbox || (first !== undefined && sandbox.first !== first)) throw refuse.notFound(`Sandbox ${id} not found`);
        return sandbox;
    }

    byName({ sandbox_name: name, environment_name: environment, app_name: app }, first) {
        const sandbox = this.#named(name, this.origins.appNamed(app, environment));
        if (!sandbox || sandbox.first !== first) throw refuse.notFound(`Sandbox '${name}' not found`);
        return { sandbox_id: sandbox.id };
    }

    access(sandbox) {
        if (sandbox.result || !sandbox.task) throw refuse.precondition('the task has no command router');
        const jwt = newJwt({ task_id: sandbox.task }, this.keyMs);
        sandbox.keys.set(jwt, Date.now() + this.keyMs);
        return { jwt, url: this.url };
    }

    /** Lets in to one port, whichever. */
    connect({ sandbox_id: id, port = 8080 }, first) {
        const sandbox = this.find(id, first);
        if (sandbox.result || !sandbox.task) throw refuse.precondition('the sandbox does not run');
        if (port < 1 || port > 65535) throw refuse.invalid('port: 1 to 65535');
        const token = randomBytes(24).toString('base64url');
        sandbox.tokens.set(token, port);
        return { url: `http://${sandbox.host}.localhost:${this.edge}`, token };
    }

    /** The proxy in front of the ports: the token says which one. */
    async admit(label, headers) {
        const sandbox = this.live().find((one) => one.host === label);
        if (!sandbox) return null;
        const port = sandbox.tokens.get(headers.authorization?.replace(/^Bearer /, ''));
        if (!port) return { status: 401, text: 'the token is missing or wrong' };
        await sandbox.booting;
        return { box: sandbox.box, port };
    }

    live() {
        return [...this.all.values()].filter((one) => !one.result);
    }

    list({ app_id: app, before_timestamp: before, tags, include_finished: finished }, first) {
        return {
            sandboxes: [...this.all.values()]
                .filter((one) => (finished || !one.result) && (!app || one.app === app) && (!first || one.first) && (!before || one.created < before))
                .filter((one) => tags.every((tag) => one.tags.some((own) => own.tag_name === tag.tag_name && own.tag_value === tag.tag_value)))
                .sort((a, b) => b.created - a.created)
                .slice(0, PAGE)
                .map((one) => ({
                    id: one.id, created_at: one.created, app_id: one.app, tags: one.tags, name: one.name, image_id: one.image.id, timeout_secs: one.definition.timeout_secs,
                    task_info: { id: one.task ?? '', started_at: one.started, ...(one.result ? { result: one.result } : {}) },
                })),
        };
    }

    async wait({ sandbox_id: id, timeout }, first) {
        const sandbox = this.find(id, first);
        if (timeout > 0) await Promise.race([sandbox.ended.promise, pause(timeout * 1000, undefined, { ref: false })]);
        return sandbox.result ? { result: sandbox.result } : {};
    }
}

function withResolvers() {
    const made = {};
    made.promise = new Promise((resolve) => (made.resolve = resolve));
    return made;
}

/** The methods of one generation, whose names end alike. */
function generation(sandboxes, first) {
    const suffix = first ? '' : 'V2';
    return Object.fromEntries(Object.entries({
        SandboxGetTaskId: ({ sandbox_id: id }) => {
            const { task, result } = sandboxes.find(id, first);
            return { ...(task ? { task_id: task } : {}), ...(result ? { task_result: result } : {}) };
        },
        SandboxCreateConnectToken: (message) => sandboxes.connect(message, first),
        SandboxWait: (message) => sandboxes.wait(message, first),
        SandboxTerminate: ({ sandbox_id: id }) => {
            const sandbox = sandboxes.find(id, first);
            const before = sandbox.result;
            sandboxes.end(sandbox, outcome.TERMINATED);
            return before ? { existing_result: before } : {};
        },
        SandboxList: (message) => sandboxes.list(message, first),
        SandboxTagsGet: ({ sandbox_id: id }) => ({ tags: sandboxes.find(id, first).tags }),
        SandboxTagsSet: ({ sandbox_id: id, tags }) => {
            sandboxes.find(id, first).tags = tags;
            return {};
        },
        SandboxGetFromName: (message) => sandboxes.byName(message, first),
    }).map(([name, handler]) => [name + suffix, handler]));
}

export function sandboxHandlers(sandboxes) {
    const { origins } = sandboxes;
    const newer = {
        SandboxCreateV2: (message) => {
            const own = [message.ephemeral_secrets?.contents ?? {}, ...message.secret_sources.map((one) => (one.env ? one.env.contents : origins.variables([one.secret_id], [])))];
            const sandbox = sandboxes.create(message, false, origins.variables(message.definition?.secret_ids ?? [], own));
            return { sandbox_id: sandbox.id, ...(sandbox.task ? { task_id: sandbox.task, command_router_access: sandboxes.access(sandbox) } : {}) };
        },
        SandboxGetCommandRouterAccess: (message) => sandboxes.access(has(message, 'sandbox_id')
            ? sandboxes.find(message.sandbox_id) : sandboxes.tasks.get(message.task_id) ?? sandboxes.find(message.task_id)),
        ...generation(sandboxes, false),
    };
    return {
        SandboxCreate: (message) => ({ sandbox_id: sandboxes.create(message, true, origins.variables(message.definition?.secret_ids ?? [], [])).id }),
        TaskGetCommandRouterAccess: ({ task_id: id }) => sandboxes.access(sandboxes.tasks.get(id) ?? sandboxes.find(id)),
        ...generation(sandboxes, true),
        ...(process.env.EMULATOR_OLD ? {} : newer),
    };
}
