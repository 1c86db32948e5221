// What kind of bytes a file has that is no text, by its name.
import path from 'node:path';

/** @type {Record<string, string>} */
const types = {
    '.png': 'image/png',
    '.jpg': 'image/jpeg',
    '.jpeg': 'image/jpeg',
    '.gif': 'image/gif',
    '.webp': 'image/webp',
    '.bmp': 'image/bmp',
    '.pdf': 'application/pdf',
    '.mp3': 'audio/mpeg',
    '.wav': 'audio/wav',
    '.mp4': 'video/mp4',
    '.webm': 'video/webm',
    '.zip': 'application/zip',
    '.gz': 'application/gzip',
};

/**
 * Never one of text: whoever reads the file gets bytes.
 * @param {string} name
 */
export function binaryType(name) {
    return types[path.extname(name).toLowerCase()] ?? 'application/octet-stream';
}
