// stdio_client.mjs COMMAND...: all that clients do, over pipes.
import { attempt, connect, done, until } from './harness.mjs'
import { wholeSession } from './session.mjs'
import { existsSync } from 'node:fs'

const [command, ...args] = process.argv.slice(2)

async function run(kind) {
    let session

    await attempt(`${kind}: the client connects`, async () => {
        session = await connect(kind, { command, args })
        return [true]
    })
    if (!session) return
    await wholeSession(kind, session)
    await attempt(`${kind}: the server ends when the client closes the pipe`, async () => {
        const pid = session.transport.pid
        await session.close()
        return [pid > 0 && (await until(() => !existsSync(`/proc/${pid}`))), { pid }]
    })
}

await Promise.all(['v1', 'v2', 'v2 modern'].map(run))
done()
