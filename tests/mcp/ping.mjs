// ping.mjs URL [TOKEN]: prints the HTTP status of one ping, of a page of ORIGIN if that is set.
const [url, token] = process.argv.slice(2)
const response = await fetch(url, {
    method: 'POST',
    headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(process.env.ORIGIN ? { Origin: process.env.ORIGIN } : {})
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
})
console.log(response.status)
