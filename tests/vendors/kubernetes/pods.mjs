// Pods: a box each, in which the container's command really runs.

import { createBox as createRealBox } from '../common/box.mjs';
import { createBareBox } from './bare.mjs';
import { collect, lets } from './policies.mjs';
import { invalid, refusal } from './status.mjs';
import { mergePatch } from './store.mjs';

const createBox = process.env.EMULATOR_BARE ? createBareBox : createRealBox;
const START_MS = Number(process.env.EMULATOR_START_MS ?? 0);
const QUOTA = Number(process.env.EMULATOR_QUOTA ?? Infinity);
const CLASSES = (process.env.EMULATOR_RUNTIME_CLASSES ?? 'gvisor,kata').split(',');
const QUANTITY = /^\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/;
const KNOWN = ['containers', 'volumes', 'restartPolicy', 'terminationGracePeriodSeconds', 'activeDeadlineSeconds', 'runtimeClassName',
    'automountServiceAccountToken', 'enableServiceLinks', 'securityContext', 'tolerations', 'nodeSelector', 'serviceAccountName',
    'imagePullSecrets', 'hostUsers', 'hostNetwork', 'dnsPolicy', 'priorityClassName'];
const KNOWN_OF_CONTAINER = ['name', 'image', 'command', 'args', 'env', 'workingDir', 'resources', 'securityContext', 'volumeMounts', 'imagePullPolicy'];

const boxes = new Map(); // uid -> {box, main, begun, timer}
const kept = new Map(); // name of a volume claim -> the files of the last pod that had it
export const suspended = new WeakSet(); // pods that go only for a while
const claimOf = (pod) => pod.spec.volumes?.find((volume) => volume.persistentVolumeClaim)?.persistentVolumeClaim.claimName;
const now = () => new Date().toISOString().replace(/\.\d+/, '');
const condition = (type, status, more = {}) => ({ type, status, lastTransitionTime: now(), ...more });

function checkDeadline(name, seconds) {
    if (seconds !== undefined && !(Number.isInteger(seconds) && seconds > 0 && seconds <= 2147483647)) throw invalid('Pod', name, 'spec.activeDeadlineSeconds', 'must be between 1 and 2147483647');
}

function check(pod) {
    const { name } = pod.metadata;
    const { spec } = pod;
    if (!Array.isArray(spec?.containers) || spec.containers.length === 0) throw invalid('Pod', name, 'spec.containers', 'Required value');
    for (const key of Object.keys(spec)) if (!KNOWN.includes(key)) throw refusal('BadRequest', `strict decoding error: unknown field "spec.${key}"`);
    const volumes = new Set((spec.volumes ?? []).map((volume) => volume.name));
    for (const container of spec.containers) {
        for (const key of Object.keys(container)) if (!KNOWN_OF_CONTAINER.includes(key)) throw refusal('BadRequest', `strict decoding error: unknown field "spec.containers[0].${key}"`);
        if (typeof container.image !== 'string' || !container.image) throw invalid('Pod', name, 'spec.containers[0].image', 'Required value');
        for (const { name: variable, value } of container.env ?? []) {
            if (typeof variable !== 'string' || typeof value !== 'string') throw refusal('BadRequest', 'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field EnvVar.value of type string');
        }
        for (const kind of ['limits', 'requests']) {
            for (const [what, amount] of Object.entries(container.resources?.[kind] ?? {})) {
                if (!QUANTITY.test(amount)) throw refusal('BadRequest', `quantities must match the regular expression (${what}: ${amount})`);
            }
        }
        for (const mount of container.volumeMounts ?? []) if (!volumes.has(mount.name)) throw invalid('Pod', name, 'spec.containers[0].volumeMounts', `Not found: "${mount.name}"`);
    }
    checkDeadline(name, spec.activeDeadlineSeconds);
    if (spec.securityContext?.runAsNonRoot && spec.securityContext.runAsUser === 0) throw invalid('Pod', name, 'spec.securityContext', 'runAsUser breaks runAsNonRoot');
    if ((spec.serviceAccountName ?? 'default') !== 'default') throw refusal('Forbidden', `pods "${name}" is forbidden: error looking up service account default/${spec.serviceAccountName}: serviceaccount "${spec.serviceAccountName}" not found`);
    if (spec.priorityClassName) throw refusal('Forbidden', `pods "${name}" is forbidden: no PriorityClass with name ${spec.priorityClassName} was found`);
    if (spec.runtimeClassName && !CLASSES.includes(spec.runtimeClassName)) throw refusal('Forbidden', `pods "${name}" is forbidden: pod rejected: RuntimeClass "${spec.runtimeClassName}" not found`);
}

/** Before PATCH: of what a pod is to be, only its end may change, and only to an earlier one. */
export function checkChange(pod, patch) {
    const { name } = pod.metadata;
    const { activeDeadlineSeconds: wanted, ...others } = mergePatch(pod.spec, patch.spec ?? {});
    const { activeDeadlineSeconds: before, ...former } = pod.spec;
    checkDeadline(name, wanted);
    if (JSON.stringify(others) !== JSON.stringify(former)) throw invalid('Pod', name, 'spec', 'Forbidden: pod updates may not change fields other than `spec.containers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions)');
    if (before !== undefined && wanted === undefined) throw invalid('Pod', name, 'spec.activeDeadlineSeconds', 'must not update from a positive integer to nil value');
    if (before < wanted) throw invalid('Pod', name, 'spec.activeDeadlineSeconds', 'must be less than or equal to previous value');
}

