// An engine of containers, API 1.41, as dockerd 20.10 answers: of it what the provider and the official client use. Containers are
// boxes; an image is a name that is known. What dockerd is strict about, this is too. With PODMAN=1 it answers as Podman's
// service does where that differs in statuses; with EMULATOR_PASSES_OVER=A,B it takes these of HostConfig and keeps none, as a rootless
// Podman does without control groups of version 2; with EMULATOR_UNHELD=A,B it says of these that it cannot, and writes them down all the same,
// as a rootless dockerd does.

import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import tar from 'tar-stream';
import { createBox } from '../common/box.mjs';
import { createEmulator, HttpError } from '../common/server.mjs';
import { openTerminal } from '../common/terminal.mjs';

const podman = process.env.PODMAN === '1';
const passedOver = (process.env.EMULATOR_PASSES_OVER ?? '').split(',');
const unheld = (process.env.EMULATOR_UNHELD ?? '').split(',');
const VERSION = '1.41';
const containers = new Map();
const execs = new Map();
const volumes = new Map();
const images = new Map([['debian:stable', { box: null }], ['docker.io/library/debian:stable', { box: null }]]);
const hex = (bytes) => randomBytes(bytes).toString('hex');
const fail = (status, message, podmanStatus = status) => {
    throw new HttpError(podman ? podmanStatus : status, podman ? { cause: message, message, response: podmanStatus } : { message });
};

// ---- containers ------------------------------------------------------------------------------------------------------

function find(reference) {
    const found = [...containers.values()].filter((one) => one.id.startsWith(reference) || one.name === reference);
    if (found.length !== 1) fail(404, `No such container: ${reference}`);
    return found[0];
}

const labelsOf = (name) => images.get(name)?.labels ?? {};
const allLabels = ({ body, image }) => ({ ...image?.labels, ...body.Labels });

async function create(request) {
    if (request.headers['content-type'] !== 'application/json') fail(400, `Content-Type specified (${request.headers['content-type']}) must be 'application/json'`);
    const body = await request.json();
    const name = request.query.get('name') ?? `name-${hex(4)}`;
    if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/.test(name)) fail(400, `Invalid container name (${name})`, 500);
    if ([...containers.values()].some((one) => one.name === name)) fail(409, `Conflict. The container name "/${name}" is already in use`, 500);
    if (!images.has(body.Image)) fail(404, `No such image: ${body.Image}`);
    if ((body.HostConfig?.Memory ?? 6291456) < 6291456) fail(400, 'Minimum memory limit allowed is 6MB');
    for (const { Type, Source, VolumeOptions = {} } of body.HostConfig?.Mounts ?? []) if (Type === 'volume') ensureVolume(Source, VolumeOptions.Labels);
    const container = { id: hex(32), name, body, state: 'created', created: Date.now(), image: images.get(body.Image) };
    containers.set(container.id, container);
    return { status: 201, json: { Id: container.id, Warnings: [] } };
}

async function start(request) {
    const container = find(request.params.id);
    if (container.state === 'running') return { status: 304 };
    const folder = container.body.WorkingDir || '/';
    const mounts = mountsOf(container).map(({ Source, Destination, RW }) => ({ source: Source, target: Destination, readOnly: !RW }));
    container.box = await createBox({ user: 'root', name: 'docker', home: '/root', mounts, hostname: container.body.Hostname, ...(container.image.box && { from: container.image.box }) });
    if (container.body.HostConfig?.NetworkMode === 'none') container.box.wall = { allows: () => false };
    await container.box.mkdir(folder, { parents: true }).catch(() => {});
    if (!containers.has(container.id)) await container.box.destroy();
    container.state = 'running';
    return { status: 204 };
}

const inspect = ({ id, name, body, state, created }) => ({
    Id: id, Name: `/${name}`, Created: new Date(created).toISOString(), Image: 'sha256:0', Driver: 'emulator',
    State: { Status: state, Running: state === 'running' || state === 'paused', Paused: state === 'paused', OOMKilled: false, Pid: 1, ExitCode: 0, Error: '' },
    Config: { Image: body.Image, Labels: { ...labelsOf(body.Image), ...body.Labels }, User: body.User ?? '', WorkingDir: body.WorkingDir ?? '', Env: body.Env ?? [] },
    HostConfig: Object.fromEntries(Object.entries(body.HostConfig ?? {}).map(([key, value]) => [key, passedOver.includes(key) ? 0 : value])), NetworkSettings: { Ports: {} },
});

