// What a cluster has besides its API server, for api_server_test.sh: a scheduler, one node with its kubelet, the garbage collector
// and the controllers of agent-sandbox. All of them are the emulator's, on copies of a real server's objects: what the server
// tells is done here, and what becomes of it is written there.
//
// Its own port passes everything on to the server, as `kubectl proxy` does, with the log and the faults of an emulator between.
//
// CLUSTER_API: where the server is. CLUSTER_FOLDER: ca.pem, admin.pem, admin.key, server.pem, server.key. CLUSTER_NAMESPACE: the
// only one that it looks after. CLUSTER_WARM: how many sandboxes the pool "sandlot" keeps ready. CLUSTER_ETCD: where etcd is, to have
// it forget what watches and lists go on from, each once. EMULATOR_PROTOCOLS must say what kubelets speak: v4.channel.k8s.io.

import fs from 'node:fs';
import https from 'node:https';
import readline from 'node:readline';
import tls from 'node:tls';
import WebSocket from 'ws';
import { createEmulator, HttpError } from '../common/server.mjs';
import { choose, exec } from './exec.mjs';
import { createPod, deletePod, enforce } from './pods.mjs';
import { Controllers } from './sandboxes.mjs';
import { refusal } from './status.mjs';
import { Resource } from './store.mjs';

const { CLUSTER_API: API, CLUSTER_NAMESPACE: SPACE, CLUSTER_WARM: WARM, CLUSTER_ETCD: ETCD } = process.env;
const NODE = `node-of-${SPACE}`;
const MERGE = 'application/merge-patch+json';
const file = (name) => fs.readFileSync(`${process.env.CLUSTER_FOLDER}/${name}`);
const agent = new https.Agent({ keepAlive: true, ca: file('ca.pem'), cert: file('admin.pem'), key: file('admin.key') });

const open = (method, path, type = 'application/json', body = '') => new Promise((resolve, reject) => {
    const request = https.request(API + path, { method, agent, headers: { 'content-type': type, 'content-length': Buffer.byteLength(body) } }, resolve);
    request.on('error', reject).end(body);
});

/** What is not there any more needs nothing. */
async function ask(method, path, body, type) {
    const answer = await open(method, path, type, body && JSON.stringify(body));
    const text = Buffer.concat(await answer.toArray()).toString();
    if (answer.statusCode > 299 && answer.statusCode !== 404) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text);
}

/** The server's objects of a kind. COPY: what of one that changed there is taken over, and done. */
class Mirror extends Resource {
    #written = new Map(); // key -> the last that was written of it

    constructor({ adopt = () => {}, copy = () => {}, drop = () => {}, ...kind }) {
        super(kind);
        Object.assign(this, { adopt, copy, drop });
        this.root = `${this.group ? `/apis/${this.apiVersion}` : '/api/v1'}/namespaces/${SPACE}/${this.plural}`;
    }

    #write(object, work) {
        const { name } = object.metadata;
        const last = (this.#written.get(name) ?? Promise.resolve()).then(() => work(`${this.root}/${name}`)).catch(console.error);
        this.#written.set(name, last);
    }

    create(space, object) {
        const { uid, generation } = object.metadata, { apiVersion, kind } = this;
        const { name, labels, annotations } = object.metadata;
        const made = super.create(space, object);
        if (uid) Object.assign(made.metadata, { uid, generation });
        else this.#write(made, () => ask('POST', this.root, { apiVersion, kind, metadata: { name, labels, annotations }, spec: object.spec }));
        return made;
    }

