// http_client.mjs URL TOKEN: what clients do over Streamable HTTP, and what the server must refuse.
import http from 'node:http'
import net from 'node:net'
import { MODERN, attempt, connect, done, pause, processesWith, until } from './harness.mjs'
import { shortSession } from './session.mjs'

const [url, token] = process.argv.slice(2)

async function run(kind) {
    let session

    await attempt(`${kind}: the client connects`, async () => {
        session = await connect(kind, { url, token })
        return [true]
    })
    if (!session) return
    await shortSession(kind, session)
    await session.close()
}

// One request with exact header fields; the answer with its whole body. HANGUP waits until it is time to hang up, and is
// told whether the answer has begun.
function send(body, { method = 'POST', headers = {}, path = '/mcp', hangUp } = {}) {
    const state = { begun: false }
    const all = {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers
    }
    for (const name of Object.keys(all)) if (all[name] === undefined) delete all[name]
    return new Promise((resolve, reject) => {
        const request = http.request(new URL(path, url), { method, headers: all, agent: false }, response => {
            let text = ''
            state.begun = true
            response.setEncoding('utf8')
            response.on('data', chunk => (text += chunk))
            response.on('error', () => resolve({ hungUp: true }))
            response.on('end', () => {
                let json
                try {
                    json = JSON.parse(text)
                } catch {
                    // an event stream, or nothing
                }
                resolve({ status: response.statusCode, headers: response.headers, text, json })
            })
        })
        request.on('error', error => (hangUp ? resolve({ hungUp: true }) : reject(error)))
        hangUp?.(state).then(() => request.destroy())
        request.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body))
    })
}

const rpc = (method, params, id = 1) => ({ jsonrpc: '2.0', id, method, params })
const meta = (version = MODERN) => ({
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {}
})
const modern = (method, name, more = {}) => ({
    headers: { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': method, 'Mcp-Name': name, ...more }
})
const ping = rpc('ping')
const list = rpc('tools/list', { _meta: meta() })
const execute = (command, more = {}) => rpc('tools/call', { name: 'execute', arguments: { command }, ...more })

// NAME, the HTTP status, the code of the JSON-RPC error (undefined: none), body, how it is sent
const refusals = [
    ['no token', 401, -32600, ping, { headers: { Authorization: undefined } }],
    ['a wrong token', 401, -32600, ping, { headers: { Authorization: `Bearer ${token}x` } }],
    ['part of the token', 401, -32600, ping, { headers: { Authorization: `Bearer ${token.slice(0, -1)}` } }],
    ['the token in the query', 401, -32600, ping, { headers: { Authorization: undefined }, path: `/mcp?token=${token}` }],
    ['a foreign Origin', 403, -32600, ping, { headers: { Origin: 'http://evil.example' } }],
    ['an Origin that begins like ours', 403, -32600, ping, { headers: { Origin: 'http://localhost.evil.example' } }],
    ['Origin null', 403, -32600, ping, { headers: { Origin: 'null' } }],
    ['a foreign Host', 403, -32600, ping, { headers: { Host: 'evil.example' } }],
    ['an Origin of this machine', 200, undefined, ping, { headers: { Origin: 'http://localhost:5173' } }],
    ['an Origin that was allowed', 200, undefined, ping, { headers: { Origin: 'https://agent.example' } }],
    ['another path', 404, -32600, ping, { path: '/' }],
    ['GET', 405, -32600, undefined, { method: 'GET' }],
    ['DELETE', 405, -32600, undefined, { method: 'DELETE' }],
    ['another type', 415, -32600, ping, { headers: { 'Content-Type': 'text/plain' } }],
    ['a client that takes no stream', 406, -32600, ping, { headers: { Accept: 'application/json' } }],
    ['a client that takes all', 200, undefined, ping, { headers: { Accept: '*/*' } }],
    ['a type with a parameter', 200, undefined, ping, { headers: { 'Content-Type': 'application/json; charset=utf-8' } }],
    ['a body that is too large', 413, -32600, ' '.repeat((16 << 20) + 1), {}],
    ['no JSON', 400, -32700, '{', {}],
    ['nothing', 400, -32700, '', {}],
    ['an array', 400, -32600, [ping], {}],
    ['no message', 400, -32600, {}, {}],
    ['a version that is not served', 400, -32600, ping, { headers: { 'MCP-Protocol-Version': '2031-01-01' } }],
    ['a version that is', 200, undefined, ping, { headers: { 'MCP-Protocol-Version': '2025-06-18' } }],
    ['a legacy method that there is not', 200, -32601, rpc('nonsense'), {}],
    ['a legacy tool that there is not', 200, -32602, rpc('tools/call', { name: 'nonsense' }), {}],
    ['a modern request', 200, undefined, list, modern('tools/list')],
    ['blanks around header fields', 200, undefined, list, modern(' tools/list ')],
    ['a modern header without _meta', 400, -32602, rpc('tools/list'), modern('tools/list')],
    ['a modern request without header fields', 400, -32020, list, {}],
    ['a modern request without a method', 400, -32020, list, modern(undefined)],
    ['another method', 400, -32020, list, modern('tools/call')],
    ['the method in capitals', 400, -32020, list, modern('Tools/List')],
    ['another version', 400, -32020, list, modern('tools/list', undefined, { 'MCP-Protocol-Version': '2025-11-25' })],
    ['a future version', 400, -32022, rpc('tools/list', { _meta: meta('2031-01-01') }),
        modern('tools/list', undefined, { 'MCP-Protocol-Version': '2031-01-01' })],
    ['a modern request without abilities', 400, -32602,
        rpc('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': MODERN } }), modern('tools/list')],
    ['a modern method that there is not', 404, -32601, rpc('ping', { _meta: meta() }), modern('ping')],
    ['a tool without its name', 400, -32020, execute('true', { _meta: meta() }), modern('tools/call')],
    ['another tool', 400, -32020, execute('true', { _meta: meta() }), modern('tools/call', 'ls')],
    ['a name in base64', 200, undefined, execute('true', { _meta: meta() }),
        modern('tools/call', '=?base64?ZXhlY3V0ZQ==?=')],
    ['a name in broken base64', 400, -32020, execute('true', { _meta: meta() }),
        modern('tools/call', '=?base64?ZXhlY3V0ZQ?=')]
]

