// Kubernetes: an API server with pods that run, network policies, agent-sandbox, and rights that are held to.
//
// EMULATOR_AGENT_SANDBOX=N: agent-sandbox is installed, with a pool "sandlot" of N warm sandboxes. EMULATOR_TLS: a folder
// with ca.pem, server.pem and server.key, for a second port that speaks TLS and takes certificates of clients. Others:
// pods.mjs, policies.mjs, store.mjs, exec.mjs, rights.mjs.

import fs from 'node:fs';
import tls from 'node:tls';
import { createEmulator } from '../common/server.mjs';
import { choose, exec, terminals } from './exec.mjs';
import { checkChange, createPod, deletePod, ended, enforce, watchDeadline } from './pods.mjs';
import { createPolicy, replacePolicy } from './policies.mjs';
import { demand } from './rights.mjs';
import { Controllers } from './sandboxes.mjs';
import { refusal } from './status.mjs';
import { Resource } from './store.mjs';

const tokens = new Map([
    [process.env.EMULATOR_TOKEN ?? 'sa-0123456789abcdefEMULATED', { name: 'system:serviceaccount:default:sandlot' }],
    ['admin-0123456789abcdef', { name: 'admin', admin: true }],
]);
const warm = process.env.EMULATOR_AGENT_SANDBOX;
const EXEC_VERB = process.env.EMULATOR_EXEC_VERB ?? 'create'; // since 1.35; before, 'get'
const EXTENSIONS = { group: 'extensions.agents.x-k8s.io', version: 'v1beta1' };

const pods = new Resource({ plural: 'pods', kind: 'Pod', short: ['po'] });
const policies = new Resource({ group: 'networking.k8s.io', plural: 'networkpolicies', kind: 'NetworkPolicy', short: ['netpol'] });
const claims = new Resource({ ...EXTENSIONS, plural: 'sandboxclaims', kind: 'SandboxClaim' });
const pools = new Resource({ ...EXTENSIONS, plural: 'sandboxwarmpools', kind: 'SandboxWarmPool' });
const sandboxes = new Resource({ group: 'agents.x-k8s.io', version: 'v1beta1', plural: 'sandboxes', kind: 'Sandbox' });
const resources = [pods, policies, ...(warm === undefined ? [] : [claims, pools, sandboxes])];
enforce(policies);
const controllers = new Controllers({ pods, sandboxes, claims, pools });

function userOf(request) {
    const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    const certificate = request.socket.authorized && request.socket.getPeerCertificate?.().subject?.CN;
    if (certificate) return { name: certificate };
    const [, basic] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (basic && Buffer.from(basic, 'base64').toString() === 'somebody:pass word') return { name: 'somebody' };
    if (!request.headers.authorization) throw refusal('Forbidden', 'forbidden: User "system:anonymous" cannot do anything');
    const user = tokens.get(token);
    if (!user) throw refusal('Unauthorized', 'Unauthorized');
    const other = request.headers['impersonate-user'];
    if (!other) return user;
    if (!user.admin) throw refusal('Forbidden', `users "${other}" is forbidden: User "${user.name}" cannot impersonate resource "users" in API group "" at the cluster scope`);
    return { name: other, groups: request.headers['impersonate-group'] };
}

function authorize(request, verb, resource, sub) {
    const user = userOf(request);
    seen.add(`${user.name}${user.groups ? ` ${user.groups}` : ''}`);
    if (!user.admin) demand(user.name, verb, resource.group, sub ? `${resource.plural}/${sub}` : resource.plural, request.params.space);
}
const seen = new Set(); // who has asked

// ---- what is asked of objects

const adding = {
    Pod: (space, object) => createPod(pods, space, object),
    NetworkPolicy: (space, object) => createPolicy(policies, space, object),
    SandboxClaim: (space, object) => {
        controllers.checkClaim(object);
        const made = claims.create(space, object);
        controllers.addClaim(made);
        return made;
    },
};

async function create(resource, request) {
    authorize(request, 'create', resource);
    const object = await request.json(), { space } = request.params;
    if (space === 'nowhere') throw refusal('NotFound', `namespaces "${space}" not found`, { name: space, kind: 'namespaces' });
    if (object.kind && object.kind !== resource.kind) throw refusal('BadRequest', `${object.kind} in version "${object.apiVersion}" cannot be handled as a ${resource.kind}`);
    if (object.metadata?.namespace && object.metadata.namespace !== space) throw refusal('BadRequest', 'the namespace of the provided object does not match the namespace sent on the request');
    const made = (adding[resource.kind] ?? resource.create.bind(resource))(space, object);
    return { status: 201, json: visible(made) };
}

const visible = ({ owner, ...object }) => object;

function read(resource, request) {
    const { space } = request.params;
    const watching = ['1', 'true'].includes(request.query.get('watch'));
    authorize(request, watching ? 'watch' : 'list', resource);
    if (watching) return { stream: resource.watch(space, request.query, request.signal), headers: { 'content-type': 'application/json' } };
    return { json: resource.list(space, request.query) };
}

async function patch(resource, request) {
    authorize(request, 'patch', resource);
    if (request.headers['content-type'] !== 'application/merge-patch+json') throw refusal('UnsupportedMediaType', 'the body of the request was in an unknown format');
    const { space, name } = request.params;
    const wanted = await request.json();
    if (resource === pods) checkChange(pods.get(space, name), wanted);
    const object = resource.patch(space, name, wanted);
    if (resource === pods) watchDeadline(pods, object);
    if (resource === sandboxes) controllers.changedSandbox(object);
    if (resource === claims) controllers.changedClaim(object);
    return { json: visible(object) };
}

