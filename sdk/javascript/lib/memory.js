// What a call of the library points to, kept where it is until the call has ended; and what the library points to, copied.
import { fields, make, zeroed } from './layout.js';
import { library } from './library.js';

export const NULL = 0n;

export class Memory {
    #kept = [];
    #callbacks = [];

    /** The address of BYTES, which stay there; never NULL, also if there are none. */
    at(bytes) {
        const kept = bytes.length ? bytes : zeroed(1);
        this.#kept.push(kept);
        return library().koffi.address(kept);
    }

    struct(shape, values) {
        const bytes = make(shape, values);
        return { shape, bytes, address: this.at(bytes) };
    }

    /** TEXT (undefined or null: none) as C has it. */
    text(text) {
        if (text === undefined || text === null) return NULL;
        const bytes = Buffer.from(`${text}\0`);
        if (bytes.indexOf(0) !== bytes.length - 1) throw new TypeError('a path or word must not hold a NUL');
        return this.at(bytes);
    }

    /** An array of texts that ends with NULL. */
    texts(words) {
        if (!words) return NULL;
        return this.at(BigUint64Array.from([...words.map((word) => this.text(word)), NULL]));
    }

    /** A function that C calls, from any thread; it runs in the event loop. */
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

/** A copy of LENGTH bytes at ADDRESS. */
export function copy(address, length) {
    const bytes = Buffer.allocUnsafe(address ? length : 0);
    if (bytes.length) library().memcpy(bytes, address, length);
    return bytes;
}

/** The text at ADDRESS; null for NULL. */
export function textAt(address) {
    return address ? copy(address, Number(library().strlen(address))).toString() : null;
}

/** The fields of a struct that C has at ADDRESS: those that are named, and no more, for it may be longer than SHAPE. */
export function fieldsAt(shape, address, ...names) {
    return fields(shape, copy(address, shape.size), names);
}

/** The same of one that was made here. */
export function fieldsOf(struct, ...names) {
    return fields(struct.shape, struct.bytes, names);
}

/** The texts of a list at ADDRESS that ends with NULL; none for NULL. */
export function textsAt(address) {
    const found = [];
    for (let at = BigInt(address ?? 0); at; at += 8n) {
        const text = textAt(copy(at, 8).readBigUInt64LE());
        if (text === null) break;
        found.push(text);
    }
    return found;
}

/** The text that a call has put into CELL, a BigUint64Array; it is freed. */
export function takeText(cell) {
    const text = textAt(cell[0]);
    library().free(cell[0]);
    return text;
}
