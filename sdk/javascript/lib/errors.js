/** What calls throw. `code` is the stable name of the reason, such as "file_not_found"; the message is a sentence for a person. */
export class SandlotError extends Error {
    constructor(code, message) {
        super(message);
        this.name = 'SandlotError';
        this.code = code;
    }
}
