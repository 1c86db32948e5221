/** What calls throw. */
export declare class SandlotError extends Error {
    constructor(code: string, message: string);
    /** The stable name of the reason, such as "file_not_found"; `message` is a sentence for a person. */
    readonly code: string;
}

export interface Cancellable {
    /** Aborting it ends the call, which then throws the signal's reason once it has ended. */
    signal?: AbortSignal;
}

export interface OpenOptions extends Cancellable {
    /** The name of a provider; "local" without. */
    provider?: string;
    /** Attach to this sandbox, which is then never deleted; without: make one. */
    sandboxId?: string;
    /** Start from the snapshot of this name. */
    snapshot?: string;
    /** A local script that runs in the sandbox once it is there. */
    setup?: string;
    /** Use the live sandbox of this scope, or make it and leave it. */
    scope?: string;
    /** Of the provider, over those of the configuration. The command's route puts them on a command line: no secrets here. */
    parameters?: Record<string, string | number | boolean>;
    /** Leave the sandbox running when it is closed. */
    keep?: boolean;
    /** What it may reach: "off", "allow" or "open". */
    network?: 'off' | 'allow' | 'open';
    /** With "allow", or without `network`: "example.com", "*.example.com", "host:5432", "10.0.0.0/8", "@pypi". */
    allow?: string[];
    /** Storage that outlives it: "NAME:/absolute/path", or "NAME:/absolute/path:ro" to read only. */
    volumes?: string[];
    /** Instead of the user's own configuration. */
    configFile?: string;
    /** What is going on while it starts, and how far; total 0: unknown. */
    progress?: (what: string, done: number, total: number) => void;
    /** By the library ("native") or by the command; without: the library where koffi is installed. */
    route?: 'native' | 'command';
}

export interface ExecuteOptions extends Cancellable {
    /** Seconds (1800); null: none. */
    timeout?: number | null;
    /** Where it starts. */
    workingDir?: string;
    environment?: Record<string, string>;
    /** Its standard input; without: none. */
    input?: string | Uint8Array;
    /** Gets the output as it comes; then none is in the result. What it throws ends the command and is thrown. */
    output?: (piece: Buffer) => void;
    /** Bytes kept in the result, at most (10 MiB); of the library only. */
    outputLimit?: number;
}

/** A command that ran, whatever its exit code. */
export interface Result {
    /** 0 to 255, 128 + n for signal n, 124 after a timeout; null where the provider cannot tell. */
    exitCode: number | null;
    /** Standard output and error, in order. */
    output: Buffer;
    /** The same as text. */
    readonly text: string;
    timedOut: boolean;
    /** The middle of the output was left out, around a line that says so. */
    truncated: boolean;
}

/** A page of a text file, or a whole binary file. */
export interface Page {
    content: Buffer;
    /** The same as text. */
    readonly text: string;
    binary: boolean;
    truncated: boolean;
    /** First and last line, from 1; 0: none. */
    startLine: number;
    endLine: number;
    totalLines: number | null;
    /** Where to go on; null: the end was reached. */
    nextOffset: number | null;
}

export interface Found {
    path: string;
    isDirectory: boolean;
}

export interface Entry extends Found {
    size: number;
    modifiedAt: Date;
}

export interface Match {
    path: string;
    /** From 1. */
    line: number;
    text: string;
}

/** A sandbox: made or attached to by `open`, deleted by `close` if it was made there. Calls overlap. */
export declare class Sandbox {
    private constructor();
    /** When it returns, the sandbox can run commands. */
    static open(options?: OpenOptions): Promise<Sandbox>;
    /** By which others can attach to it. */
    readonly id: string;
    readonly provider: string;
    /** In which commands start and relative paths begin. */
    readonly workingDir: string;
    /** Runs one shell command line and waits for its end. */
    execute(command: string, options?: ExecuteOptions): Promise<Result>;
    /** A page of a text file, `offset` lines in and at most `limit` (2000) lines long, or a whole binary file. */
    read(path: string, options?: Cancellable & { offset?: number; limit?: number }): Promise<Page>;
    /** Creates or replaces a file, with its parent directories. */
    write(path: string, content: string | Uint8Array, options?: Cancellable): Promise<void>;
    /** Replaces text, which must occur once unless `replaceAll`; returns how often it did. */
    edit(path: string, before: string, after: string, options?: Cancellable & { replaceAll?: boolean }): Promise<number>;
    /** Removes a file, a link, or a directory with all that is in it. */
    remove(path: string, options?: Cancellable): Promise<void>;
    /** The entries of a directory (without: the working directory), hidden ones too. */
    ls(path?: string, options?: Cancellable): Promise<Entry[]>;
    /** Files that match a pattern, such as "*.c" (at any depth); `truncated`: there may be more. */
    glob(
        pattern: string,
        path?: string,
        options?: Cancellable & { directories?: boolean },
    ): Promise<{ entries: Found[]; truncated: boolean }>;
    /** Lines that have a literal text, in the files below `path` that match the pattern `glob`; `maxCount` 0: all. */
    grep(
        text: string,
        path?: string,
        options?: Cancellable & { glob?: string; maxCount?: number },
    ): Promise<{ matches: Match[]; truncated: boolean }>;
    /** Writes exact bytes to an absolute path. */
    upload(path: string, content: Uint8Array, options?: Cancellable): Promise<void>;
    /** All bytes of the file at an absolute path. */
    download(path: string, options?: Cancellable): Promise<Buffer>;
    /** Copies a local file, or with `recursive` a folder, to an absolute path in the sandbox. */
    uploadFile(local: string, path: string, options?: Cancellable & { recursive?: boolean }): Promise<void>;
    /** Copies a file of the sandbox, or with `recursive` a folder, to a local path. */
    downloadFile(path: string, local: string, options?: Cancellable & { recursive?: boolean }): Promise<void>;
    /** Deletes the sandbox if it was made here. A second time it does nothing. */
    close(): Promise<void>;
}

export interface Provider {
    name: string;
    /** "config", "plugin" or "builtin". */
    source: string;
    description: string | null;
    /** Why it cannot be used, and what to do; null: it is ready as far as is known without a request. */
    problem: string | null;
}

/** The providers that there are. */
export declare function listProviders(options?: { configFile?: string; route?: 'native' | 'command' }): Promise<Provider[]>;