/** POST: the pod is there at once, and runs after a while. */
export function createPod(pods, space, pod) {
    check(pod);
    if (pods.objects.size >= QUOTA) {
        throw refusal('Forbidden', `pods "${pod.metadata.name}" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=${pods.objects.size}, limited: pods=${QUOTA}`);
    }
    pod.spec = { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, dnsPolicy: 'ClusterFirst', ...pod.spec };
    pod.status = { phase: 'Pending', qosClass: 'Burstable' };
    const made = pods.create(space, pod);
    setTimeout(() => run(pods, made), START_MS);
    return made;
}

function waiting(pods, pod, reason, message) {
    pod.status.containerStatuses = [{ name: pod.spec.containers[0].name, ready: false, state: { waiting: { reason, message } } }];
    pods.changed(pod);
}

let policies = null;

/** The NetworkPolicies, which this cluster enforces. */
export function enforce(resource) {
    policies = resource;
}

async function run(pods, pod) {
    const [container] = pod.spec.containers;
    if (pod.metadata.deletionTimestamp) return;
    if (/unschedulable/.test(container.image)) {
        pod.status.conditions = [condition('PodScheduled', 'False', { reason: 'Unschedulable', message: '0/3 nodes are available: 3 Insufficient cpu.' })];
        pods.changed(pod);
        return;
    }
    pod.spec.nodeName = 'node-1';
    pod.status.conditions = [condition('PodScheduled', 'True'), condition('Ready', 'False')];
    waiting(pods, pod, 'ContainerCreating');
    if (/missing/.test(container.image)) {
        waiting(pods, pod, 'ErrImagePull', `failed to pull image "${container.image}": not found`);
        setTimeout(() => waiting(pods, pod, 'ImagePullBackOff', `Back-off pulling image "${container.image}"`), 300);
        return;
    }
    try {
        await start(pods, pod, container);
    } catch (failure) {
        if (!pod.metadata.deletionTimestamp && !['ESTOPPED', 'EIO'].includes(failure.code)) console.error(failure); // stopped, or never begun: the emulator ends
    }
}

async function start(pods, pod, container) {
    const environment = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value]));
    const home = container.workingDir ?? '/workspace';
    const box = await createBox({ from: kept.get(claimOf(pod)), home, user: pod.spec.securityContext?.runAsUser ? 'user' : 'root', environment: { HOME: home, ...environment }, hostname: pod.metadata.name.slice(0, 60) });
    box.wall = { allows: (place) => pod.spec.hostNetwork || lets(policies, pod, place) };
    if (pod.metadata.deletionTimestamp) return void box.destroy();
    const main = await box.spawn({ argv: [...(container.command ?? ['sh', '-c', 'sleep 1000000']), ...(container.args ?? [])] });
    const own = { box, main, begun: Date.now(), timer: null };
    boxes.set(pod.metadata.uid, own);
    Object.assign(pod.status, { phase: 'Running', podIP: '10.1.2.3', startTime: now() });
    pod.status.conditions = [condition('PodScheduled', 'True'), condition('Ready', 'True')];
    pod.status.containerStatuses = [{ name: container.name, ready: true, state: { running: { startedAt: now() } } }];
    pods.changed(pod);
    watchDeadline(pods, pod);
    main.done.then(({ code }) => ended(pods, pod, { phase: code === 0 ? 'Succeeded' : 'Failed' }), () => {});
}

/** Its end counts from when it began to run; to be called again when that was changed. */
export function watchDeadline(pods, pod) {
    const own = boxes.get(pod.metadata.uid);
    const seconds = pod.spec.activeDeadlineSeconds;
    if (!own || !seconds) return;
    clearTimeout(own.timer);
    const left = own.begun + seconds * 1000 - Date.now();
    own.timer = setTimeout(() => ended(pods, pod, { phase: 'Failed', reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' }),
        Math.min(Math.max(left, 0), 2 ** 31 - 1));
}

/** The containers have ended; the object stays. */
export async function ended(pods, pod, how) {
    if (pod.metadata.deletionTimestamp || ['Succeeded', 'Failed'].includes(pod.status.phase)) return;
    Object.assign(pod.status, how);
    pod.status.conditions = [condition('Ready', 'False', { reason: 'PodCompleted' })];
    pods.changed(pod);
    await release(pod);
}

async function release(pod) {
    const own = boxes.get(pod.metadata.uid);
    boxes.delete(pod.metadata.uid);
    clearTimeout(own?.timer);
    if (own && suspended.has(pod) && claimOf(pod)) kept.set(claimOf(pod), await own.box.snapshot());
    await own?.box.destroy();
}

function remove(pods, pod) {
    pods.remove(pod);
    collect(policies, pod);
}

/** DELETE: gone after its grace, or as soon as its processes are. */
export function deletePod(pods, pod, grace) {
    const seconds = grace ?? pod.spec.terminationGracePeriodSeconds;
    const own = boxes.get(pod.metadata.uid);
    if (pod.metadata.deletionTimestamp && seconds > 0) return pod;
    Object.assign(pod.metadata, { deletionTimestamp: now(), deletionGracePeriodSeconds: seconds });
    const answer = structuredClone(pod);
    if (seconds === 0 || !own) {
        remove(pods, pod);
        release(pod);
        return answer;
    }
    pods.changed(pod);
    own.main.kill('SIGTERM', false).catch(() => {});
    const late = new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    Promise.race([own.main.done.catch(() => {}), late]).then(() => release(pod)).then(() => remove(pods, pod));
    return answer;
}

export const boxOf = (pod) => boxes.get(pod.metadata.uid)?.box;
