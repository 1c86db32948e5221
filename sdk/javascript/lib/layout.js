// The C structs of sandlot.h in memory: every one begins with its size, and grows at its end only. Linux on 64 bits.
/**
 * @typedef {{ short: number, name: string, boolean: boolean, int: number, long: number, pointer: bigint }} Values what there is of each kind
 * @typedef {Record<string, keyof Values>} Fields
 * @typedef {{ bytes: number, alignment?: number, put?: (memory: Buffer, at: number, value: any) => void, get: (memory: Buffer, at: number) => any }} Kind
 */
/**
 * @template {Fields} F
 * @typedef {{ size: number, places: Record<keyof F, Kind & { at: number }>, kinds?: F }} Shape
 */
/**
 * @template {Fields} F
 * @typedef {{ [K in keyof F]: Values[F[K]] }} Struct
 */
/**
 * @template {Shape<any>} S
 * @typedef {S extends Shape<infer F extends Fields> ? Struct<F> : never} StructOf  what a shape describes
 */

/** @type {Record<keyof Values, Kind>} */
const kinds = {
    short: { bytes: 2, put: (memory, at, value) => memory.writeUInt16LE(value, at), get: (memory, at) => memory.readUInt16LE(at) },
    // The id of a background process.
    name: { bytes: 16, alignment: 1, get: (memory, at) => memory.toString('latin1', at, memory.indexOf(0, at)) },
    boolean: { bytes: 1, put: (memory, at, value) => memory.writeUInt8(value ? 1 : 0, at), get: (memory, at) => memory[at] !== 0 },
    int: { bytes: 4, put: (memory, at, value) => memory.writeInt32LE(value, at), get: (memory, at) => memory.readInt32LE(at) },
    // No number that a call takes or tells is beyond what a double holds.
    long: {
        bytes: 8,
        put: (memory, at, value) => {
            if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no whole number`);
            memory.writeUInt32LE(value >>> 0, at);
            memory.writeInt32LE(Math.floor(value / 2 ** 32), at + 4);
        },
        get: (memory, at) => memory.readUInt32LE(at) + memory.readInt32LE(at + 4) * 2 ** 32,
    },
    pointer: { bytes: 8, put: (memory, at, value) => memory.writeBigUInt64LE(value, at), get: (memory, at) => memory.readBigUInt64LE(at) },
};

/**
 * What struct has these FIELDS after its size, in order: { name: kind }.
 * @template {Fields} F
 * @param {F} fields
 * @returns {Shape<F>}
 */
export function layout(fields) {
    /** @type {any} */
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

/** @type {(length: number) => Buffer} All 0, from Node's pool: an array of their own for each would cost more than the call that they are for. */
export const zeroed = (length) => Buffer.allocUnsafe(length).fill(0);

/**
 * A struct of memory that stays where it is as long as somebody holds it; pointers are addresses (bigint).
 * @template {Fields} F
 * @param {Shape<F>} shape
 * @param {{ [K in keyof F]?: Values[F[K]] | null }} values
 */
export function make(shape, values = {}) {
    const memory = zeroed(shape.size);
    memory.writeUInt32LE(shape.size, 0);
    for (const name in values) {
        const value = values[name];
        const { at, put } = shape.places[name];
        if (value !== undefined && value !== null) put?.(memory, at, value);
    }
    return memory;
}

/**
 * The fields of a struct that is MEMORY.
 * @template {Fields} F
 * @param {Shape<F>} shape
 * @param {Buffer} memory
 * @returns {Struct<F>}
 */
export function fields(shape, memory) {
    /** @type {any} */
    const found = {};
    for (const name in shape.places) {
        const { at, get } = shape.places[name];
        found[name] = get(memory, at);
    }
    return found;
}
