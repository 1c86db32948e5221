// The C structs of sandlot.h in memory: every one begins with its size, and grows at its end only. Linux on 64 bits.

const kinds = {
    boolean: { bytes: 1, put: (view, at, value) => view.setUint8(at, value ? 1 : 0), get: (view, at) => view.getUint8(at) !== 0 },
    int: { bytes: 4, put: (view, at, value) => view.setInt32(at, value, true), get: (view, at) => view.getInt32(at, true) },
    long: {
        bytes: 8,
        put: (view, at, value) => view.setBigInt64(at, BigInt(value), true),
        get: (view, at) => Number(view.getBigInt64(at, true)),
    },
    pointer: {
        bytes: 8,
        put: (view, at, value) => view.setBigUint64(at, value, true),
        get: (view, at) => view.getBigUint64(at, true),
    },
};

/** What struct has these FIELDS after its size, in order: { name: kind }. */
export function layout(fields) {
    const places = {};
    let end = 8;
    for (const [name, kind] of Object.entries(fields)) {
        const { bytes } = kinds[kind];
        end = Math.ceil(end / bytes) * bytes;
        places[name] = { at: end, ...kinds[kind] };
        end += bytes;
    }
    return { size: Math.ceil(end / 8) * 8, places };
}

/** A struct of memory that stays where it is as long as somebody holds it; pointers are addresses (bigint). */
export function make(shape, values = {}) {
    const bytes = new Uint8Array(shape.size);
    const view = new DataView(bytes.buffer);
    kinds.long.put(view, 0, shape.size);
    for (const [name, value] of Object.entries(values))
        if (value !== undefined && value !== null) shape.places[name].put(view, shape.places[name].at, value);
    return bytes;
}

/** The field NAME of a struct whose memory is BUFFER (an ArrayBuffer). */
export function field(shape, buffer, name) {
    const place = shape.places[name];
    return place.get(new DataView(buffer), place.at);
}
