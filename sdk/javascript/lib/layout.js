// The C structs of sandlot.h in memory: every one begins with its size, and grows at its end only. Linux on 64 bits.

const kinds = {
    short: { bytes: 2, put: (view, at, value) => view.setUint16(at, value, true), get: (view, at) => view.getUint16(at, true) },
    // The id of a background process.
    name: {
        bytes: 16,
        alignment: 1,
        get: (view, at) => {
            const bytes = Buffer.from(view.buffer, view.byteOffset + at, 16);
            return bytes.toString('latin1', 0, bytes.indexOf(0));
        },
    },
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
        const { bytes, alignment = bytes } = kinds[kind];
        end = Math.ceil(end / alignment) * alignment;
        places[name] = { at: end, ...kinds[kind] };
        end += bytes;
    }
    return { size: Math.ceil(end / 8) * 8, places };
}

/** LENGTH bytes of memory, all 0, from Node's pool: an array of their own for each would cost more than the call that they are for. */
export const zeroed = (length) => Buffer.allocUnsafe(length).fill(0);

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** A struct of memory that stays where it is as long as somebody holds it; pointers are addresses (bigint). */
export function make(shape, values = {}) {
    const bytes = zeroed(shape.size);
    const view = viewOf(bytes);
    kinds.long.put(view, 0, shape.size);
    for (const name in values) {
        const value = values[name];
        if (value !== undefined && value !== null) shape.places[name].put(view, shape.places[name].at, value);
    }
    return bytes;
}

/** The fields NAMES of a struct that is BYTES. */
export function fields(shape, bytes, names) {
    const view = viewOf(bytes);
    return names.map((name) => shape.places[name].get(view, shape.places[name].at));
}