    changed(object, spec) {
        super.changed(object, spec);
        const { qosClass, ...status } = structuredClone(object.status ?? {});
        const { nodeName } = object.spec, { labels, annotations } = structuredClone(object.metadata);
        this.#write(object, async (path) => {
            if (nodeName && !object.bound) await ask('POST', `${path}/binding`, { apiVersion: 'v1', kind: 'Binding', metadata: { name: object.metadata.name }, target: { kind: 'Node', name: NODE } });
            object.bound = Boolean(nodeName);
            if (this === sandboxes) await ask('PATCH', path, { metadata: { labels, annotations: { 'agents.x-k8s.io/pod-name': null, ...annotations } } }, MERGE);
            await ask('PATCH', `${path}/status`, { status }, MERGE);
        });
    }

    remove(object) {
        super.remove(object);
        this.#write(object, (path) => ask('DELETE', `${path}?gracePeriodSeconds=0`));
    }

    #take(type, real) {
        const { name, uid, generation, labels, annotations, ownerReferences } = real.metadata;
        const own = this.find(SPACE, name);
        if (type === 'DELETED') own && this.drop(own);
        else if (own) {
            own.metadata.generation = generation;
            this.copy(own, real);
        } else if (!real.metadata.deletionTimestamp && !this.seen.has(uid)) {
            this.adopt({ metadata: { name, uid, generation, labels, annotations, ownerReferences }, spec: real.spec, status: {} });
        }
        this.seen.add(uid);
    }
    seen = new Set();

    async follow() {
        for (;;) {
            const stream = await open('GET', `${this.root}?watch=1&resourceVersion=0`);
            for await (const line of readline.createInterface({ input: stream })) {
                const { type, object } = JSON.parse(line);
                if (object.metadata?.name) this.#take(type, object);
            }
        }
    }
}

// ---- what is done of what the server tells

const containers = (spec) => spec.containers.map(({ name, image, command, args, env, workingDir }) => ({ name, image, command, args, env, workingDir }));
const pods = new Mirror({ plural: 'pods', kind: 'Pod',
    adopt: ({ metadata, spec: { schedulerName, restartPolicy, terminationGracePeriodSeconds, activeDeadlineSeconds, securityContext, hostNetwork, ...spec } }) =>
        schedulerName === 'default-scheduler' && createPod(pods, SPACE, { metadata, spec: { containers: containers(spec), restartPolicy, terminationGracePeriodSeconds, activeDeadlineSeconds, securityContext, hostNetwork } }),
    copy: (own, { metadata }) => metadata.deletionTimestamp && !own.metadata.deletionTimestamp && deletePod(pods, own, metadata.deletionGracePeriodSeconds),
    drop: (own) => deletePod(pods, own, 0) });
const whole = { copy: (own, { spec }) => (own.spec = spec) };
const plain = (kind) => {
    const made = new Mirror({ ...whole, ...kind, adopt: (object) => Resource.prototype.create.call(made, SPACE, object), drop: (own) => Resource.prototype.remove.call(made, own) });
    return made;
};
const policies = plain({ group: 'networking.k8s.io', plural: 'networkpolicies', kind: 'NetworkPolicy' });
const EXTENSIONS = { group: 'extensions.agents.x-k8s.io', version: 'v1beta1' };
const pools = new Mirror({ ...EXTENSIONS, plural: 'sandboxwarmpools', kind: 'SandboxWarmPool' });
const claims = new Mirror({ ...EXTENSIONS, plural: 'sandboxclaims', kind: 'SandboxClaim',
    adopt: (object) => controllers.addClaim(claims.create(SPACE, object)),
    copy: (own, { spec }) => {
        own.spec = spec;
        controllers.changedClaim(own);
    },
    drop: (own) => controllers.removeClaim(own) });
const sandboxes = new Mirror({ group: 'agents.x-k8s.io', version: 'v1beta1', plural: 'sandboxes', kind: 'Sandbox',
    copy: (own, { spec }) => {
        if (own.spec.operatingMode === spec.operatingMode) return;
        own.spec.operatingMode = spec.operatingMode;
        controllers.changedSandbox(own);
    } });
enforce(policies);
const controllers = new Controllers({ pods, sandboxes, claims, pools });

// ---- what stands before the server

const anybody = new https.Agent({ keepAlive: true, ca: file('ca.pem') });
const forgotten = new Set();