/** As dockerd shows them: what an init process runs is its child. */
function top(request) {
    const { id, state, body } = find(request.params.id);
    if (state !== 'running') fail(409, `Container ${id} is not running`, 500);
    const program = [...(body.Entrypoint ?? []), ...(body.Cmd ?? [])].join(' ');
    const commands = body.HostConfig?.Init ? [`/sbin/docker-init -- ${program}`, program] : [program];
    return { json: { Titles: ['UID', 'PID', 'PPID', 'C', 'STIME', 'TTY', 'TIME', 'CMD'],
        Processes: commands.map((command, index) => ['root', `${1000 + index}`, `${999 + index}`, '0', '12:00', '?', '00:00:00', command]) } };
}

function filtersOf(request) {
    const filters = JSON.parse(request.query.get('filters') ?? '{}');
    for (const values of Object.values(filters)) if (!Array.isArray(values)) fail(400, 'filters: arrays of strings are expected');
    return filters;
}

const hasLabels = (labels, wanted) => wanted.every((one) => {
    const [key, value] = one.split('=');
    return key in (labels ?? {}) && (value === undefined || labels[key] === value);
});

function list(request) {
    const { label = [], volume = [], ...others } = filtersOf(request);
    if (Object.keys(others).length) fail(400, `Invalid filter '${Object.keys(others)[0]}'`, 500);
    const has = (one) => hasLabels(allLabels(one), label) && (!volume.length || mountsOf(one).some(({ Name }) => volume.includes(Name)));
    const all = [...containers.values()].filter((one) => has(one) && (request.query.get('all') || one.state === 'running'));
    return { json: all.map((one) => ({ Id: one.id, Names: [`/${one.name}`], Image: one.body.Image, State: one.state, Status: one.state, Created: Math.floor(one.created / 1000),
        Labels: allLabels(one), Mounts: mountsOf(one) })) };
}

async function remove(request) {
    const container = find(request.params.id);
    if (container.state !== 'created' && !request.query.get('force')) fail(409, `You cannot remove a running container ${container.id}`, 500);
    containers.delete(container.id);
    await container.box?.destroy();
    return { status: 204 };
}

/** What differs from the image: the working directory, which the engine makes, unless it is one that images have. */
const changes = ({ body }) => ({ json: body.WorkingDir === '/workspace' ? [{ Path: '/etc', Kind: 0 }, { Path: '/workspace', Kind: 1 }] : null });

async function setPaused(request, paused) {
    const container = find(request.params.id);
    if (paused && container.state === 'paused') fail(409, `Container ${container.id} is already paused`, 500);
    if (paused && container.state !== 'running') fail(409, `Container ${container.id} is not running`, 500);
    if (!paused && container.state !== 'paused') fail(500, `Container ${container.id} is not paused`);
    await (paused ? container.box.freeze() : container.box.thaw());
    container.state = paused ? 'paused' : 'running';
    return { status: 204 };
}

// ---- volumes ---------------------------------------------------------------------------------------------------------

function ensureVolume(name, labels = {}) {
    if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/.test(name)) fail(400, `create ${name}: "${name}" includes invalid characters for a local volume name`, 500);
    if (!volumes.has(name)) {
        volumes.set(name, { Name: name, Driver: 'local', Scope: 'local', Options: null, Labels: labels, CreatedAt: new Date().toISOString(),
            Mountpoint: fs.mkdtempSync(path.join(os.tmpdir(), 'volume-')) });
    }
    return volumes.get(name);
}

const mountsOf = ({ body }) => (body.HostConfig?.Mounts ?? []).filter(({ Type }) => Type === 'volume').map(({ Source, Target, ReadOnly = false }) => (
    { Type: 'volume', Name: Source, Source: volumes.get(Source).Mountpoint, Destination: Target, Driver: 'local', Mode: 'z', RW: !ReadOnly, Propagation: '' }));

