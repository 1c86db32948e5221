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
    /** What people call it; the command `sandlot` takes it wherever it takes an id. By the command's route with `keep` only. */
    name?: string;
    /** Instead of the user's own configuration. */
    configFile?: string;
    /** Gets what the setup script prints, as it comes; of the library only. */
    setupOutput?: (piece: Buffer) => void;
    /** What is going on while it starts, and how far; total 0: unknown. */
    progress?: (what: string, done: number, total: number) => void;
    /** By the library ("native") or by the command; without: the library where koffi is installed. */
    route?: 'native' | 'command';
}

export interface ExecuteOptions extends Cancellable {
    /** Seconds (1800), more than 0; null: none. */
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
    /** An invalid date where the file's time is one that no `Date` holds. */
    modifiedAt: Date;
}

export interface Match {
    path: string;
    /** From 1. */
    line: number;
    text: string;
}

/** A background process, as it was when the sandbox looked. */
export interface Process {
    id: string;
    /** Of one of more than 4 KiB the beginning, and then "...". */
    command: string;
    /** "lost": nobody saw its end. */
    state: 'running' | 'exited' | 'lost';
    /** 0 to 255, 128 + n for signal n, 124 after its time limit; null: it has not ended, or nobody saw it. */
    exitCode: number | null;
    timedOut: boolean;
    inputOpen: boolean;
    /** Of the sandbox's clock. */
    startedAt: Date;
    endedAt: Date | null;
    /** What is kept of the output are its bytes from this one to `outputTotal`. */
    outputFirst: number;
    outputTotal: number;
    /** The same of standard error, where that is a log of its own. */
    errorsFirst: number;
    errorsTotal: number;
}

/** A part of what a background process has printed. */
export interface Log {
    content: Buffer;
    /** The same as text. */
    readonly text: string;
    /** Where it begins; later than what was asked for where the beginning is no longer kept. */
    start: number;
    /** Where to go on. */
    next: number;
    state: Process['state'];
    exitCode: number | null;
}

export interface StartOptions extends Cancellable {
    /** Seconds, more than 0; null or without: none. */
    timeout?: number | null;
    workingDir?: string;
    environment?: Record<string, string>;
    /** `write` may feed it. */
    input?: boolean;
    /** Standard error is a log of its own; of the library only. */
    separateErrors?: boolean;
    /** The newest bytes of output that are kept, 1 MiB to 1 GiB (64 MiB). */
    logBytes?: number;
}

/** Background processes, by their ids. They die with the sandbox, and go on when the program ends. */
export interface Processes {
    /** Starts one, and returns its id once it runs. */
    start(command: string, options?: StartOptions): Promise<string>;
    /** All, in the order of their numbers; of those that have ended the newest 64. */
    list(options?: Cancellable): Promise<Process[]>;
    /** What is kept of its output from byte `start` on (below 0: from the end), at most `most` bytes; `errors` of the library only. */
    log(id: string, options?: Cancellable & { start?: number; most?: number; errors?: boolean }): Promise<Log>;
    /** Its output as it comes, until it has ended. Leaving the loop leaves the process alone. */
    follow(id: string, options?: Cancellable & { start?: number; errors?: boolean }): AsyncGenerator<Buffer, void, void>;
    /** Waits for its end, at most `timeout` seconds; then it is still "running". */
    wait(id: string, options?: Cancellable & { timeout?: number | null }): Promise<Process>;
    /** Sends "TERM", "INT" and the like to its group, "KILL" to all that it started; without a name TERM, then KILL after `grace` seconds (5). */
    signal(id: string, name?: string, options?: Cancellable & { grace?: number }): Promise<void>;
    /** Writes to its standard input, then closes that if `close`; returns how much it has taken. */
    write(id: string, content: string | Uint8Array, options?: Cancellable & { close?: boolean }): Promise<number>;
}

/** What a sandbox may reach. */
export interface NetworkState {
    /** null: what the provider always gives. */
    mode: 'off' | 'allow' | 'open' | null;
    allow: string[];
    /** The header that gets a secret outside the sandbox, by host. */
    credentials: Record<string, string>;
    /** Where that was asked for. */
    source: string | null;
    /** What is the matter with it. */
    note: string | null;
    /** That it has broken and does not come back, instead of what the provider or the machine lacks. */
    broken: boolean;
}