async function compact() {
    const said = async (path, body) => (await fetch(`${ETCD}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) })).json();
    const { header: { revision } } = await said('range', { key: 'AA==' });
    await said('compaction', { revision });
}

/** What the server has forgotten is asked for, where that is wanted. */
async function older(path) {
    const what = /[?&]watch=1/.test(path) ? 'watch' : /[?&]continue=/.test(path) ? 'list' : null;
    if (!ETCD || !what || forgotten.has(what)) return path;
    forgotten.add(what);
    if (what === 'watch') return path.replace(/resourceVersion=\d+/, 'resourceVersion=1');
    await ask('PATCH', `/api/v1/nodes/${NODE}`, { metadata: { labels: { written: 'later' } } }, MERGE);
    await compact();
    return path;
}

const passed = ({ host, connection, ...headers }) => headers;

async function pass({ method, raw, signal }) {
    const path = await older(raw.url);
    const answer = await new Promise((resolve, reject) => {
        raw.pipe(https.request(API + path, { method, agent: anybody, headers: passed(raw.headers), signal }, resolve).on('error', reject));
    });
    const { 'transfer-encoding': chunked, connection, ...headers } = answer.headers;
    return { status: answer.statusCode, headers, stream: answer };
}

/** Message by message, each as it is. */
async function passSocket({ raw }, accept) {
    const { host, connection, upgrade, 'sec-websocket-key': key, 'sec-websocket-version': version, 'sec-websocket-protocol': offered, ...headers } = raw.headers;
    const real = new WebSocket(API.replace('https', 'wss') + raw.url, offered?.split(/, */), { ca: file('ca.pem'), headers, perMessageDeflate: false });
    const early = [];
    real.on('message', (bytes, binary) => early.push([bytes, binary]));
    await new Promise((resolve, reject) => real.on('open', resolve).on('error', reject).on('unexpected-response', async (request, answer) => {
        const text = Buffer.concat(await answer.toArray()).toString();
        reject(new HttpError(answer.statusCode, JSON.parse(text)));
    }));
    const own = await accept();
    const to = (socket) => (bytes, binary) => socket.readyState === socket.OPEN && socket.send(bytes, { binary });
    for (const one of early) to(own)(...one);
    real.removeAllListeners('message').on('message', to(own)).on('close', (code) => own.close(code >= 3000 || code === 1000 ? code : 1011)).on('error', () => own.terminate());
    own.on('message', to(real)).on('close', () => real.close());
}

// ---- the kubelet: what the server passes on

async function kubelet({ path, query, headers }, accept) {
    const [, space, name] = /^\/exec\/([^/]+)\/([^/]+)\//.exec(path);
    const pod = pods.find(space, name);
    if (!pod) throw refusal('NotFound', `pod does not exist: ${path}`);
    const names = { input: 'stdin', output: 'stdout', error: 'stderr' };
    await exec(pod, { headers, query: new URLSearchParams([...query].map(([key, value]) => [names[key] ?? key, value])) }, accept);
}

const live = () => [...[...pods.objects.values()].filter(({ metadata }) => !metadata.deletionTimestamp && !metadata.labels?.['agents.x-k8s.io/sandbox']).map(({ metadata }) => metadata.name),
    ...[...claims.objects.values()].map(({ metadata }) => `sandboxclaim/${metadata.name}`)];

const { server } = await createEmulator({
    name: 'cluster',
    protocols: choose,
    routes: [],
    before: (request) => request.headers.upgrade ? undefined : pass(request),
    upgrade: (request, accept) => (request.path.startsWith('/exec/') ? kubelet : passSocket)(request, accept),
    state: () => ({ sandboxes: live().map((id) => ({ id })), policies: [...policies.objects.values()], boxes: [...sandboxes.objects.values()], claims: [...claims.objects.values()] }),
});
const secure = tls.createServer({ cert: file('server.pem'), key: file('server.key'), ALPNProtocols: ['http/1.1'] }, (socket) => server.emit('connection', socket));
await new Promise((resolve) => secure.listen(0, '127.0.0.1', resolve));
secure.unref();
await ask('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } });
await ask('PATCH', `/api/v1/nodes/${NODE}/status`, { status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: secure.address().port } } } }, MERGE);
for (const kind of [pods, policies, ...(WARM === undefined ? [] : [pools, claims, sandboxes])]) kind.follow().catch(() => {}); // it ends with the server
if (WARM !== undefined) controllers.addPool(SPACE, 'sandlot', Number(WARM));