const usersOf = (name) => [...containers.values()].filter((one) => mountsOf(one).some(({ Name }) => Name === name));
const findVolume = (name) => volumes.get(name) ?? fail(404, `get ${name}: no such volume`);

async function createVolume(request) {
    const { Name = hex(32), Labels } = await request.json();
    return { status: 201, json: ensureVolume(Name, Labels) };
}

const listVolumes = (request) => ({ json: { Volumes: [...volumes.values()].filter(({ Labels }) => hasLabels(Labels, filtersOf(request).label ?? [])), Warnings: null } });

function removeVolume(request) {
    const { Name, Mountpoint } = findVolume(request.params.name);
    const users = usersOf(Name).map(({ id }) => id);
    if (users.length) fail(409, `remove ${Name}: volume is in use - [${users.join(', ')}]`);
    volumes.delete(Name);
    fs.rmSync(Mountpoint, { recursive: true, force: true });
    return { status: 204 };
}

function measure() {
    const bytes = (folder) => fs.readdirSync(folder, { recursive: true }).reduce((sum, name) => sum + fs.lstatSync(path.join(folder, name)).size, 0);
    return { json: { LayersSize: 0, Images: [], Containers: [], Volumes: [...volumes.values()].map((one) => ({ ...one, UsageData: { RefCount: usersOf(one.Name).length, Size: bytes(one.Mountpoint) } })) } };
}

// ---- commands --------------------------------------------------------------------------------------------------------

async function makeExec(request) {
    const container = find(request.params.id);
    const body = await request.json();
    if (!body.Cmd?.length) fail(400, 'No exec command specified', 500);
    if (container.state === 'paused') fail(409, `Container ${container.id} is paused, unpause the container before exec`);
    if (container.state !== 'running') fail(409, `Container ${container.id} is not running`, 500);
    const exec = { id: hex(32), container, body, running: false, code: null, size: { rows: 24, cols: 80 } };
    execs.set(exec.id, exec);
    return { status: 201, json: { Id: exec.id } };
}

function frame(stream, bytes) {
    const head = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
    head.writeUInt32BE(bytes.length, 4);
    return Buffer.concat([head, bytes]);
}

