import type { OpenOptions, Sandbox } from './index.js';

export type FileError = 'file_not_found' | 'permission_denied' | 'is_directory' | 'invalid_path';
export type FileInfo = { path: string; is_dir: boolean; size?: number; modified_at?: string };

/** A sandbox as `createDeepAgent({ backend })` takes it. Failures that a model can mend are answers with `error`. */
export declare class SandlotSandbox {
    /** BOX stays the caller's to close. `timeout`: of each command, in seconds (1800). */
    constructor(box: Sandbox, options?: { timeout?: number | null });
    /** With a sandbox of its own, which `close` deletes. */
    static open(options?: OpenOptions & { timeout?: number | null }): Promise<SandlotSandbox>;
    readonly id: string;
    readonly box: Sandbox;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
    execute(command: string): Promise<{ output: string; exitCode: number | null; truncated: boolean }>;
    read(
        path: string,
        offset?: number,
        limit?: number,
    ): Promise<{
        error?: string;
        content?: string | Uint8Array;
        mimeType?: string;
        totalLines?: number;
        startLine?: number;
        endLine?: number;
        nextOffset?: number;
    }>;
    readRaw(
        path: string,
    ): Promise<{ error?: string; data?: { content: string | Uint8Array; mimeType: string; created_at: string; modified_at: string } }>;
    write(path: string, content: string): Promise<{ path?: string; error?: string }>;
    edit(
        path: string,
        before: string,
        after: string,
        replaceAll?: boolean,
    ): Promise<{ path?: string; occurrences?: number; error?: string }>;
    delete(path: string): Promise<{ path?: string; error?: string }>;
    ls(path: string): Promise<{ files?: FileInfo[]; error?: string }>;
    glob(pattern: string, path?: string): Promise<{ files?: FileInfo[]; error?: string }>;
    grep(
        text: string,
        path?: string | null,
        glob?: string | null,
        maxCount?: number | null,
    ): Promise<{ matches?: { path: string; line: number; text: string }[]; truncated?: boolean; error?: string }>;
    uploadFiles(files: [string, Uint8Array][]): Promise<{ path: string; error: FileError | null }[]>;
    downloadFiles(paths: string[]): Promise<{ path: string; content: Uint8Array | null; error: FileError | null }[]>;
}
