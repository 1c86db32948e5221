"""The types that deepagents 0.7.8 says in public of its results, for mypy; deepagents_facts.py has names and defaults for what runs."""

from dataclasses import dataclass
from typing import NotRequired, TypedDict

class FileInfo(TypedDict):
    path: str
    is_dir: NotRequired[bool]
    size: NotRequired[int]
    modified_at: NotRequired[str]

class FileData(TypedDict):
    content: str
    encoding: str
    created_at: NotRequired[str]
    modified_at: NotRequired[str]

class GrepMatch(TypedDict):
    path: str
    line: int
    text: str

@dataclass
class ReadResult:
    error: str | None = None
    file_data: FileData | None = None
    total_lines: int | None = None
    start_line: int | None = None
    end_line: int | None = None
    next_offset: int | None = None
    no_lines_requested: bool = False

@dataclass
class WriteResult:
    error: str | None = None
    path: str | None = None

@dataclass
class EditResult:
    error: str | None = None
    path: str | None = None
    occurrences: int | None = None

@dataclass
class DeleteResult:
    error: str | None = None
    path: str | None = None

@dataclass
class LsResult:
    error: str | None = None
    entries: list[FileInfo] | None = None

@dataclass
class GlobResult:
    error: str | None = None
    matches: list[FileInfo] | None = None
    truncated: bool = False

@dataclass
class GrepResult:
    error: str | None = None
    matches: list[GrepMatch] | None = None
    truncated: bool = False

@dataclass
class ExecuteResponse:
    output: str
    exit_code: int | None = None
    truncated: bool = False

@dataclass(frozen=True)
class ExecuteOffloadResult:
    offloaded: bool
    response: ExecuteResponse

@dataclass
class FileUploadResponse:
    path: str
    error: str | None = None

@dataclass
class FileDownloadResponse:
    path: str
    content: bytes | None = None
    error: str | None = None
