// The vendor's own SDK against the emulator: what it can do with the real service it must be able to do here.

import { Daytona } from '@daytonaio/sdk';
import { randomBytes } from 'node:crypto';
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as cases from '../common/cases.mjs';
import { same, test } from '../common/cases.mjs';
import { askPort } from '../common/ports.mjs';

const [url] = process.argv.slice(2);
const daytona = new Daytona({ apiKey: 'dtn_0123456789abcdef0123456789abcdef', apiUrl: `${url}/api`, target: 'us' });
const refused = (work, pattern) => cases.refused(work, (failure) => pattern.test(`${failure.statusCode ?? ''} ${failure.message}`));

const folder = mkdtempSync(path.join(os.tmpdir(), 'sandlot-sdk.'));
const blob = randomBytes(300000);
let sandbox;

await test('create', async () => {
    sandbox = await daytona.create({ name: 'one', labels: { run: 'r1' }, envVars: { COLOUR: 'blue' }, autoStopInterval: 30, ttlMinutes: 60 });
    same(sandbox.state, 'started');
    same(sandbox.labels['code-toolbox-language'], 'python');
    same(sandbox.autoStopInterval, 30);
});
await test('a command, its streams together, its status', async () => {
    const answer = await sandbox.process.executeCommand('echo out; echo err >&2; echo $COLOUR; exit 3');
    same(answer.result, 'out\nerr\nblue\n');
    same(answer.exitCode, 3);
});
await test('folder and variables of a command', async () => {
    same((await sandbox.process.executeCommand('pwd; echo $A', '/tmp', { A: 'b c' })).result, '/tmp\nb c\n');
});
await test('a folder that is not there', async () => same((await sandbox.process.executeCommand('true', '/nope')).exitCode, -1));
await test('a command that takes too long', () => refused(() => sandbox.process.executeCommand('sleep 5', undefined, undefined, 1), /408|timeout/i));
await test('an empty command', () => refused(() => sandbox.process.executeCommand('  '), /400|required/));
await test('folders of the sandbox', async () => {
    same(await sandbox.getWorkDir(), '/home/daytona');
    same(await sandbox.getUserHomeDir(), '/home/daytona');
});
await test('a file up and down', async () => {
    await sandbox.fs.uploadFile(blob, '/home/daytona/deep/er/blob');
    same(Buffer.compare(await sandbox.fs.downloadFile('/home/daytona/deep/er/blob'), blob), 0);
});
await test('several files up and down', async () => {
    writeFileSync(path.join(folder, 'local'), blob);
    await sandbox.fs.uploadFiles([{ source: Buffer.from('a'), destination: 'a.json' }, { source: path.join(folder, 'local'), destination: '/tmp/ü b' }]);
    const answers = await sandbox.fs.downloadFiles([{ source: 'a.json' }, { source: '/tmp/missing' }, { source: '/tmp/ü b', destination: path.join(folder, 'back') }]);
    same(answers[0].result.toString(), 'a');
    same(answers[1].errorDetails.code, 'FILE_NOT_FOUND');
    same(Buffer.compare(readFileSync(path.join(folder, 'back')), blob), 0);
});
await test('streams up and down', async () => {
    await sandbox.fs.uploadFileStream(createReadStream(path.join(folder, 'local')), '/tmp/streamed');
    const pieces = [];
    for await (const piece of await sandbox.fs.downloadFileStream('/tmp/streamed')) pieces.push(piece);
    same(Buffer.compare(Buffer.concat(pieces), blob), 0);
});
await test('files that cannot be', async () => {
    await refused(() => sandbox.fs.downloadFile('/tmp'), /directory/);
    await refused(() => sandbox.fs.uploadFile(Buffer.from('x'), '/tmp'), /directory|400/);
    await refused(() => sandbox.fs.getFileDetails('/missing'), /404|not found/i);
});
await test('the other operations on files', async () => {
    await sandbox.fs.createFolder('/tmp/f', '755');
    await sandbox.fs.uploadFile(Buffer.from('123'), '/tmp/f/x');
    await sandbox.fs.setFilePermissions('/tmp/f/x', { mode: '600' });
    same((await sandbox.fs.getFileDetails('/tmp/f/x')).permissions, '0600');
    await sandbox.fs.moveFiles('/tmp/f/x', '/tmp/f/y');
    same((await sandbox.fs.listFiles('/tmp/f')).map((file) => file.name).join(), 'y');
    await sandbox.fs.deleteFile('/tmp/f', true);
    await refused(() => sandbox.fs.listFiles('/tmp/f'), /404|not found/i);
});
await test('get by id and by name', async () => {
    same((await daytona.get(sandbox.id)).id, sandbox.id);
    same((await daytona.get('one')).id, sandbox.id);
    await refused(() => daytona.get('nobody'), /404|not found/i);
});
await test('a name is taken once', () => refused(() => daytona.create({ name: 'one' }), /409|exists/));
await test('list by labels', async () => {
    const found = [];
    for await (const item of daytona.list({ labels: { run: 'r1' } })) found.push(item.id);
    same(found.join(), sandbox.id);
    for await (const item of daytona.list({ labels: { run: 'other' } })) throw new Error(item.id);
});
await test('labels', async () => {
    await sandbox.setLabels({ run: 'r2' });
    await sandbox.refreshData();
    same(JSON.stringify(sandbox.labels), '{"run":"r2"}');
});
await test('intervals', async () => {
    await sandbox.setAutostopInterval(5);
    await sandbox.setAutoDeleteInterval(-1);
    await sandbox.setAutoArchiveInterval(0);
    await sandbox.refreshActivity();
});
await test('the address of a port, and who is let in', async () => {
    await sandbox.process.executeCommand(`/run/agent/node -e "require('http').createServer((request, response) => response.end('from the box')).listen(3000)" >/dev/null 2>&1 &`);
    const { url: address, token } = await sandbox.getPreviewLink(3000);
    let answer;
    do answer = await askPort(address, { 'x-daytona-preview-token': token });
    while (answer.status === 502);
    same(answer, { status: 200, text: 'from the box' });
    same((await askPort(address)).status, 307);
    same((await askPort(address, { 'x-daytona-preview-token': 'wrong' })).status, 401);
});
await test('stop and start keep the files', async () => {
    await sandbox.stop();
    same(sandbox.state, 'stopped');
    await refused(() => sandbox.process.executeCommand('true'), /400|Sandbox started/);
    await refused(() => sandbox.stop(), /400|stoppable/);
    await sandbox.start();
    same((await sandbox.process.executeCommand('cat a.json')).result, 'a');
});
await test('archive and start', async () => {
    await sandbox.stop();
    await sandbox.archive();
    await sandbox.start();
    same(sandbox.state, 'started');
});
await test('containers cannot pause or fork', async () => {
    await refused(() => sandbox.pause(), /422|support/);
    await refused(() => sandbox.fork(), /422|support/);
});
await test('a snapshot, and a sandbox from it', async () => {
    await sandbox.createSnapshot('kept');
    let snapshot;
    do snapshot = await daytona.snapshot.get('kept'); while (snapshot.state === 'snapshotting');
    same((await daytona.snapshot.list()).items.some((item) => item.name === 'kept'), true);
    const other = await daytona.create({ snapshot: 'kept' });
    same((await other.process.executeCommand('cat a.json')).result, 'a');
    await other.delete();
    await daytona.snapshot.delete(snapshot);
    await refused(() => daytona.snapshot.get('kept'), /404|not found/i);
});
await test('an unknown snapshot', () => refused(() => daytona.create({ snapshot: 'nothing' }), /400|not found/));
await test('machines pause and fork', async () => {
    const machine = await daytona.create({ snapshot: 'daytona-vm' });
    await machine.process.executeCommand('echo m >m; (sleep 55 >/dev/null 2>&1 &)');
    await machine.pause();
    same(machine.state, 'paused');
    await machine.start();
    same((await machine.process.executeCommand('cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " " | grep -c "[s]leep 55"')).result, '1\n');
    await refused(() => machine.createSnapshot('memory'), /400|copied/);
    await machine.sandboxApi.createSandboxSnapshot(machine.id, { name: 'memory', includeMemory: true });
    do await machine.refreshData(); while (machine.state === 'snapshotting');
    const copy = await machine.fork({ name: 'copy' });
    same((await copy.process.executeCommand('cat m')).result, 'm\n');
    await copy.delete();
    await machine.delete();
});
await test('a network policy', async () => {
    const box = await daytona.create({ networkAllowList: '198.51.100.0/24', domainAllowList: 'a.example,*.b.example' });
    const reach = async (...places) => (await box.process.executeCommand(places.map((place) => `curl -sp -x 127.0.0.1:3128 http://${place}/ || echo no`).join('; '))).result;
    same(await reach('a.example:443', 'low.b.example:443', 'c.example:443', '198.51.100.7:22'), 'reached a.example:443\nreached low.b.example:443\nno\nreached 198.51.100.7:22\n');
    await box.updateNetworkSettings({ domainAllowList: 'c.example', networkAllowList: '' });
    same(await reach('a.example:443', 'c.example:443', '198.51.100.7:22'), 'no\nreached c.example:443\nno\n');
    await box.updateNetworkSettings({ networkBlockAll: true });
    same(await reach('c.example:443'), 'no\n');
    await refused(() => daytona.create({ networkAllowList: '198.51.100.1' }), /400|invalid/);
    await box.delete();
});
await test('from an image', async () => {
    const built = await daytona.create({ image: 'debian:12', resources: { cpu: 2, memory: 4 } });
    same(built.cpu, 2);
    await built.delete(60, true);
    same(built.state, 'destroyed');
});
await test('a stopped ephemeral one is gone', async () => {
    const brief = await daytona.create({ ephemeral: true });
    await brief.stop();
    await refused(() => daytona.get(brief.id), /404|not found/i);
});
await test('delete', async () => {
    await sandbox.delete(60, true);
    await refused(() => daytona.get(sandbox.id), /404|not found/i);
});

await daytona[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });
cases.finish();
