// What the official client does, one operation per process. See ../README.md.
import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { Writable } from 'node:stream';
import { CoreV1Api, Exec, KubeConfig, Watch } from '@kubernetes/client-node';

const [operation, url, ...words] = process.argv.slice(2);
const namespace = 'default';
const config = new KubeConfig();
config.loadFromOptions({ clusters: [{ name: 'c', server: url, skipTLSVerify: true }], users: [{ name: 'u', token: 'sa-0123456789abcdefEMULATED' }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }], currentContext: 'x' });
const core = config.makeApiClient(CoreV1Api);
const keeper = 'trap "exit 0" TERM; while :; do sleep 3600 & wait; done';
const ignored = () => new Writable({ write: (_, __, done) => done() });

async function create() {
    const name = `bench-${randomUUID()}`;
    const labels = { 'app.kubernetes.io/managed-by': 'sandlot' };
    const pod = await core.createNamespacedPod({ namespace, body: { metadata: { name, labels }, spec: { restartPolicy: 'Never', securityContext: { runAsUser: 1000 },
        containers: [{ name: 'main', image: 'debian:12', workingDir: '/workspace', command: ['sh', '-c', keeper] }] } } });
    const { resourceVersion } = pod.metadata;
    await new Promise((resolve, reject) => {
        const watch = new Watch(config).watch(`/api/v1/namespaces/${namespace}/pods`, { fieldSelector: `metadata.name=${name}`, resourceVersion }, (_, seen) => {
            if (!seen.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return;
            resolve();
            watch.then((controller) => controller.abort());
        }, (failure) => failure && failure.name !== 'AbortError' && reject(failure));
    });
    return name;
}

function run(name, command, output = ignored(), input = null) {
    return new Promise((resolve, reject) => {
        new Exec(config).exec(namespace, name, 'main', command, output, ignored(), input, false,
            ({ status, message }) => (status === 'Success' ? resolve() : reject(new Error(message)))).catch(reject);
    });
}
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// As kubectl exec and cp do, in a pod that this process has not made.
async function runThere(name, ...more) {
    await core.readNamespacedPod({ namespace, name });
    return run(name, ...more);
}

const operations = {
    create: async () => console.log(await create()),
    exec: (name) => runThere(name, ['sh', '-c', 'echo done']),
    upload: (name, local, path) => runThere(name, ['sh', '-c', `mkdir -p "$(dirname ${quoted(path)})" && cat >${quoted(path)}`], ignored(), createReadStream(local)),
    download: async (name, path, local) => {
        const file = createWriteStream(local);
        await runThere(name, ['cat', path], file);
        await new Promise((resolve) => file.end(resolve));
    },
    cycle: async () => {
        const name = await create();
        await run(name, ['sh', '-c', 'echo done']);
        await core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 1 });
    },
    list: () => core.listNamespacedPod({ namespace, labelSelector: 'app.kubernetes.io/managed-by=sandlot' }),
    delete: (name) => core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 1 }),
};
await operations[operation](...words);
process.exit(0);
