// The emulator against the client that most programs use, dockerode; its URL is the first argument. With a real engine's socket
// (unix:///path) and an image as the second, the same cases prove that the emulator answers as engines do.
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import Docker from 'dockerode';
import tar from 'tar-stream';
import { callCases, finish, refused, same, test } from '../common/cases.mjs';

const address = new URL(process.argv[2]);
const image = process.argv[3] ?? 'debian:stable';
const docker = address.protocol === 'unix:' ? new Docker({ socketPath: address.pathname, version: 'v1.41' })
    : new Docker({ protocol: 'http', host: address.hostname, port: address.port, version: 'v1.41' });
const name = `sandlot-sdk-${process.pid}`;
const labels = { 'sandlot-run': name };
callCases('dockerode');

const volume = `${name}-volume`;
let container;
let user;
const gone = (problem) => problem.statusCode === 404;
const refusal = (problem) => problem.statusCode === 409 || problem.statusCode === 500;

async function run(options, input = null) {
    const exec = await container.exec({ AttachStdout: true, AttachStderr: true, AttachStdin: input !== null, ...options });
    const stream = await exec.start({ hijack: true, stdin: input !== null, Tty: options.Tty ?? false });
    const [out, err] = [new PassThrough(), new PassThrough()];
    if (options.Tty) stream.pipe(out);
    else docker.modem.demuxStream(stream, out, err);
    stream.on('end', () => [out, err].forEach((one) => one.end()));
    if (input !== null) stream.end(input);
    const [stdout, stderr] = await Promise.all([text(out), text(err)]);
    let state;
    do state = await exec.inspect(); while (state.Running);
    return { stdout, stderr, code: state.ExitCode };
}

function archiveOf(file, content) {
    const pack = tar.pack();
    pack.entry({ name: file, mode: 0o640 }, content);
    pack.finalize();
    return pack;
}

async function fileOf(path) {
    const extract = tar.extract();
    (await container.getArchive({ path })).pipe(extract);
    for await (const entry of extract) return { name: entry.header.name, content: await text(entry) };
}

