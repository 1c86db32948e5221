// load.mjs COMMAND...: a thousand calls over pipes, 32 at a time, and 50 that are cancelled. By hand, without a client
// library, so that every line which the server writes is seen.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { attempt, check, done, pause, processesWith, until } from './harness.mjs'

const CALLS = 1000
const IN_FLIGHT = 32
const CANCELLED = 50

const [command, ...args] = process.argv.slice(2)
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
const surprises = []
let nextId = 0

createInterface({ input: server.stdout }).on('line', line => {
    const message = JSON.parse(line)
    const resolve = waiting.get(message.id)
    waiting.delete(message.id)
    if (resolve) resolve(message)
    else surprises.push(message)
})

const write = message => server.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n')

function request(method, params) {
    const id = nextId++
    write({ id, method, params })
    return new Promise(resolve => waiting.set(id, resolve))
}

const call = async (name, args) => (await request('tools/call', { name, arguments: args })).result
const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length

// What call number I is, and what must come back.
function work(i) {
    const file = `/workspace/${i % IN_FLIGHT}-${i}.txt`
    const kinds = [
        ['execute', { command: `echo call ${i}` }, `call ${i}\n[Command succeeded with exit code 0]`],
        ['execute', { command: `exit ${i % 100}` }, i % 100 ? `code ${i % 100}]` : 'exit code 0]'],
        ['write_file', { file_path: file, content: `content ${i}\n` }, file],
        ['ls', { path: '/' }, '/workspace/'],
        ['read_file', { file_path: '/workspace/base.txt' }, '1  base']
    ]
    return kinds[i % kinds.length]
}

async function cancel(i, word) {
    const id = `cancelled ${i}`
    write({ id, method: 'tools/call', params: { name: 'execute', arguments: { command: `sleep ${word}` } } })
    await pause(i % 2 ? 30 : 0) // some before they have begun
    write({ method: 'notifications/cancelled', params: { requestId: id } })
}

async function load(word) {
    const wrong = []
    let next = 0

    async function worker() {
        while (next < CALLS) {
            const i = next++
            const [name, args, expected] = work(i)
            const result = await call(name, args)
            if (!result?.content?.[0]?.text?.includes(expected)) wrong.push({ i, name, expected, result })
            if (i % (CALLS / CANCELLED) === 0) await cancel(i / (CALLS / CANCELLED), word)
        }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
    return wrong
}

await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'load', version: '1' } })
await call('write_file', { file_path: '/workspace/base.txt', content: 'base\n' })
// As many at once as later, so that what is made for good is there.
await Promise.all(Array.from({ length: IN_FLIGHT + 4 }, () => call('execute', { command: 'sleep 0.2' })))

const before = descriptors()
const word = `${80000 + (process.pid % 10000)}`
const began = Date.now()
const wrong = await load(word)

check(`${CALLS} calls, ${IN_FLIGHT} at a time: every answer is right`, wrong.length === 0, wrong.slice(0, 5))
console.log(`# ${CALLS} calls took ${Date.now() - began} ms`)
await attempt('commands that were cancelled are gone', async () => [
    await until(() => processesWith(word).length === 0), processesWith(word)
])
await attempt('in the box there is its first process, and nobody else who stays', async () => {
    const processes = async () => {
        const result = await call('execute', { command: 'cd /proc; echo [0-9]*' })
        return result.content[0].text.split('\n')[0].split(' ')
    }
    // Each look has processes of its own; who is there both times was there before.
    const staying = async () => {
        const first = await processes()
        const second = await processes()
        return first.filter(process => second.includes(process)).join(' ')
    }
    return [await until(async () => (await staying()) === '1'), await staying()]
})
await attempt('the server has no more descriptors than before', async () => [
    await until(() => descriptors() <= before), { before, after: descriptors() }
])
await pause(300)
check('calls that were cancelled have no answer, and nothing else came unasked', surprises.length === 0, surprises)
server.stdin.end()
await attempt('the server ends with 0', async () => {
    await until(() => server.exitCode !== null)
    return [server.exitCode === 0, { code: server.exitCode, signal: server.signalCode }]
})
done()
