// What every client must be able to do with the server, whatever the transport.
import { PNG, TOOLS, attempt, processesWith, text, until } from './harness.mjs'

let sleeps = 0
const EXIT_0 = '[Command succeeded with exit code 0]'

async function opening(kind, session) {
    await attempt(`${kind}: the server says who it is`, () => {
        const version = session.client.getServerVersion()
        return [version?.name === 'sandlot' && session.client.getInstructions()?.includes('sandbox'), version]
    })
    await attempt(`${kind}: the tools are those nine`, async () => {
        const names = (await session.tools()).map(tool => tool.name).sort()
        return [JSON.stringify(names) === JSON.stringify(TOOLS), names]
    })
}

// Sessions may share one sandbox.
const folder = kind => `/workspace/${kind.replace(' ', '-')}`

async function files(kind, { call }) {
    const here = folder(kind)
    const steps = [
        ['write_file', { file_path: `${here}/a.txt`, content: 'one\ntwo\nthree\n' }, /a\.txt/],
        ['read_file', { file_path: `${here}/a.txt` }, /1 {2}one\n.*2 {2}two/],
        ['edit_file', { file_path: `${here}/a.txt`, old_string: 'two', new_string: 'zwei' }, /1/],
        ['execute', { command: `cat ${here}/a.txt` }, /^one\nzwei\nthree\n/],
        ['ls', { path: here }, /^\/workspace\/[a-z0-9-]*\/a\.txt$/m],
        ['glob', { pattern: '*.txt', path: here }, /^\/workspace\/[a-z0-9-]*\/a\.txt$/m],
        ['grep', { pattern: 'zwei', path: here, output_mode: 'content' }, /2: zwei/],
        ['delete', { path: `${here}/a.txt` }, /a\.txt/],
        ['ls', { path: here }, /^Directory is empty$/]
    ]
    for (const [tool, args, pattern] of steps)
        await attempt(`${kind}: ${tool}`, async () => {
            const result = await call(tool, args)
            return [!result.isError && pattern.test(text(result)), result]
        })
}

async function failures(kind, { call }) {
    const wrong = [
        ['a file that is not there', 'read_file', { file_path: '/workspace/missing' }],
        ['a missing argument', 'read_file', {}],
        ['an unknown argument', 'ls', { path: '/workspace', depth_of_search: 3 }],
        ['a command that takes too long', 'execute', { command: 'sleep 30', timeout: 1 }]
    ]
    for (const [name, tool, args] of wrong)
        await attempt(`${kind}: ${name} is a result with isError`, async () => {
            const result = await call(tool, args)
            return [result.isError === true && text(result).length > 10, result]
        })
    await attempt(`${kind}: a command that fails is no error`, async () => {
        const result = await call('execute', { command: 'echo bad; exit 3' })
        return [!result.isError && text(result) === 'bad\n[Command failed with exit code 3]', result]
    })
    await attempt(`${kind}: a tool that there is not is an error of the protocol`, async () => {
        try {
            return [false, await call('no_such_tool', {})]
        } catch (error) {
            return [error.code === -32602, error.stack]
        }
    })
}

async function progress(kind, { call }) {
    await attempt(`${kind}: progress comes while a command runs`, async () => {
        const seen = []
        const result = await call('execute', { command: 'for i in 1 2 3 4; do echo step $i; sleep 0.6; done' }, {
            onprogress: notice => seen.push(notice)
        })
        const grows = seen.every((notice, i) => i === 0 || notice.progress > seen[i - 1].progress)
        return [!result.isError && seen.length >= 2 && grows && /^step \d$/.test(seen[0].message), { seen, result }]
    })
}

async function cancellation(kind, { call }) {
    const seconds = `${70000 + (process.pid % 10000)}.${(sleeps += 1)}` // found by its name in the list of processes

    await attempt(`${kind}: an aborted call ends its command`, async () => {
        const stop = new AbortController()
        const outcome = call('execute', { command: `sleep ${seconds}` }, { signal: stop.signal }).then(
            result => ({ result }),
            error => ({ error })
        )
        const began = await until(() => processesWith(seconds).length > 0)
        stop.abort()
        const { result, error } = await outcome
        const ended = await until(() => processesWith(seconds).length === 0)
        return [began && error && ended, { began, ended, result, error: String(error) }]
    })
}

async function many(kind, { call }) {
    await attempt(`${kind}: calls run side by side`, async () => {
        // Each waits for all the others, and so for ever if they came one after the other.
        const all = 'until [ "$(ls | grep -c "^side-")" = 16 ]; do sleep 0.05; done'
        const results = await Promise.all(
            Array.from({ length: 16 }, (_, i) => call('execute', { command: `touch side-${i}; ${all}; echo number ${i}` }))
        )
        const right = results.every((result, i) => text(result) === `number ${i}\n${EXIT_0}`)
        await call('execute', { command: 'rm side-*' })
        return [right, results.map(text)]
    })
    await attempt(`${kind}: a long command does not hold up a read`, async () => {
        const long = call('execute', { command: 'until [ -e go ]; do sleep 0.05; done; rm go; echo late' })
        const short = await call('ls', { path: '/workspace' })
        await call('execute', { command: 'touch go' })
        const late = await long
        return [!short.isError && text(late).startsWith('late'), { short, late }]
    })
}

async function image(kind, { call }) {
    await attempt(`${kind}: an image comes as an image`, async () => {
        const file = `${folder(kind)}/dot.png`
        await call('execute', { command: `echo ${PNG} | base64 -d > ${file}` })
        const result = await call('read_file', { file_path: file })
        const block = result.content.find(one => one.type === 'image')
        return [block?.mimeType === 'image/png' && block.data === PNG && text(result).includes('dot.png'), result]
    })
}

export async function wholeSession(kind, session) {
    for (const part of [opening, files, failures, progress, cancellation, many, image]) await part(kind, session)
}

export async function shortSession(kind, session) {
    for (const part of [opening, files, progress, cancellation, image]) await part(kind, session)
}
