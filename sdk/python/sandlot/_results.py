"""What calls return, and the error that they raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["running", "exited", "lost"]
Kind = Literal["added", "modified", "removed", "mode", "type"]


class SandlotError(Exception):
    """A call failed. `code` is the stable name of the reason, such as "file_not_found"; str() is a sentence for a person."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[1])


@dataclass(frozen=True)
class Result:
    """A command that ran, whatever its exit code."""

    exit_code: int | None
    """0 to 255, 128 + n for signal n, 124 after a timeout; None where the provider cannot tell."""
    output: bytes
    """Standard output and error, in order; empty where it was streamed."""
    output_total: int
    """Bytes that the command printed."""
    timed_out: bool
    truncated: bool
    """The middle of the output was left out, around a line that says so."""

    @property
    def text(self) -> str:
        """The output as text; bytes that are no UTF-8 become U+FFFD."""
        return self.output.decode(errors="replace")


@dataclass(frozen=True)
class Page:
    """A page of a text file, or a whole binary file."""

    content: bytes
    binary: bool
    empty: bool
    truncated: bool
    lossy: bool
    start_line: int
    end_line: int
    """First and last line, from 1; 0: none."""
    total_lines: int | None
    next_offset: int | None
    """Where to go on; None: the end was reached."""
    line_truncated: int
    """Bytes of the last line that were left out because the line alone is too long."""

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode(errors="replace")


@dataclass(frozen=True)
class Entry:
    """An entry of a directory, or a file that matches a pattern (whose size and time are then None)."""

    path: str
    is_dir: bool
    is_symlink: bool
    size: int | None
    modified_at: float | None
    """Seconds since 1970, UTC."""


@dataclass(frozen=True)
class Match:
    """A line that has the text that was looked for."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """What a search by pattern found; `truncated`: there may be more."""

    entries: list[Entry]
    truncated: bool


@dataclass(frozen=True)
class Matches:
    """What a search by text found; `truncated`: there may be more."""

    matches: list[Match]
    truncated: bool


@dataclass(frozen=True)
class Process:
    """A background process, as it was when the sandbox looked."""

    id: str
    command: str
    """Of one of more than 4 KiB the beginning, and then "..."."""
    state: State
    """"lost": nobody saw its end."""
    exit_code: int | None
    """0 to 255, 128 + n for signal n, 124 after its time limit; None: it has not ended, or nobody saw it."""
    timed_out: bool
    input_open: bool
    separate_errors: bool
    started_at: float
    """Seconds since 1970, UTC, of the sandbox's clock."""
    ended_at: float | None
    output_first: int
    """What is kept of the output are its bytes from this one to `output_total`."""
    output_total: int
    errors_first: int
    """The same of standard error, where that is a log of its own."""
    errors_total: int


@dataclass(frozen=True)
class Log:
    """A part of what a background process has printed."""

    content: bytes
    start: int
    """Where it begins; later than what was asked for where the beginning is no longer kept."""
    next: int
    """Where to go on."""
    process: Process

    @property
    def text(self) -> str:
        """The content as text; bytes that are no UTF-8 become U+FFFD."""
        return self.content.decode(errors="replace")


@dataclass(frozen=True)
class ToolAnswer:
    """What a tool for agents answers."""

    content: list[dict[str, Any]]
    """{"type": "text", "text": …} and {"type": "image", "data": …, "mimeType": …}."""
    meta: dict[str, Any]
    is_error: bool
    """Something that a model can mend; the content says what."""


@dataclass(frozen=True)
class Change:
    """A path that differs between a sandbox and the folder of this machine that it began with."""

    path: str
    """Below the working directory."""
    kind: Kind
    type: str
    """"file", "directory", "symlink", "fifo", "socket" or "device"; of a removed path what it was."""
    old_mode: int
    new_mode: int
    old_size: int
    new_size: int
    link_target: str | None
    risk: str | None
    """Why to look at it first."""
    binary: bool
    conflict: bool
    """The folder of this machine has been changed there too."""


@dataclass(frozen=True)
class Network:
    """What a sandbox may reach."""

    mode: str | None
    """"off", "allow" or "open"; None: what the provider always gives."""
    allow: list[str]
    credentials: dict[str, str]
    """The header that gets a secret outside the sandbox, by host."""
    source: str | None
    """Where that was asked for."""
    note: str | None
    """What is the matter with it."""
    broken: bool
    """That it has broken and does not come back, instead of what the provider or the machine lacks."""


@dataclass(frozen=True)
class NetworkEvent:
    """One decision about a connection or request of a sandbox."""

    number: int
    at: float
    """Seconds since 1970, UTC."""
    allowed: bool
    host: str
    port: int
    rule: str | None
    reason: str | None
    bytes_in: int
    bytes_out: int
    duration: float
    """Seconds."""


@dataclass(frozen=True)
class PortUrl:
    """Where a vendor's own network reaches a port of a sandbox."""

    url: str
    header: str | None
    """"Name: value" that every request needs, a secret."""
    expires_at: float | None
    """Seconds since 1970, UTC; None: with the sandbox."""
    is_public: bool


@dataclass(frozen=True)
class Listed:
    """A sandbox, or a snapshot, of a provider."""

    id: str
    provider: str
    state: str | None
    created_at: float | None
    """Seconds since 1970, UTC."""
    mine: bool
    """This user's Sandlot on this machine has made it; of a snapshot it means nothing."""


@dataclass(frozen=True)
class Volume:
    """Storage of a provider that outlives sandboxes."""

    name: str
    bytes: int | None
    """None: it could not be counted."""
    limit_bytes: int | None
    """None: unknown, or none."""
    writers: int
    """Living sandboxes that may write to it,"""
    readers: int
    """and those that may only read it."""
    used_at: float | None
    """When a sandbox last had it: seconds since 1970, UTC."""


@dataclass(frozen=True)
class Leftover:
    """What a dead process had left behind."""

    provider: str
    id: str | None
    problem: SandlotError | None
    """Why it is still there; None: it is gone."""


@dataclass(frozen=True)
class Provider:
    """A provider that sandboxes can be made with."""

    name: str
    source: str
    """"config", "plugin" or "builtin"."""
    description: str | None
    working_dir: str
    capabilities: frozenset[str]
    """Words such as "terminal", as `sandlot providers NAME` shows them."""
    problem: str | None
    """Why it cannot be used, and what to do; None: it is ready as far as is known without a request."""