/** Only policies are ever replaced here. */
async function replace(resource, request) {
    authorize(request, 'update', resource);
    const { space, name } = request.params;
    if (resource !== policies) throw refusal('MethodNotAllowed', 'the server does not allow this method on the requested resource');
    return { json: visible(replacePolicy(policies, space, name, await request.json())) };
}

async function remove(resource, request) {
    authorize(request, 'delete', resource);
    const object = resource.get(request.params.space, request.params.name);
    const body = await request.body();
    const options = body.length > 0 ? JSON.parse(body.toString()) : {};
    if (options.preconditions?.uid && options.preconditions.uid !== object.metadata.uid) throw refusal('Conflict', 'the UID in the precondition does not match');
    const grace = options.gracePeriodSeconds ?? (request.query.has('gracePeriodSeconds') ? Number(request.query.get('gracePeriodSeconds')) : undefined);
    if (resource === pods) return { json: deletePod(pods, object, grace) };
    if (resource === claims) controllers.removeClaim(object);
    else resource.remove(object);
    return { json: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details: { name: object.metadata.name, uid: object.metadata.uid } } };
}

function routesOf(resource) {
    const root = `${resource.group ? `/apis/${resource.group}/${resource.version}` : '/api/v1'}/namespaces/:space/${resource.plural}`;
    return [
        ['POST', root, (request) => create(resource, request)],
        ['GET', root, (request) => read(resource, request)],
        ['GET', `${root}/:name`, (request) => {
            authorize(request, 'get', resource);
            return { json: visible(resource.get(request.params.space, request.params.name)) };
        }],
        ['PUT', `${root}/:name`, (request) => replace(resource, request)],
        ['PATCH', `${root}/:name`, (request) => patch(resource, request)],
        ['DELETE', `${root}/:name`, (request) => remove(resource, request)],
    ];
}

// ---- what clients ask before they do anything

const groups = [...new Set(resources.map(({ group }) => group))].filter(Boolean);
const versionsOf = (group) => [...new Set(resources.filter((one) => one.group === group).map(({ version }) => ({ groupVersion: `${group}/${version}`, version })).map((one) => JSON.stringify(one)))].map((one) => JSON.parse(one));
const described = (group) => ({ name: group, versions: versionsOf(group), preferredVersion: versionsOf(group)[0] });
const listed = (group, version) => ({ kind: 'APIResourceList', groupVersion: group ? `${group}/${version}` : version, resources: resources
    .filter((one) => one.group === group && one.version === version)
    .map(({ plural, kind, short }) => ({ name: plural, singularName: kind.toLowerCase(), namespaced: true, kind, shortNames: short, verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'] })) });
const discovery = [
    ['GET', '/version', () => ({ json: { major: '1', minor: '35', gitVersion: 'v1.35.0' } })],
    ['GET', '/api', () => ({ json: { kind: 'APIVersions', versions: ['v1'] } })],
    ['GET', '/api/v1', () => ({ json: listed('', 'v1') })],
    ['GET', '/apis', () => ({ json: { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(described) } })],
    ['GET', '/apis/:group', ({ params }) => ({ json: { kind: 'APIGroup', apiVersion: 'v1', ...described(params.group) } })],
    ['GET', '/apis/:group/:version', ({ params }) => ({ json: listed(params.group, params.version) })],
];

/** For tests: a pod is lost with its node. */
const evict = ['POST', '/api/v1/namespaces/:space/pods/:name/eviction', async (request) => {
    authorize(request, 'create', pods, 'eviction');
    await ended(pods, pods.get(request.params.space, request.params.name), { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' });
    return { status: 201, json: { kind: 'Status', apiVersion: 'v1', status: 'Success' } };
}];

let secure = null;
if (warm !== undefined) controllers.addPool('default', 'sandlot', Number(warm));

const liveIds = () => {
    const own = [...pods.objects.values()].filter(({ metadata }) => !metadata.deletionTimestamp && !metadata.labels?.['agents.x-k8s.io/sandbox']);
    return [...own.map(({ metadata }) => ({ id: metadata.name, labels: metadata.labels, pod: visible(pods.get(metadata.namespace, metadata.name)) })),
        ...[...claims.objects.values()].map((claim) => ({ id: `sandboxclaim/${claim.metadata.name}`, labels: claim.metadata.labels, claim }))];
};

const { server } = await createEmulator({
    name: 'kubernetes',
    protocols: choose,
    routes: [...resources.flatMap(routesOf), evict, ...discovery],
    upgrade: async (request, accept) => {
        const [, space, name] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/exec$/.exec(request.path) ?? [];
        if (!name) throw refusal('NotFound', 'the server could not find the requested resource');
        request.params = { space, name };
        authorize(request, EXEC_VERB, pods, 'exec');
        await exec(pods.get(space, decodeURIComponent(name)), request, accept);
    },
    state: () => ({ sandboxes: liveIds(), policies: [...policies.objects.values()], boxes: [...sandboxes.objects.values()].map(visible),
        pods: [...pods.objects.values()], users: [...seen], terminals, tls_port: secure?.address().port }),
});

if (process.env.EMULATOR_TLS) {
    const file = (name) => fs.readFileSync(`${process.env.EMULATOR_TLS}/${name}`);
    secure = tls.createServer({ ca: file('ca.pem'), cert: file('server.pem'), key: file('server.key'), requestCert: true,
        rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }, (socket) => server.emit('connection', socket));
    secure.on('tlsClientError', () => {});
    await new Promise((resolve) => secure.listen(0, '127.0.0.1', resolve));
    secure.unref();
}
