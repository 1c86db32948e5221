// What a call of the library points to, kept where it is until the call has ended; and what the library points to, copied.
import { fields, make, zeroed } from './layout.js';
import { library } from './library.js';
/** @import { Fields, Shape, Struct, Values } from './layout.js' */

export const NULL = 0n;

export class Memory {
    /** @type {ArrayBufferView[]} */
    #kept = [];
    /** @type {bigint[]} */
    #callbacks = [];

    /**
     * The address of BYTES, which stay there; never NULL, also if there are none.
     * @param {Uint8Array | BigUint64Array | Int32Array} bytes
     * @returns {bigint}
     */
    at(bytes) {
        const kept = bytes.length ? bytes : zeroed(1);
        this.#kept.push(kept);
        return library().koffi.address(kept);
    }

    /**
     * @template {Fields} F
     * @param {Shape<F>} shape
     * @param {{ [K in keyof F]?: Values[F[K]] | null }} [values]
     */
    struct(shape, values) {
        const bytes = make(shape, values);
        return { shape, bytes, address: this.at(bytes) };
    }

    /**
     * TEXT (undefined or null: none) as C has it.
     * @param {string | null | undefined} text
     */
    text(text) {
        if (text === undefined || text === null) return NULL;
        const bytes = Buffer.from(`${text}\0`);
        if (bytes.indexOf(0) !== bytes.length - 1) throw new TypeError('a path or word must not hold a NUL');
        return this.at(bytes);
    }

    /**
     * An array of texts that ends with NULL.
     * @param {string[] | undefined} words
     */
    texts(words) {
        if (!words) return NULL;
        return this.at(BigUint64Array.from([...words.map((word) => this.text(word)), NULL]));
    }

    /**
     * A function that C calls, from any thread; it runs in the event loop.
     * @param {unknown} type
     * @param {(...values: any[]) => unknown} called
     * @returns {bigint}
     */
    callback(type, called) {
        const address = library().koffi.register(called, type);
        this.#callbacks.push(address);
        return address;
    }

    release() {
        for (const address of this.#callbacks) library().koffi.unregister(address);
        this.#callbacks = [];
        this.#kept = [];
    }
}

/** @typedef {bigint | null} Address  of what C has; null and 0: NULL */

/**
 * A copy of LENGTH bytes at ADDRESS.
 * @param {Address} address
 * @param {number | bigint} length
 */
export function copy(address, length) {
    const bytes = Buffer.allocUnsafe(address ? Number(length) : 0);
    if (bytes.length) library().memcpy(bytes, address, length);
    return bytes;
}

/**
 * The text at ADDRESS, which is there.
 * @param {Address} address
 */
export function wordAt(address) {
    return copy(address, library().strlen(address)).toString();
}

/**
 * The text at ADDRESS; null for NULL.
 * @param {Address} address
 */
export function textAt(address) {
    return address ? wordAt(address) : null;
}

/**
 * The fields of a struct that C has at ADDRESS: those that SHAPE has, for it may be longer.
 * @template {Fields} F
 * @param {Shape<F>} shape
 * @param {Address} address
 */
export function fieldsAt(shape, address) {
    return fields(shape, copy(address, shape.size));
}

/**
 * The same of one that was made here.
 * @template {Fields} F
 * @param {{ shape: Shape<F>, bytes: Buffer }} struct
 * @returns {Struct<F>}
 */
export function fieldsOf(struct) {
    return fields(struct.shape, struct.bytes);
}

/**
 * The texts of a list at ADDRESS that ends with NULL; none for NULL.
 * @param {Address} address
 */
export function textsAt(address) {
    const found = [];
    for (let at = BigInt(address ?? 0); at; at += 8n) {
        const text = textAt(copy(at, 8).readBigUInt64LE());
        if (text === null) break;
        found.push(text);
    }
    return found;
}

/**
 * The text at ADDRESS that a call has made; it is freed.
 * @param {Address} address
 */
export function takeText(address) {
    const text = wordAt(address);
    library().free(address);
    return text;
}