/** Runs EXEC; what it prints goes to WRITE, framed. */
async function run(exec, write, stdin = null) {
    const { body, container } = exec;
    if (exec.started) fail(409, `Error: Exec command ${exec.id} is already running`);
    exec.started = exec.running = true;
    const env = Object.fromEntries([...(container.body.Env ?? []), ...(body.Env ?? [])].map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
    const pass = (stream, bytes) => write(body.Tty ? bytes : frame(stream, bytes));
    const common = { argv: body.Cmd, cwd: body.WorkingDir || container.body.WorkingDir || '/', env };
    try {
        exec.job = body.Tty ? await openTerminal(container.box, { ...common, ...exec.size, onOutput: write })
            : await container.box.spawn({ ...common, stdin, onStdout: (bytes) => pass(1, bytes), onStderr: (bytes) => pass(2, bytes) });
        if (body.Tty) await exec.job.resize(exec.size); // which may have come meanwhile
        if (body.Tty) stdin?.on('data', (bytes) => exec.job.write(bytes));
        const { code, signal } = await exec.job.done;
        exec.code = signal ? 137 : code;
    } catch (problem) {
        if (!['ENOENT', 'ESTOPPED', 'EACCES'].includes(problem.code)) throw problem;
        pass(1, Buffer.from(`OCI runtime exec failed: ${problem.message}: executable file not found in $PATH\n`));
        exec.code = 126;
    }
    exec.running = false;
}

const findExec = (id) => execs.get(id) ?? fail(404, `No such exec instance: ${id}`);

async function startDetached(request) {
    const exec = findExec(request.params.id);
    if (!(await request.json()).Detach) { // without an upgrade the stream is the body of the answer
        const lines = new PassThrough();
        run(exec, (bytes) => void lines.write(bytes)).then(() => lines.end());
        return { headers: { 'content-type': 'application/vnd.docker.raw-stream' }, stream: lines };
    }
    run(exec, () => {});
    return { status: 200, body: '' };
}

async function startStream(request, accept) {
    const exec = findExec(request.params.id);
    const { Tty = false } = JSON.parse(request.content.toString() || '{}');
    if (Tty !== (exec.body.Tty ?? false)) fail(400, 'Tty differs');
    if (exec.started) fail(409, 'already running');
    const { write, end, socket } = accept();
    if (!exec.body.AttachStdin) socket.resume();
    await run(exec, write, exec.body.AttachStdin ? socket.pipe(new PassThrough()) : null); // what reads it to its end must not close the socket
    end();
}

async function resize(request) {
    const exec = findExec(request.params.id);
    exec.size = { rows: Number(request.query.get('h')), cols: Number(request.query.get('w')) };
    await exec.job?.resize?.(exec.size);
    return { status: podman ? 201 : 200, body: '' };
}

const showExec = (request) => {
    const { id, running, code, container, body } = findExec(request.params.id);
    return { json: { ID: id, Running: running, ExitCode: running ? null : code, Pid: 1, ContainerID: container.id, OpenStdin: body.AttachStdin ?? false } };
};

// ---- files -----------------------------------------------------------------------------------------------------------

async function putArchive(request) {
    const { box } = find(request.params.id);
    const folder = request.query.get('path');
    if (!folder) fail(400, "bad parameter: 'path' cannot be empty");
    const status = await box.stat(folder).catch(() => fail(404, `Could not find the file ${folder} in container`));
    if (!status) fail(404, `Could not find the file ${folder} in container`);
    const extract = tar.extract();
    request.stream.pipe(extract);
    for await (const entry of extract) {
        const { name, type, mode } = entry.header;
        if (name.startsWith('../')) fail(500, `${name} is outside of ${folder}`);
        if (type === 'file') await box.writeFile(`${folder}/${name}`, Readable.from(entry), { mode, parents: true });
        if (type === 'directory') await box.mkdir(`${folder}/${name}`, { parents: true });
        entry.resume();
    }
    return { status: 200, body: '' };
}

async function getArchive(request) {
    const { box } = find(request.params.id);
    const path = request.query.get('path');
    const { stream, size, status } = await box.readFile(path).catch(() => fail(404, `Could not find the file ${path} in container`));
    const pack = tar.pack();
    const entry = pack.entry({ name: path.slice(path.lastIndexOf('/') + 1), size, mode: status?.mode & 0o777 || 0o644 });
    stream.pipe(entry);
    entry.on('error', () => {}); // whoever asked has gone
    entry.on('finish', () => pack.finalize());
    const about = Buffer.from(JSON.stringify({ name: path, size, mode: 420, mtime: new Date().toISOString(), linkTarget: '' })).toString('base64');
    return { headers: { 'content-type': 'application/x-tar', 'x-docker-container-path-stat': about }, stream: pack };
}

// ---- images ----------------------------------------------------------------------------------------------------------

const known = (name) => images.get(name) ?? fail(404, `No such image: ${name}`);

async function pull(request) {
    const name = `${request.query.get('fromImage')}:${request.query.get('tag') ?? 'latest'}`;
    const said = request.headers['x-registry-auth'] && JSON.parse(Buffer.from(request.headers['x-registry-auth'], 'base64url').toString());
    const lines = [{ status: `Pulling from ${name}`, id: 'stable' }, { status: 'Downloading', progressDetail: { current: 1, total: 2 }, id: '15821dba738b' }];
    if (name.includes('private') && !said) fail(500, `Head "https://${name}": no basic auth credentials`);
    if (name.includes('limited')) lines.push({ errorDetail: { message: 'toomanyrequests: slow down' }, error: 'toomanyrequests: slow down' });
    else if (name.includes('private') && said?.password !== 'registry-secret-0123') lines.push({ errorDetail: { message: 'unauthorized: authentication required' }, error: 'unauthorized: authentication required' });
    else if (name.includes('nothing')) fail(404, 'manifest unknown');
    else images.set(name, { box: null });
    return { headers: { 'content-type': 'application/json' }, body: lines.map((line) => `${JSON.stringify(line)}\r\n`).join('') };
}

async function commit(request) {
    const container = find(request.query.get('container'));
    await request.json();
    const changed = (request.query.get('changes') ?? '').split('\n').filter(Boolean).map((line) => /^LABEL ([\w.-]+)=(.*)$/.exec(line) ?? fail(400, `unknown instruction: ${line}`));
    const labels = { ...allLabels(container), ...Object.fromEntries(changed.map(([, key, value]) => [key, value])) };
    images.set(`${request.query.get('repo')}:${request.query.get('tag')}`, { box: await container.box.snapshot(), labels, created: Date.now() });
    return { status: 201, json: { Id: `sha256:${hex(32)}` } };
}

function listImages(request) {
    const { reference } = filtersOf(request);
    const all = [...images].filter(([name]) => !reference || reference.some((one) => name === one || name.startsWith(`${one}:`)));
    return { json: all.map(([name, { created = 0 }]) => ({ Id: 'sha256:0', RepoTags: [name], Created: Math.floor(created / 1000) })) };
}

function removeImage(request) {
    known(request.params.name);
    images.delete(request.params.name);
    return { json: [{ Untagged: request.params.name }] };
}

// ---- the service -----------------------------------------------------------------------------------------------------

const headers = { 'api-version': VERSION, 'ostype': 'linux', ...(podman ? { 'libpod-api-version': '4.3.1', 'server': 'Libpod/4.3.1 (linux)' } : { server: 'Docker/20.10.24 (linux)' }) };
const routes = [
    ['GET', '/_ping', () => ({ headers, body: 'OK' })],
    ['HEAD', '/_ping', () => ({ headers, body: 'OK' })],
    ['GET', '/version', () => ({ json: { Version: '20.10.24', ApiVersion: VERSION, MinAPIVersion: '1.12', Components: [{ Name: podman ? 'Podman Engine' : 'Engine' }] } })],
    ['GET', '/info', () => ({ json: { MemoryLimit: !unheld.includes('MemoryLimit'), CpuCfsQuota: !unheld.includes('CpuCfsQuota'), PidsLimit: !unheld.includes('PidsLimit'), SecurityOptions: [] } })],
    ['POST', '/containers/create', create],
    ['GET', '/containers/json', list],
    ['GET', '/containers/:id/json', (request) => ({ json: inspect(find(request.params.id)) })],
    ['GET', '/containers/:id/top', top],
    ['GET', '/containers/:id/changes', (request) => changes(find(request.params.id))],
    ['POST', '/containers/:id/start', start],
    ['POST', '/containers/:id/pause', (request) => setPaused(request, true)],
    ['POST', '/containers/:id/unpause', (request) => setPaused(request, false)],
    ['DELETE', '/containers/:id', remove],
    ['POST', '/containers/:id/exec', makeExec],
    ['POST', '/exec/:id/start', startDetached],
    ['POST', '/exec/:id/resize', resize],
    ['GET', '/exec/:id/json', showExec],
    ['PUT', '/containers/:id/archive', putArchive],
    ['GET', '/containers/:id/archive', getArchive],
    ['POST', '/volumes/create', createVolume],
    ['GET', '/volumes', listVolumes],
    ['GET', '/volumes/:name', (request) => ({ json: findVolume(request.params.name) })],
    ['DELETE', '/volumes/:name', removeVolume],
    ['GET', '/system/df', measure],
    ['POST', '/images/create', pull],
    ['POST', '/commit', commit],
    ['GET', '/images/json', listImages],
    ['GET', '/images/*name/json', (request) => ({ json: known(request.params.name) && { Id: 'sha256:0', RepoTags: [request.params.name] } })],
    ['DELETE', '/images/*name', removeImage],
];

await createEmulator({
    name: 'docker',
    before: (request) => {
        const version = /^\/v1\.(\d+)\//.exec(request.path);
        if (!version) return;
        if (!podman && Number(version[1]) > 41) fail(400, `client version 1.${version[1]} is too new. Maximum supported API version is ${VERSION}`);
        request.path = request.path.slice(version[0].length - 1);
    },
    routes,
    stream: startStream,
    state: () => ({ sandboxes: [...containers.values()].map((one) => ({ ...one, id: one.id.slice(0, 12), whole: one.id, box: undefined, image: undefined })) }),
});
