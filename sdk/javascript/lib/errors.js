/** What calls throw. `code` is the stable name of the reason, such as "file_not_found"; the message is a sentence for a person. */
export class SandlotError extends Error {
    /**
     * @param {string} code
     * @param {string} message
     */
    constructor(code, message) {
        super(message);
        this.name = 'SandlotError';
        this.code = code;
    }
}

/** @type {(problem: unknown) => unknown} What a `code` PROBLEM has, of ours or of Node's. */
export const codeOf = (problem) => (problem instanceof Error && 'code' in problem ? problem.code : undefined);
