// What each vendor's sdk.mjs is made of: cases, of which each prints one line, and what they expect.

let failures = 0;
let family = 'sdk';

/** The cases are called NAME: ... from here on. */
export function callCases(name) {
    family = name;
}

/** One case. WORK must not throw, nor return false or a text that says what is wrong. */
export async function test(name, work) {
    try {
        const problem = await work();
        if (problem === false || typeof problem === 'string') throw new Error(problem || 'it is not so');
        console.log(`ok ${family}: ${name}`);
    } catch (problem) {
        const more = problem?.json ? `\n${JSON.stringify(problem.json)}` : '';
        failures++;
        console.log(`not ok ${family}: ${name}\n# ${`${problem?.stack ?? problem}${more}`.replaceAll('\n', '\n# ')}`);
    }
}

export function same(is, wanted) {
    const [one, other] = [JSON.stringify(is), JSON.stringify(wanted)];
    if (one !== other) throw new Error(`it is ${one}, not ${other}`);
}

/** WORK must throw something of which RIGHT is true. */
export async function refused(work, right) {
    try {
        await work();
    } catch (problem) {
        if (right(problem)) return;
        throw problem;
    }
    throw new Error('it was not refused');
}

/** Prints how many requests WORK takes, at the emulator at URL. */
export async function counted(url, name, work) {
    await fetch(`${url}/__control/requests`, { method: 'DELETE' });
    await work();
    const { requests } = await (await fetch(`${url}/__control/requests`)).json();
    const messages = requests.reduce((sum, one) => sum + (one.messages ?? 0), 0);
    console.log(`# ${family}, ${name}: ${requests.length}${messages ? ` (${messages} messages)` : ''}`);
}

/** Ends the process, with 0 if no case failed. */
export function finish() {
    process.exit(failures ? 1 : 0);
}
