// binding.mjs ID PATH CALLS: for each line of input, reads PATH in the box ID so often and answers with a line.
import readline from 'node:readline';
import { Sandbox } from '../../sdk/javascript/lib/index.js';

const [id, path, calls] = process.argv.slice(2);
const box = await Sandbox.open({ sandboxId: id, route: 'native' });
for await (const _line of readline.createInterface({ input: process.stdin })) {
    for (let n = 0; n < Number(calls); n++) await box.read(path);
    process.stdout.write('\n');
}
await box.close();
