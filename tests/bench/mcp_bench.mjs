// mcp_bench.mjs SANDLOT SERVER: the MCP server against a well-known one (SERVER, a script for this Node.js), each over
// pipes, as their client sees it. Prints lines `NAME OURS THEIRS RATIO`, times in milliseconds (p50).
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const LAUNCHES = 15
const ROUNDS = 1500
const BATCHES = 200
const AT_ONCE = 8

const [sandlot, script] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'sandlot-mcp-bench-'))
const lines = Array.from({ length: 100 }, (_, i) => `line ${i + 1} of a file that an agent might read`)

class Server {
    constructor([command, ...args]) {
        this.waiting = new Map()
        this.next = 0
        this.rest = ''
        this.process = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
        this.process.stdout.setEncoding('utf8')
        this.process.stdout.on('data', chunk => this.receive(chunk))
        this.ended = new Promise(resolve => this.process.on('exit', resolve))
    }

    receive(chunk) {
        const complete = (this.rest + chunk).split('\n')
        this.rest = complete.pop()
        for (const line of complete) {
            const message = JSON.parse(line)
            this.waiting.get(message.id)?.(message)
            this.waiting.delete(message.id)
        }
    }

    async request(method, params) {
        const id = this.next++
        const answer = new Promise(resolve => this.waiting.set(id, resolve))
        this.process.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n')
        const message = await answer
        if (message.error || message.result.isError) throw new Error(JSON.stringify(message))
        return message.result
    }

    async initialize() {
        const clientInfo = { name: 'bench', version: '1' }
        await this.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
        this.process.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    }

    async end() {
        this.process.stdin.end()
        await this.ended
    }
}

const median = times => times.sort((a, b) => a - b)[times.length >> 1]

async function launch(command) {
    const times = []
    for (let i = 0; i < LAUNCHES; i++) {
        const began = performance.now()
        const server = new Server(command)
        await server.initialize()
        times.push(performance.now() - began)
        await server.end()
    }
    return median(times)
}

async function repeat(rounds, action) {
    const times = []
    for (let i = 0; i < rounds; i++) {
        const began = performance.now()
        await action()
        times.push(performance.now() - began)
    }
    return median(times.slice(rounds / 5)) // the first ones warm up
}

async function measure(command, tool, args) {
    const server = new Server(command)
    const read = () => server.request('tools/call', { name: tool, arguments: args })

    await server.initialize()
    if (tool === 'read_file')
        await server.request('tools/call', { name: 'write_file', arguments: { ...args, content: lines.join('\n') } })
    const figures = {
        ping: await repeat(ROUNDS, () => server.request('ping')),
        read_file: await repeat(ROUNDS, read),
        read_file_8_at_once: await repeat(BATCHES, () => Promise.all(Array.from({ length: AT_ONCE }, read)))
    }
    await server.end()
    return { initialize: await launch(command), ...figures }
}

try {
    const file = join(folder, 'file.txt')
    writeFileSync(file, lines.join('\n'))
    const ours = await measure([sandlot, 'mcp'], 'read_file', { file_path: '/workspace/file.txt' })
    const theirs = await measure([process.execPath, script, folder], 'read_text_file', { path: file })
    for (const name of Object.keys(ours))
        console.log(name, ours[name].toFixed(3), theirs[name].toFixed(3), (ours[name] / theirs[name]).toFixed(3))
} finally {
    rmSync(folder, { recursive: true })
}
