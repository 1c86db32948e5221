// What the tests share: results as lines, and the official clients behind one face.
import { readFileSync, readdirSync } from 'node:fs'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client'
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio'

export const MODERN = '2026-07-28'
export const TOOLS = ['delete', 'edit_file', 'execute', 'glob', 'grep', 'ls', 'process', 'read_file', 'write_file']

let failed = 0

export function check(name, good, why) {
    if (good) {
        console.log(`ok ${name}`)
        return
    }
    failed++
    console.log(`not ok ${name}`)
    const text = typeof why === 'string' ? why : JSON.stringify(why, null, 1)
    for (const line of String(text).slice(0, 3000).split('\n')) console.log(`# ${line}`)
}

// Runs one case; what it throws is its failure.
export async function attempt(name, action) {
    try {
        check(name, ...(await action()))
    } catch (error) {
        check(name, false, error.stack)
    }
}

export function done() {
    process.exit(failed ? 1 : 0)
}

export const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

// Whether CONDITION comes true. What should take moments gets a minute: the machine may be busy.
export async function until(condition) {
    const end = Date.now() + 60000
    while (!(await condition())) {
        if (Date.now() > end) return false
        await pause(20)
    }
    return true
}

// The process ids on this machine with WORD among their arguments, those in boxes included.
export function processesWith(word) {
    return readdirSync('/proc').filter(name => {
        if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
        try {
            return readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(word)
        } catch {
            return false
        }
    })
}

export const text = result => result.content.filter(block => block.type === 'text').map(block => block.text).join('\n')

const clientInfo = { name: 'sandlot-tests', version: '1' }

// KIND: "v1" and "v2" speak the legacy revisions, "v2 modern" speaks MODERN. TARGET: {command, args} or {url, token}.
export async function connect(kind, target) {
    const old = kind === 'v1'
    const headers = target.token ? { Authorization: `Bearer ${target.token}` } : {}
    const Stdio = old ? OldStdio : NewStdio
    const Http = old ? OldHttp : NewHttp
    const transport = target.url
        ? new Http(new URL(target.url), { requestInit: { headers } })
        : new Stdio({ command: target.command, args: target.args, env: process.env, stderr: 'inherit' })
    const mode = kind === 'v2 modern' ? { pin: MODERN } : 'legacy'
    const client = old ? new OldClient(clientInfo) : new NewClient(clientInfo, { versionNegotiation: { mode } })

    await client.connect(transport)
    return {
        client,
        transport,
        call: (name, args, options) =>
            old
                ? client.callTool({ name, arguments: args }, CallToolResultSchema, options)
                : client.callTool({ name, arguments: args }, options),
        tools: async () => (await client.listTools()).tools,
        close: () => client.close()
    }
}

// The smallest PNG that there is.
export const PNG =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
