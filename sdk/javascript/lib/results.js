// What calls return that holds bytes, which are text too: made when it is asked for; bytes that are no UTF-8 become U+FFFD.
/** @import { Log as LogFacts, Page as PageFacts, Result as ResultFacts } from './index.js' */

export class Result {
    /** @param {Omit<ResultFacts, 'text'>} facts */
    constructor({ exitCode, output, timedOut, truncated }) {
        this.exitCode = exitCode;
        this.output = output;
        this.timedOut = timedOut;
        this.truncated = truncated;
    }

    get text() {
        return this.output.toString();
    }
}

export class Page {
    /** @param {Omit<PageFacts, 'text'>} facts */
    constructor({ content, binary, truncated, startLine, endLine, totalLines, nextOffset }) {
        this.content = content;
        this.binary = binary;
        this.truncated = truncated;
        this.startLine = startLine;
        this.endLine = endLine;
        this.totalLines = totalLines;
        this.nextOffset = nextOffset;
    }

    get text() {
        return this.content.toString();
    }
}

export class Log {
    /** @param {Omit<LogFacts, 'text'>} facts */
    constructor({ content, start, next, state, exitCode }) {
        this.content = content;
        this.start = start;
        this.next = next;
        this.state = state;
        this.exitCode = exitCode;
    }

    get text() {
        return this.content.toString();
    }
}
