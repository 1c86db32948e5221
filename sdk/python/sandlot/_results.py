"""What calls return, and the error that they raise."""

from __future__ import annotations

from dataclasses import dataclass


class SandlotError(Exception):
    """A call failed. `code` is the stable name of the reason, such as "file_not_found"; str() is a sentence for a person."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


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
