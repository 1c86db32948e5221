// Messages of application/vnd.amazon.eventstream.

const TABLE = Array.from({ length: 256 }, (_, byte) => {
    for (let bit = 0; bit < 8; bit++) byte = byte >>> 1 ^ (byte & 1 ? 0xedb88320 : 0);
    return byte >>> 0;
});

function checksum(bytes) {
    let sum = 0xffffffff;
    for (const byte of bytes) sum = sum >>> 8 ^ TABLE[(sum ^ byte) & 255];
    return ~sum >>> 0;
}

function number(value, size = 4) {
    const bytes = Buffer.alloc(size);
    bytes.writeUIntBE(value, 0, size);
    return bytes;
}

/** HEADERS: name -> text, or bytes of another type as [type, Buffer]. */
export function message(headers, payload = '') {
    const parts = Object.entries(headers).map(([name, value]) => {
        const head = [Buffer.from([name.length]), Buffer.from(name)];
        if (Array.isArray(value)) return Buffer.concat([...head, Buffer.from([value[0]]), value[1]]);
        return Buffer.concat([...head, Buffer.from([7]), number(Buffer.byteLength(value), 2), Buffer.from(value)]);
    });
    const head = Buffer.concat(parts);
    const body = Buffer.from(payload);
    const lengths = Buffer.concat([number(16 + head.length + body.length), number(head.length)]);
    const whole = Buffer.concat([lengths, number(checksum(lengths)), head, body]);
    return Buffer.concat([whole, number(checksum(whole))]);
}

const json = { ':content-type': 'application/json' };

export const event = (type, value) => message({ ':message-type': 'event', ':event-type': type, ...json }, JSON.stringify(value));

/** An error of the model, "ThrottlingException", as it looks in the stream. */
export const exception = (name, body) => message({ ':message-type': 'exception', ':exception-type': name[0].toLowerCase() + name.slice(1), ...json },
    JSON.stringify(body));