await test('it answers', async () => same((await docker.ping()).toString(), 'OK'));
await test('it has a version', async () => (await docker.version()).ApiVersion.startsWith('1.'));
await test('an unknown image', () => refused(() => docker.createContainer({ Image: 'localhost/nothing:here' }), gone));
await test('create', async () => {
    container = await docker.createContainer({ name, Image: image, Entrypoint: ['sleep'], Cmd: ['1000'], WorkingDir: '/workspace', Labels: labels, HostConfig: { NetworkMode: 'none', AutoRemove: true } });
    return container.id.length === 64;
});
await test('the name is taken', () => refused(() => docker.createContainer({ name, Image: image, Cmd: ['true'] }), refusal));
await test('no command before it runs', () => refused(() => container.exec({ Cmd: ['true'] }), refusal));
await test('start', () => container.start());
await test('start again', () => refused(() => container.start(), (problem) => problem.statusCode === 304));
await test('inspect by name', async () => {
    const { Id, State, Config } = await docker.getContainer(name).inspect();
    same([Id, State.Status, Config.Labels['sandlot-run'], Config.WorkingDir], [container.id, 'running', name, '/workspace']);
});
await test('by the beginning of its id', async () => same((await docker.getContainer(container.id.slice(0, 12)).inspect()).Id, container.id));
await test('its processes', async () => {
    const { Titles, Processes } = await container.top();
    same([Titles.length, Processes.map((columns) => columns.at(-1))], [Processes[0].length, ['sleep 1000']]);
});
await test('list by label', async () => same((await docker.listContainers({ all: true, filters: { label: [`sandlot-run=${name}`] } })).map(({ Id }) => Id), [container.id]));
await test('a command, its streams and its status', async () => same(await run({ Cmd: ['sh', '-c', 'echo out; echo err >&2; exit 3'] }), { stdout: 'out\n', stderr: 'err\n', code: 3 }));
await test('standard input to its end', async () => same((await run({ Cmd: ['cat'] }, 'a\nb')).stdout, 'a\nb'));
await test('folder and variables', async () => same((await run({ Cmd: ['sh', '-c', 'pwd; echo "$SAID"'], WorkingDir: '/tmp', Env: ['SAID=x y'] })).stdout, '/tmp\nx y\n'));
await test('a program that is not there', async () => [126, 127].includes((await run({ Cmd: ['no-such-program'] })).code));
await test('an unknown command', () => refused(() => docker.getExec('0'.repeat(64)).inspect(), gone));
await test('files in', () => container.putArchive(archiveOf('file.txt', 'content\n'), { path: '/tmp' }));
await test('are there', async () => same((await run({ Cmd: ['cat', '/tmp/file.txt'] })).stdout, 'content\n'));
await test('files out', async () => same(await fileOf('/tmp/file.txt'), { name: 'file.txt', content: 'content\n' }));
await test('files that are not there', () => refused(() => container.getArchive({ path: '/tmp/nothing' }), gone));
await test('pause', () => container.pause());
await test('pause again', () => refused(() => container.pause(), refusal));
await test('no command while it is paused', () => refused(() => container.exec({ Cmd: ['true'] }), refusal));
await test('unpause', () => container.unpause());
await test('commit', async () => /^(sha256:)?[0-9a-f]{64}$/.test((await container.commit({ repo: 'localhost/sandlot-sdk', tag: 'one' })).Id));
await test('the image is listed', async () => same((await docker.listImages({ filters: { reference: ['localhost/sandlot-sdk'] } })).flatMap(({ RepoTags }) => RepoTags), ['localhost/sandlot-sdk:one']));
await test('and removed', () => docker.getImage('localhost/sandlot-sdk:one').remove());
await test('an image that is not there', () => refused(() => docker.getImage('localhost/sandlot-sdk:one').inspect(), gone));
await test('no removal while it runs', () => refused(() => container.remove(), refusal));
await test('a volume', async () => same((await docker.createVolume({ Name: volume, Labels: labels })).Name ?? (await docker.getVolume(volume).inspect()).Name, volume));
await test('made again it is the same', async () => {
    await docker.createVolume({ Name: volume, Labels: { 'sandlot-run': 'another' } });
    same((await docker.getVolume(volume).inspect()).Labels, labels);
});
await test('listed by label', async () => same((await docker.listVolumes({ filters: { label: [`sandlot-run=${name}`] } })).Volumes.map(({ Name }) => Name), [volume]));
await test('a container with it', async () => {
    user = await docker.createContainer({ name: `${name}-user`, Image: image, Entrypoint: ['sleep'], Cmd: ['1000'], HostConfig: { NetworkMode: 'none', AutoRemove: true,
        Mounts: [{ Type: 'volume', Source: volume, Target: '/kept', ReadOnly: true, VolumeOptions: { NoCopy: true, Labels: labels } }] } });
    return user.start();
});
await test('is listed by it', async () => same((await docker.listContainers({ all: true, filters: { volume: [volume] } })).map(({ Id, Mounts }) => [Id, Mounts[0].Name, Mounts[0].RW]), [[user.id, volume, false]]));
await test('which is not removed meanwhile', () => refused(() => docker.getVolume(volume).remove(), (problem) => problem.statusCode === 409));
await test('its size is told', async () => (await docker.df()).Volumes.some(({ Name, UsageData }) => Name === volume && UsageData.Size >= 0));
await test('the container goes', () => user.remove({ force: true, v: true }));
await test('and the volume stays', async () => same((await docker.getVolume(volume).inspect()).Name, volume));
await test('until it is removed', () => docker.getVolume(volume).remove());
await test('then it is gone', () => refused(() => docker.getVolume(volume).inspect(), gone));
await test('remove', () => container.remove({ force: true, v: true }));
await test('it is gone', () => refused(() => container.inspect(), gone));
finish();
