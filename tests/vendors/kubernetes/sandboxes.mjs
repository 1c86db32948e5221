// The controllers of agent-sandbox: warm pools keep sandboxes ready, claims adopt one of them or have one made, and each
// sandbox has a pod, whose name need not be its own.

import { randomBytes } from 'node:crypto';
import { createPod, deletePod, suspended } from './pods.mjs';
import { invalid } from './status.mjs';

const TEMPLATE = { spec: { podTemplate: { spec: { containers: [{ name: 'main', image: 'python', workingDir: '/workspace', command: ['sleep', '1000000'] }], securityContext: { runAsUser: 1000 } } } } };
const POD_NAME = 'agents.x-k8s.io/pod-name', LAUNCH = 'agents.x-k8s.io/launch-type';
const suffix = () => randomBytes(3).toString('hex');
const now = () => new Date().toISOString().replace(/\.\d+/, '');

export class Controllers {
    #timers = new Map(); // uid of a claim -> its end

    constructor({ pods, sandboxes, claims, pools }) {
        Object.assign(this, { pods, sandboxes, claims, pools });
    }

    #condition(object, type, status, reason) {
        const others = (object.status.conditions ?? []).filter((one) => one.type !== type);
        object.status.conditions = [...others, { type, status, reason, message: reason, observedGeneration: object.metadata.generation, lastTransitionTime: now() }];
    }

    // ---- sandboxes: one pod each

    #makeSandbox(space, name, { owner, podName, labels = {} }) {
        const sandbox = this.sandboxes.create(space, {
            metadata: { name, labels, annotations: podName ? { [POD_NAME]: podName } : {} },
            spec: { operatingMode: 'Running', podTemplate: TEMPLATE.spec.podTemplate }, status: { conditions: [] } });
        sandbox.owner = owner;
        this.#makePod(sandbox, podName ?? name);
        return sandbox;
    }

    #makePod(sandbox, name) {
        const { namespace } = sandbox.metadata;
        const claim = process.env.EMULATOR_CLAIM && { volumes: [{ name: 'work', persistentVolumeClaim: { claimName: `work-${sandbox.metadata.name}` } }] };
        const spec = { ...structuredClone(sandbox.spec.podTemplate.spec), ...claim };
        const pod = createPod(this.pods, namespace, { metadata: { name, labels: { 'agents.x-k8s.io/sandbox': sandbox.metadata.name } }, spec });
        const look = setInterval(() => {
            if (pod.metadata.deletionTimestamp || !this.sandboxes.find(namespace, sandbox.metadata.name)) return clearInterval(look);
            if (!pod.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return;
            clearInterval(look);
            this.#condition(sandbox, 'Ready', 'True', 'DependenciesReady');
            if (sandbox.status.conditions.some(({ type }) => type === 'Suspended')) this.#condition(sandbox, 'Suspended', 'False', 'NotSuspended');
            this.sandboxes.changed(sandbox);
            this.#forward(sandbox);
            this.#serve();
        }, 10);
    }

    #podOf(sandbox) {
        return this.pods.find(sandbox.metadata.namespace, sandbox.metadata.annotations?.[POD_NAME] ?? sandbox.metadata.name);
    }

    #isReady(sandbox) {
        return sandbox.status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    }

    /** After PATCH: suspended or running. */
    changedSandbox(sandbox) {
        const pod = this.#podOf(sandbox);
        if (sandbox.spec.operatingMode === 'Suspended' && pod && !pod.metadata.deletionTimestamp) {
            this.#condition(sandbox, 'Ready', 'False', 'SandboxSuspended');
            this.#condition(sandbox, 'Suspended', 'False', 'PodTerminating');
            this.sandboxes.changed(sandbox);
            this.#forward(sandbox);
            suspended.add(pod);
            deletePod(this.pods, pod, 1);
            const look = setInterval(() => {
                if (this.#podOf(sandbox)) return;
                clearInterval(look);
                delete sandbox.metadata.annotations[POD_NAME];
                this.#condition(sandbox, 'Suspended', 'True', 'PodTerminated');
                this.sandboxes.changed(sandbox);
            }, 10);
        } else if (sandbox.spec.operatingMode === 'Running' && !pod) {
            this.#makePod(sandbox, sandbox.metadata.name); // under its own name, whatever the first was called
        }
    }

    #removeSandbox(sandbox) {
        const pod = this.#podOf(sandbox);
        if (pod) deletePod(this.pods, pod, 1);
        this.sandboxes.remove(sandbox);
    }

    // ---- pools

    addPool(space, name, replicas) {
        const pool = this.pools.create(space, { metadata: { name }, spec: { replicas, sandboxTemplateRef: { name: 'plain' } }, status: {} });
        this.#fill(pool);
    }

    #fill(pool) {
        const own = [...this.sandboxes.objects.values()].filter(({ owner }) => owner === pool.metadata.uid);
        for (let count = own.length; count < pool.spec.replicas; count++) {
            const name = `${pool.metadata.name}-${suffix()}`;
            // Some sandboxes of a pool have pods with names of their own, which they keep.
            this.#makeSandbox(pool.metadata.namespace, name, { owner: pool.metadata.uid, podName: count % 8 === 1 ? `${name}-pod` : undefined });
        }
    }

    // ---- claims

    checkClaim(claim) {
        if (!claim.spec?.warmPoolRef?.name) throw invalid('SandboxClaim', claim.metadata?.name, 'spec.warmPoolRef.name', 'Required value');
    }

    addClaim(claim) {
        claim.status = { conditions: [] };
        this.#scheduleEnd(claim);
        setTimeout(() => this.#serve(), 0);
    }

    #scheduleEnd(claim) {
        clearTimeout(this.#timers.get(claim.metadata.uid));
        const end = Date.parse(claim.spec.lifecycle?.shutdownTime ?? '');
        if (Number.isNaN(end)) return;
        this.#timers.set(claim.metadata.uid, setTimeout(() => this.removeClaim(claim), Math.min(Math.max(end - Date.now(), 0), 2 ** 31 - 1)));
    }

    changedClaim(claim) {
        this.#scheduleEnd(claim);
    }

    removeClaim(claim) {
        clearTimeout(this.#timers.get(claim.metadata.uid));
        const box = claim.status.sandbox && this.sandboxes.find(claim.metadata.namespace, claim.status.sandbox.name);
        if (box) this.#removeSandbox(box);
        this.claims.remove(claim);
    }

    /** Gives every claim that waits what there is. */
    #serve() {
        for (const claim of this.claims.objects.values()) if (!claim.status.sandbox || claim.status.cold) this.#serveOne(claim);
    }

    #serveOne(claim) {
        const { namespace, name } = claim.metadata;
        const pool = this.pools.find(namespace, claim.spec.warmPoolRef.name);
        if (!pool) {
            this.#tellClaim(claim, 'False', 'WarmPoolNotFound');
            return;
        }
        const made = claim.status.cold && this.sandboxes.find(namespace, name);
        const warm = [...this.sandboxes.objects.values()].find((box) => box.owner === pool.metadata.uid && this.#isReady(box));
        if (made && this.#isReady(made)) this.#adopt(claim, made, 'cold');
        else if (!made && warm) this.#adopt(claim, warm, 'warm');
        else if (!made && pool.spec.replicas === 0) {
            claim.status.cold = true;
            this.#tellClaim(claim, 'False', 'SandboxNotReady');
            this.#makeSandbox(namespace, name, { owner: claim.metadata.uid });
        }
        if (warm) setTimeout(() => this.#fill(pool), 0);
    }

    #adopt(claim, box, launch) {
        box.owner = claim.metadata.uid;
        box.metadata.labels[LAUNCH] = launch;
        this.sandboxes.changed(box);
        claim.status = { conditions: claim.status.conditions, sandbox: { name: box.metadata.name, podIPs: ['10.1.2.3'] } };
        this.#tellClaim(claim, 'True', 'DependenciesReady');
    }

    /** What a Sandbox says of Ready, its claim says too. */
    #forward(sandbox) {
        const { status, reason } = sandbox.status.conditions.find(({ type }) => type === 'Ready');
        const claim = [...this.claims.objects.values()].find((one) => one.status.sandbox?.name === sandbox.metadata.name);
        if (claim) this.#tellClaim(claim, status, reason);
    }

    #tellClaim(claim, status, reason) {
        this.#condition(claim, 'Ready', status, reason);
        this.claims.changed(claim);
    }
}