async function refuse() {
    for (const [name, status, code, body, how] of refusals)
        await attempt(`${name}: ${status}${code ? `, ${code}` : ''}`, async () => {
            const answer = await send(body, how)
            return [answer.status === status && answer.json?.error?.code === code, answer]
        })
    await attempt('401 says that a bearer token is wanted', async () => {
        const answer = await send(ping, { headers: { Authorization: undefined } })
        return [/^Bearer/.test(answer.headers['www-authenticate']), answer.headers]
    })
    await attempt('a notification: 202 and nothing', async () => {
        const answer = await send({ jsonrpc: '2.0', method: 'notifications/initialized' })
        return [answer.status === 202 && answer.text === '', answer]
    })
    await attempt('OPTIONS is answered to an allowed origin only', async () => {
        const headers = { Authorization: undefined, Origin: 'https://agent.example' }
        const allowed = await send(undefined, { method: 'OPTIONS', headers })
        const foreign = await send(undefined, { method: 'OPTIONS', headers: { ...headers, Origin: 'https://x.example' } })
        return [
            allowed.status === 204 &&
                allowed.headers['access-control-allow-origin'] === 'https://agent.example' &&
                foreign.status === 403 &&
                !foreign.headers['access-control-allow-origin'],
            { allowed, foreign }
        ]
    })
    await attempt('no session is assigned, and no CORS field sent unasked', async () => {
        const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
        const answer = await send(rpc('initialize', params))
        const fields = Object.keys(answer.headers).filter(name => /session|access-control/.test(name))
        return [answer.json?.result?.protocolVersion === '2025-11-25' && fields.length === 0, answer]
    })
}

// What comes back for these bytes; null if nothing does.
function sendRaw(text) {
    return new Promise(resolve => {
        let answer = ''
        const socket = net.connect(new URL(url).port, '127.0.0.1', () => socket.write(text))
        socket.setEncoding('latin1')
        socket.on('data', data => (answer += data))
        socket.on('error', () => resolve(null))
        socket.on('close', () => resolve(answer))
        setTimeout(() => socket.destroy(), 60000).unref()
    })
}