/** One decision about a connection or request of a sandbox. */
export interface NetworkEvent {
    /** From 1; null by the command. */
    number: number | null;
    at: Date;
    allowed: boolean;
    host: string;
    port: number;
    rule: string | null;
    reason: string | null;
    bytesIn: number;
    bytesOut: number;
    /** Seconds. */
    duration: number;
}

/** What a living sandbox may reach. */
export interface Network {
    /** Can that be changed, by a provider of this kind? */
    readonly canChange: boolean;
    /** Is there a log of decisions? */
    readonly hasLog: boolean;
    show(options?: Cancellable): Promise<NetworkState>;
    /** Makes it "off" or "open", or adds or removes entries; by the command one of the three. When it returns, that is in force. */
    change(mode?: 'off' | 'open' | null, options?: Cancellable & { allow?: string[]; deny?: string[] }): Promise<void>;
    /** The decisions, oldest first; with a number above `after`, of the library only. */
    log(options?: Cancellable & { after?: number }): Promise<NetworkEvent[]>;
}

/** A port of this machine that leads to one of a sandbox. */
export interface Forward {
    readonly port: number;
    /** Ends all its connections; the end of the sandbox does it too. */
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}

/** Servers in a living sandbox. */
export interface Ports {
    /** Listens on this machine (a free port, on loopback) and carries connections to `port` of the sandbox. */
    forward(port: number, options?: { localPort?: number; address?: string }): Promise<Forward>;
    /** Where the vendor's own network reaches the port; `ttl`, of the library only: wanted life of a token in it, in seconds. */
    url(
        port: number,
        options?: Cancellable & { ttl?: number },
    ): Promise<{
        url: string;
        /** "Name: value" that every request needs, a secret. */
        header: string | null;
        /** null: with the sandbox. */
        expiresAt: Date | null;
        isPublic: boolean;
    }>;
}

/** A path that differs between a sandbox and the folder of this machine that it began with. */
export interface Change {
    /** Below the working directory. */
    path: string;
    kind: 'added' | 'modified' | 'removed' | 'mode' | 'type';
    /** "file", "directory", "symlink", "fifo", "socket" or "device"; of a removed path what it was. */
    type: string;
    /** 0: no file. */
    oldMode: number;
    newMode: number;
    oldSize: number;
    newSize: number;
    linkTarget: string | null;
    /** Why to look at it first. */
    risk: string | null;
    binary: boolean;
    /** The folder of this machine has been changed there too. */
    conflict: boolean;
}

export interface ApplyOptions extends Cancellable {
    /** Instead of the folder that it began with. */
    folder?: string;
    /** Paths to overwrite although both sides have changed. */
    force?: string[];
    /** What has a risk too. */
    allowRisky?: boolean;
    /** Nothing is written. */
    dryRun?: boolean;
    /** Hears of every path, with what kept it out. */
    applied?: (change: Change, problem: SandlotError | null) => void;
}

/** What has become of a folder of this machine in the sandbox's working directory. */
export interface Changes {
    /** Uploads the folder into the working directory and remembers what it was; `exclude`: globs of what stays out. */
    importFolder(folder: string, options?: Cancellable & { exclude?: string[] }): Promise<void>;
    /** What differs, below `paths` (without: all), risky ones first; `folder`, of the library only, instead of that it began with. */
    list(paths?: string[], options?: Cancellable & { folder?: string }): Promise<Change[]>;
    /** Writes them to a file of this machine. */
    export(local: string, options?: Cancellable & { format?: 'patch' | 'tar'; paths?: string[]; folder?: string }): Promise<void>;
    /** Brings them into the folder of this machine, and returns those that were. What was left out is an error, after the others were applied. */
    apply(paths?: string[], options?: ApplyOptions): Promise<Change[]>;
}

export interface TerminalOptions extends Cancellable {
    /** Without: a shell. */
    command?: string;
    /** Rows and columns of the window (24 by 80). */
    window?: () => [number, number];
    /** A descriptor that is readable when the window has changed. */
    resized?: number;
    workingDir?: string;
    environment?: Record<string, string>;
    term?: string;
}

