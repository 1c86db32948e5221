// The vendor's own SDK against the emulator: what it can do with the real service it must be able to do here.

import { RunloopSDK, toFile } from '@runloop/api-client';
import { randomBytes } from 'node:crypto';
import * as cases from '../common/cases.mjs';
import { same, test } from '../common/cases.mjs';
import { askPort } from '../common/ports.mjs';

const [url] = process.argv.slice(2);
const runloop = new RunloopSDK({ bearerToken: 'ak_0123456789abcdefEMULATED', baseURL: url, maxRetries: 0, http2: false });
const { api } = runloop;
const refused = (work, pattern) => cases.refused(work, (failure) => pattern.test(`${failure.status ?? ''} ${failure.message}`));
const read = async (response) => Buffer.from(await response.arrayBuffer());

const blob = randomBytes(300000);
let devbox;

await test('create and await running', async () => {
    devbox = await runloop.devbox.create({ name: 'one', metadata: { run: 'r1' }, environment_variables: { COLOUR: 'blue' },
        launch_parameters: { keep_alive_time_seconds: 600, lifecycle: { after_idle: { idle_time_seconds: 300, on_idle: 'suspend' } }, launch_commands: ['echo l >launched'] } });
    const info = await devbox.getInfo();
    same(info.status, 'running');
    same(info.metadata.run, 'r1');
    same(/^dbx_\w+$/.test(info.id), true);
});
await test('create, then await running', async () => {
    const other = await api.devboxes.create({ name: 'other', launch_parameters: { provisioning_tier: 'flex' } });
    same(other.status, 'queued');
    same((await api.devboxes.awaitRunning(other.id)).status, 'running');
    await api.devboxes.shutdown(other.id);
});
await test('a field that nobody knows', () => refused(() => api.devboxes.create({ nmae: 'x' }), /400.*nmae/));
await test('a value of the wrong type', () => refused(() => api.devboxes.create({ metadata: { a: 1 } }), /400.*metadata/));
await test('a wrong key', () => refused(() => new RunloopSDK({ bearerToken: 'wrong', baseURL: url, maxRetries: 0, http2: false }).api.devboxes.list(), /401/));
await test('a command, its streams, its status', async () => {
    const result = await devbox.cmd.exec('echo out; echo err >&2; echo $COLOUR; pwd; cat launched; exit 3');
    same(result.exitCode, 3);
    same(await result.stdout(), 'out\nblue\n/home/user\nl\n');
    same(await result.stderr(), 'err\n');
});
await test('more lines than an answer holds', async () => {
    const result = await devbox.cmd.exec('seq 30000');
    same((await result.stdout()).length, 168894);
    same(await result.stdout(2), '29999\n30000');
});
await test('characters of several bytes, over a stream', async () => {
    const result = await devbox.cmd.exec("for i in $(seq 20000); do printf 'ü€\\n'; done");
    same(await result.stdout(), 'ü€\n'.repeat(20000));
});
await test('output as it comes', async () => {
    const pieces = [];
    await devbox.cmd.exec('echo 1; sleep 0.3; echo 2', { stdout: (text) => pieces.push(text) });
    same(pieces.join(''), '1\n2\n');
});
await test('a command that takes longer than the first request', async () => {
    const first = await api.devboxes.execute(devbox.id, { command: 'sleep 1.5; echo late', optimistic_timeout: 1 });
    same(first.status, 'running');
    same((await api.devboxes.executions.awaitCompleted(devbox.id, first.execution_id)).stdout, 'late\n');
});
await test('the same command id twice', async () => {
    const command = { command: 'echo x >>twice; cat twice', command_id: '01980000-0000-7000-8000-000000000001' };
    same((await api.devboxes.execute(devbox.id, command)).stdout, 'x\n');
    same((await api.devboxes.execute(devbox.id, command)).stdout, 'x\n');
});
await test('an id of another version', () => refused(() => api.devboxes.execute(devbox.id, { command: 'true', command_id: '01980000-0000-4000-8000-000000000001' }), /400/));
await test('no time at all', () => refused(() => api.devboxes.execute(devbox.id, { command: 'true', optimistic_timeout: 0 }), /408/));
await test('a command that is killed', async () => {
    const execution = await devbox.cmd.execAsync('sleep 60');
    await execution.kill();
    same((await execution.result()).exitCode, 137);
});
await test('files up and down', async () => {
    await devbox.file.upload({ path: '/home/user/blob', file: await toFile(blob, 'blob') });
    same(Buffer.compare(await read(await devbox.file.download({ path: 'blob' })), blob), 0);
});
await test('files as text', async () => {
    await devbox.file.write({ file_path: 'text', contents: 'ü\n' });
    same(await devbox.file.read({ file_path: '/home/user/text' }), 'ü\n');
});
await test('files that cannot be', async () => {
    await devbox.cmd.exec('echo x >shut; chmod 0 shut');
    await refused(() => devbox.file.download({ path: 'missing' }), /400.*does not exist/);
    await refused(() => devbox.file.download({ path: '/tmp' }), /400.*is a directory/);
    await refused(() => devbox.file.download({ path: 'shut' }), /400.*os error 13/);
    await devbox.cmd.exec('rm -f shut'); // or nobody but root could copy the disk
    await refused(async () => devbox.file.upload({ path: 'a/b/c', file: await toFile(blob, 'c') }), /400.*does not exist/);
});
await test('list', async () => {
    const ids = [];
    for await (const item of api.devboxes.list({ limit: 1 })) ids.push(item.id);
    same(ids.length, 2);
    same(ids[1], devbox.id);
    same((await api.devboxes.list({ status: 'running' })).devboxes.map(({ id }) => id).join(), devbox.id);
});
await test('update', async () => {
    same((await api.devboxes.update(devbox.id, { metadata: { run: 'r2' } })).name, 'one');
    same((await devbox.getInfo()).metadata.run, 'r2');
});
await test('keep alive', () => devbox.keepAlive());
await test('suspend and resume keep the files', async () => {
    await refused(() => devbox.resume(), /400/);
    await devbox.suspend();
    await devbox.awaitSuspended();
    await refused(() => devbox.cmd.exec('true'), /400/);
    await devbox.resume();
    same(await (await devbox.cmd.exec('cat text')).stdout(), 'ü\n');
});
await test('a disk snapshot, and a devbox from it', async () => {
    const snapshot = await devbox.snapshotDiskAsync({ name: 'kept', metadata: { a: 'b' } });
    await refused(() => devbox.shutdown(), /409/);
    await snapshot.awaitCompleted();
    same((await api.devboxes.listDiskSnapshots({ devbox_id: devbox.id })).snapshots[0].name, 'kept');
    const other = await runloop.devbox.createFromSnapshot(snapshot.id);
    same(await (await other.cmd.exec('cat text')).stdout(), 'ü\n');
    await other.shutdown();
    await snapshot.delete();
    await refused(() => api.devboxes.diskSnapshots.queryStatus(snapshot.id), /404/);
});
await test('a blueprint, and a devbox from it', async () => {
    const blueprint = await runloop.blueprint.create({ name: 'mine', dockerfile: 'FROM python:3\n' });
    same((await api.blueprints.list({ name: 'mine' })).blueprints[0].id, blueprint.id);
    const other = await runloop.devbox.createFromBlueprintName('mine');
    same(await (await other.cmd.exec('cat built-from')).stdout(), 'python:3\n');
    await other.shutdown();
    await blueprint.delete();
    await refused(() => runloop.devbox.createFromBlueprintName('mine'), /404/);
});
await test('the address of a port, and who is let in', async () => {
    const { edge } = await (await fetch(`${url}/__control/state`)).json();
    await refused(() => devbox.getTunnelUrl(3000), /No tunnel/);
    const { auth_token: token } = await devbox.net.enableTunnel({ auth_mode: 'authenticated' });
    await devbox.cmd.exec(`/run/agent/node -e "require('http').createServer((request, response) => response.end('from the box')).listen(3000)" >/dev/null 2>&1 &`);
    const address = (await devbox.getTunnelUrl(3000)).replace(/^https:(.*)[.]tunnel[.]127[.]0[.]0[.]1$/, `http:$1.localhost:${edge}`);
    let answer;
    do answer = await askPort(address, { 'x-runloop-tunnel-authorization': `Bearer ${token}` });
    while (answer.status === 502);
    same(answer, { status: 200, text: 'from the box' });
    same((await askPort(address)).status, 401);
    await refused(() => devbox.net.enableTunnel(), /409/);
    await devbox.net.removeTunnel();
    same((await askPort(address)).status, 404);
    const other = await runloop.devbox.create({ tunnel: { auth_mode: 'open' } });
    const { auth_mode: mode, auth_token: none } = await other.getTunnel();
    same([mode, none], ['open', undefined]);
    await other.shutdown();
});
await test('a network policy', async () => {
    const policy = await api.networkPolicies.create({ name: 'sdk', allowed_hostnames: ['a.example', '*.b.example'], allowed_cidrs: [{ cidr: '198.51.100.0/24', ports: [{ port: 443 }] }] });
    const other = await runloop.devbox.create({ launch_parameters: { network_policy_id: policy.id } });
    const places = ['a.example:443', 'low.b.example:443', 'c.example:443', '198.51.100.7:443', '198.51.100.7:22'];
    const result = await other.cmd.exec(places.map((place) => `curl -sp -x 127.0.0.1:3128 http://${place}/ || echo no`).join('; '));
    same(await result.stdout(), 'reached a.example:443\nreached low.b.example:443\nno\nreached 198.51.100.7:443\nno\n');
    await other.shutdown();
    same((await api.networkPolicies.list({ name: 'sdk' })).network_policies.map((one) => one.id), [policy.id]);
    await api.networkPolicies.delete(policy.id);
    await refused(() => api.networkPolicies.retrieve(policy.id), /404/);
});
await test('a build that fails', () => refused(() => runloop.blueprint.create({ name: 'bad', dockerfile: 'FROM broken:latest\n' }), /fail/i));
await test('two origins', () => refused(() => api.devboxes.create({ blueprint_name: 'a', snapshot_id: 'b' }), /400/));
await test('shutdown leaves a record', async () => {
    await devbox.shutdown();
    const info = await devbox.getInfo();
    same(info.status, 'shutdown');
    same(typeof info.end_time_ms, 'number');
    await refused(() => devbox.shutdown(), /400/);
    await refused(() => api.devboxes.retrieve('dbx_0000'), /404/);
});

for (const { id } of (await api.blueprints.list()).blueprints) await api.blueprints.delete(id);
cases.finish();