async function confuse() {
    const body = JSON.stringify(ping)
    const lines = ['POST /mcp HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Accept: */*']
    const within = [...lines, `Content-Length: ${body.length}`, '', body].join('\r\n')
    for (const [name, fields, text] of [
        ['two lengths', [`Content-Length: ${body.length}`, 'Content-Length: 5'], body],
        ['a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked'], `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`]
    ])
        await attempt(`${name}: refused, and what follows is no request`, async () => {
            const answer = await sendRaw([...lines, ...fields, '', text + within].join('\r\n'))
            return [/^HTTP\/1.1 400 /.test(answer) && answer.split('HTTP/1.1 ').length === 2, answer]
        })
}

// More than the server has places for, each with the beginning of a body that is refused already.
async function crowd() {
    const fields = 'Content-Type: application/json\r\nAccept: */*\r\nContent-Length: 1000000'
    const sockets = []
    for (let i = 0; i < 300; i++) {
        const socket = net.connect(new URL(url).port, '127.0.0.1')
        socket.on('error', () => {})
        socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n\r\n{`)
        sockets.push(socket)
        await pause(10) // so that it is seen before the next one
    }
    await attempt('who has no token takes no place of those who have one', async () => {
        const answer = await send(ping)
        return [answer.status === 200, answer]
    })
    for (const socket of sockets) socket.destroy()
}

async function forms() {
    await attempt('a quick answer is JSON', async () => {
        const answer = await send(execute('echo quick'))
        return [answer.headers['content-type'] === 'application/json' && answer.json?.result, answer]
    })
    await attempt('a slow answer is a stream', async () => {
        const answer = await send(execute('sleep 1.3; echo slow'))
        const events = answer.text.split('\n').filter(line => line.startsWith('data: '))
        return [
            answer.headers['content-type'] === 'text/event-stream' &&
                answer.headers['cache-control'] === 'no-cache' &&
                answer.headers['x-accel-buffering'] === 'no' &&
                events.length === 1 &&
                JSON.parse(events[0].slice(6)).result.content[0].text.startsWith('slow'),
            answer
        ]
    })
    await attempt('with progress the answer is a stream', async () => {
        const answer = await send(execute('echo quick', { _meta: { progressToken: 0 } }))
        return [answer.headers['content-type'] === 'text/event-stream' && /"id":1,"result"/.test(answer.text), answer]
    })
}

async function hangUps() {
    const first = `${60000 + (process.pid % 10000)}.1`
    const second = `${60000 + (process.pid % 10000)}.2`

    const runs = word => until(() => processesWith(word).length > 0)
    const ends = word => until(() => processesWith(word).length === 0)

    await attempt('a modern client that hangs up cancels, while the command is silent', async () => {
        let began
        const hangUp = async () => (began = await runs(first))
        await send(execute(`sleep ${first}`, { _meta: meta() }), { ...modern('tools/call', 'execute'), hangUp })
        const ended = await ends(first)
        return [began && ended, { began, ended }]
    })
    await attempt('the same once the stream has begun', async () => {
        let began
        const hangUp = async state => (began = (await runs(first)) && (await until(() => state.begun)))
        await send(execute(`sleep ${first}`, { _meta: meta() }), { ...modern('tools/call', 'execute'), hangUp })
        const ended = await ends(first)
        return [began && ended, { began, ended }]
    })
    await attempt('a legacy client that hangs up does not cancel, its notification does', async () => {
        const hangUp = () => runs(second)
        await send({ ...execute(`sleep ${second}`), id: 'legacy' }, { hangUp })
        await pause(1000)
        const goesOn = processesWith(second).length > 0
        await send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'legacy' } })
        const ended = await ends(second)
        return [goesOn && ended, { goesOn, ended }]
    })
    await attempt('a subscription stands until the client hangs up', async () => {
        let begun
        const hangUp = async state => {
            begun = await until(() => state.begun)
            await pause(300)
        }
        const how = { ...modern('subscriptions/listen'), hangUp }
        const answer = await send(rpc('subscriptions/listen', { notifications: {}, _meta: meta() }), how)
        return [begun && answer.hungUp === true, answer]
    })
}

// In turn: two legacy clients that use the same ids at the same time cannot be told apart, and cannot cancel.
for (const kind of ['v1', 'v2', 'v2 modern']) await run(kind)
await refuse()
await confuse()
await crowd()
await forms()
await hangUps()
done()