/** What a tool for agents answers. */
export interface ToolAnswer {
    content: { type: string; text?: string; data?: string; mimeType?: string }[];
    meta: Record<string, unknown>;
    /** Something that a model can mend; the content says what. */
    isError: boolean;
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
    /** Can commands be run in it, or does its provider only serve files? */
    readonly canExecute: boolean;
    readonly processes: Processes;
    readonly network: Network;
    readonly ports: Ports;
    readonly changes: Changes;
    /** Runs a command in a terminal of the sandbox until it ends; its exit code. INPUT: the descriptor of what is typed. Of the library only. */
    terminal(input: number, output: (piece: Buffer) => void, options?: TerminalOptions): Promise<number | null>;
    /** Calls one of `tools()` for a model. Of the library only. */
    tool(
        name: string,
        given: Record<string, unknown>,
        options?: Cancellable & { maximumBytes?: number; output?: (piece: Buffer) => void },
    ): Promise<ToolAnswer>;
    /** With `keep`: records that it is left on purpose; until it is closed it is a leftover if this process dies. */
    detach(): Promise<void>;
    /** Deletes the sandbox if it was made here. A second time it does nothing. */
    close(): Promise<void>;
    /** What `await using` does at the end of its block: `close`. */
    [Symbol.asyncDispose](): Promise<void>;
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

/** A sandbox, or a snapshot, of a provider. */
export interface Listed {
    id: string;
    provider: string;
    state: string | null;
    createdAt: Date | null;
    /** This user's Sandlot on this machine has made it; of a snapshot it means nothing. */
    mine: boolean;
}

/** Storage of a provider that outlives sandboxes. */
export interface Volume {
    name: string;
    /** null: it could not be counted. */
    bytes: number | null;
    /** null: unknown, or none. */
    limitBytes: number | null;
    /** Living sandboxes that may write to it, */
    writers: number;
    /** and those that may only read it. */
    readers: number;
    /** When a sandbox last had it. */
    usedAt: Date | null;
}

/** What a dead process had left behind; `problem`: why it is still there. */
export interface Leftover {
    provider: string;
    id: string | null;
    problem: SandlotError | null;
}

/** What a provider is reached with, without a sandbox of it. */
export type SandboxesOptions = Pick<OpenOptions, 'provider' | 'parameters' | 'configFile' | 'route'>;

/** The sandboxes and snapshots of a provider ("local" without). */
export declare class Sandboxes {
    constructor(options?: SandboxesOptions);
    list(options?: Cancellable): Promise<Listed[]>;
    /** One that does not exist (any more) counts as deleted. */
    delete(id: string, options?: Cancellable): Promise<void>;
    /** Stops one so that `resume`, and whatever else uses it, goes on with its files, or more. */
    pause(id: string, options?: Cancellable): Promise<void>;
    resume(id: string, options?: Cancellable): Promise<void>;
    /** Keeps its state under a name (without: one is made); returns what `snapshot` of a sandbox takes. `withBase`: with
     *  the folder that a sandbox of `local` began as, to which the snapshot refers else. */
    snapshot(id: string, name?: string, options?: Cancellable & { replace?: boolean; withBase?: boolean }): Promise<string>;
    snapshots(options?: Cancellable): Promise<Listed[]>;
    /** One that does not exist (any more) counts as deleted. */
    deleteSnapshot(name: string, options?: Cancellable): Promise<void>;
    /** All volumes of the provider, which `volumes` of a sandbox makes. */
    volumes(options?: Cancellable): Promise<Volume[]>;
    /** With all that it holds; one that does not exist (any more) counts as deleted. */
    deleteVolume(name: string, options?: Cancellable): Promise<void>;
    /** Makes a second sandbox with the files of one, which stays; returns its id. */
    fork(id: string, options?: Cancellable): Promise<string>;
    /** Deletes what dead processes left behind at any provider. */
    collectGarbage(options?: Cancellable): Promise<Leftover[]>;
}

/** What the configuration names as the provider to use; null: nothing. Of the library only. */
export declare function defaultProvider(options?: { configFile?: string }): Promise<string | null>;

/** The tools for agents that `Sandbox.tool` calls, as a model takes them; `execute`: with that which runs commands. Of the library only. */
export declare function tools(options?: {
    execute?: boolean;
}): Promise<{ name: string; title: string; description: string; inputSchema: object; annotations: object }[]>;
