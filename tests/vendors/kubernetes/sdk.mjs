// @kubernetes/client-node, the official client: what it makes of the emulator, so that the emulator may be believed.

import { PassThrough, Readable, Writable } from 'node:stream';
import { CoreV1Api, CustomObjectsApi, Exec, KubeConfig, NetworkingV1Api, Watch } from '@kubernetes/client-node';
import { counted, finish, refused, same, test } from '../common/cases.mjs';

const [, , url] = process.argv;

function configured(token) {
    const config = new KubeConfig();
    config.loadFromOptions({
        clusters: [{ name: 'c', server: url, skipTLSVerify: true }], users: [{ name: 'u', token }],
        contexts: [{ name: 'x', cluster: 'c', user: 'u' }], currentContext: 'x',
    });
    return config;
}

const config = configured('sa-0123456789abcdefEMULATED');
const core = config.makeApiClient(CoreV1Api);
const namespace = 'default';
const body = (name, more = {}) => ({ metadata: { name, labels: { app: 'sdk' } }, spec: { restartPolicy: 'Never',
    containers: [{ name: 'main', image: 'debian:12', command: ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1000 & wait; done'] }], ...more } });

/** Watches until the pod is ready. */
function ready(name, resourceVersion) {
    return new Promise((resolve, reject) => {
        const watch = new Watch(config).watch(`/api/v1/namespaces/${namespace}/pods`, { fieldSelector: `metadata.name=${name}`, resourceVersion },
            (type, pod) => {
                if (!pod.status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True')) return;
                resolve(pod);
                watch.then((controller) => controller.abort());
            }, (failure) => failure && reject(failure));
    });
}

function run(name, command, { stdin = null, tty = false } = {}) {
    const out = [], err = [];
    const into = (list) => new Writable({ write: (piece, _, done) => { list.push(piece); done(); } });
    return new Promise((resolve, reject) => {
        new Exec(config).exec(namespace, name, 'main', command, into(out), into(err), stdin, tty,
            (status) => resolve({ status, out: Buffer.concat(out), err: Buffer.concat(err).toString() })).then(
            (socket) => socket.on('error', reject), reject);
    });
}
const code = ({ status }) => (status.status === 'Success' ? 0 : Number(status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message));

let made;
await counted(url, 'create', () => test('a pod is created, and watched until it is ready', async () => {
    made = await core.createNamespacedPod({ namespace, body: body('sdk-1') });
    same(made.status.phase, 'Pending');
    same((await ready('sdk-1', made.metadata.resourceVersion)).status.phase, 'Running');
}));
await test('its name is taken', () => refused(() => core.createNamespacedPod({ namespace, body: body('sdk-1') }), ({ code: status, body: said }) => status === 409 && JSON.parse(said).reason === 'AlreadyExists'));
await counted(url, 'exec', () => test('a command: output, error, exit code', async () => {
    const result = await run('sdk-1', ['sh', '-c', 'echo out; echo err >&2; exit 7']);
    same([code(result), result.out.toString(), result.err], [7, 'out\n', 'err\n']);
}));
await test('success', async () => same(code(await run('sdk-1', ['true'])), 0));
await test('bytes in, half-closed, and out again', async () => {
    const bytes = Buffer.from(Array.from({ length: 300000 }, (_, at) => at * 7 % 256));
    const input = new PassThrough();
    const result = run('sdk-1', ['cat'], { stdin: input });
    input.end(bytes);
    const { out, status } = await result;
    same([status.status, out.equals(bytes)], ['Success', true]);
});
await test('a terminal', async () => {
    const { out } = await run('sdk-1', ['sh', '-c', 'test -t 1 && echo terminal'], { tty: true, stdin: Readable.from([]) });
    same(out.toString().includes('terminal\r\n'), true);
});
await test('a missing program has no exit code', async () => {
    const { status } = await run('sdk-1', ['no-such-program']);
    same([status.reason, status.code], ['InternalError', 500]);
});
await test('a missing pod', () => refused(() => run('sdk-none', ['true']), (problem) => /404/.test(problem.message ?? problem.error?.message ?? '')));
await test('pages', async () => {
    for (const name of ['sdk-2', 'sdk-3']) await core.createNamespacedPod({ namespace, body: body(name) });
    const first = await core.listNamespacedPod({ namespace, labelSelector: 'app=sdk', limit: 2 });
    const second = await core.listNamespacedPod({ namespace, labelSelector: 'app=sdk', limit: 2, _continue: first.metadata._continue });
    same([...first.items, ...second.items].map(({ metadata }) => metadata.name), ['sdk-1', 'sdk-2', 'sdk-3']);
    same(second.metadata._continue, undefined);
});
await test('a policy', async () => {
    const policies = config.makeApiClient(NetworkingV1Api);
    await policies.createNamespacedNetworkPolicy({ namespace, body: { metadata: { name: 'sdk' }, spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'] } } });
    same((await policies.readNamespacedNetworkPolicy({ namespace, name: 'sdk' })).spec.policyTypes, ['Ingress', 'Egress']);
    const { metadata } = await policies.replaceNamespacedNetworkPolicy({ namespace, name: 'sdk', body: { metadata: { name: 'sdk' }, spec: { podSelector: {}, policyTypes: ['Egress'] } } });
    same((await policies.readNamespacedNetworkPolicy({ namespace, name: 'sdk' })).spec.policyTypes, ['Egress']);
    const late = { metadata: { name: 'sdk', resourceVersion: '1' }, spec: { podSelector: {} } };
    await refused(() => policies.replaceNamespacedNetworkPolicy({ namespace, name: 'sdk', body: late }), ({ code: status }) => status === 409);
    await refused(() => policies.replaceNamespacedNetworkPolicy({ namespace, name: 'other', body: { ...late, metadata: { name: 'other', uid: metadata.uid } } }), ({ code: status }) => status === 404);
});
await test('deleting', async () => {
    for (const name of ['sdk-1', 'sdk-2', 'sdk-3']) same(typeof (await core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 })).metadata.deletionTimestamp, 'object');
    await refused(() => core.readNamespacedPod({ namespace, name: 'sdk-1' }), ({ code: status }) => status === 404);
});
await test('all pods at once: not granted', () => refused(() => core.deleteCollectionNamespacedPod({ namespace }), ({ code: status }) => status === 403 || status === 405));
await test('a name that is none', () => refused(() => core.createNamespacedPod({ namespace: 'default', body: { metadata: { name: 'Bad_Name' }, spec: body('x').spec } }), ({ code: status }) => status === 422));
await test('a stranger', () => refused(() => configured('sa-stranger').makeApiClient(CoreV1Api).listNamespacedPod({ namespace }), ({ code: status }) => status === 401));
await test('agent-sandbox is not installed', () => refused(() => config.makeApiClient(CustomObjectsApi).listNamespacedCustomObject({ group: 'extensions.agents.x-k8s.io', version: 'v1beta1', namespace, plural: 'sandboxclaims' }), ({ code: status }) => status === 404));
finish();
