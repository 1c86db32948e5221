"""A sandbox as a backend of deepagents: each of its operations is one call of Sandlot's library, and no script runs in the box."""

from __future__ import annotations

import base64
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from deepagents.backends import protocol
from deepagents.backends.sandbox import BaseSandbox

from sandlot import _calls
from sandlot._base import Base
from sandlot._jobs import Call
from sandlot._results import Entry, Found, Matches, Page, Result, SandlotError

T = TypeVar("T")
R = TypeVar("R")

_MOST = 2**62
"""Lines and matches beyond it are all there are; the library's numbers end a little later."""

_FILE_ERRORS = {
    "file_not_found": "file_not_found",
    "path_not_found": "file_not_found",
    "permission_denied": "permission_denied",
    "is_directory": "is_directory",
    "invalid_path": "invalid_path",
    "not_a_directory": "invalid_path",
}
"""The four words that the framework has for the fate of a file, for codes of ours; it compares them as a whole."""


@dataclass(frozen=True)
class _Plan(Generic[T, R]):
    """A call, and what the framework is told of either end of it, however it waits."""

    begin: Callable[[Any], Call[T]]
    good: Callable[[T], R]
    bad: Callable[[SandlotError], R]


def _bounded(number: int) -> int:
    return max(0, min(int(number), _MOST))


def _shown(path: str) -> str:
    """A path that can be sent to a model: names that are no UTF-8 cannot."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _file_info(entry: Entry) -> protocol.FileInfo:
    info: protocol.FileInfo = {"path": _shown(entry.path), "is_dir": entry.is_dir}
    if entry.size is not None:
        info["size"] = entry.size
    if entry.modified_at is not None:
        with contextlib.suppress(OverflowError, ValueError, OSError):  # a year that the calendar does not have
            info["modified_at"] = datetime.fromtimestamp(entry.modified_at, UTC).isoformat()
    return info


def _place_error(path: str | None, error: SandlotError) -> str:
    """With the code, which the framework looks for ("not_a_directory")."""
    return f"Path '{path or '.'}': {error.code}: {error}"


def _page(page: Page) -> protocol.ReadResult:
    if page.binary:
        whole = base64.b64encode(page.content).decode()
        return protocol.ReadResult(file_data={"content": whole, "encoding": "base64"})
    data: protocol.FileData = {"content": page.text, "encoding": "utf-8"}
    if page.start_line < 1:
        return protocol.ReadResult(file_data=data, no_lines_requested=not page.empty)
    return protocol.ReadResult(
        file_data=data,
        total_lines=page.total_lines,
        start_line=page.start_line,
        end_line=page.end_line,
        next_offset=None if page.next_offset is None else page.end_line,
    )


def _edit_error(error: SandlotError) -> str:
    if error.code == "multiple_occurrences":
        return f"Error: the string appears multiple times: {error}"
    return f"Error: {error}"


def _grep_result(found: Matches, most: int | None) -> protocol.GrepResult:
    matches: list[protocol.GrepMatch] = [
        {"path": _shown(match.path), "line": match.line, "text": match.text} for match in found.matches
    ]
    return protocol.GrepResult(
        matches=matches[:most], truncated=found.truncated or (most is not None and len(matches) > most)
    )


def _transfer_error(error: SandlotError) -> str:
    return _FILE_ERRORS.get(error.code) or f"{error.code}: {error}"


class SandlotSandbox(BaseSandbox):
    """An open sandbox as the backend of an agent.

    sandbox   a `Sandbox` or `AsyncSandbox` that is open, and stays its owner's to close; or what `SandlotProvider` made
    timeout   seconds that a command may run which is given no time limit; 0: none

    All methods are the framework's. What fails in the box is an answer with `error` (of `execute` an output that begins with "Error:"
    and no exit code), so that an agent can go on. Any thread, any event loop; cancelling a task cancels its call.
    """

    def __init__(self, sandbox: Base, *, timeout: int = 1800) -> None:
        self.sandbox = sandbox
        self._timeout = timeout
        self._id = sandbox.id  # which is asked for after the end too
        self._lock = threading.Lock()
        self._running = 0
        self._ended = False

    @property
    def id(self) -> str:
        """The sandbox's id, also when it has been deleted."""
        return self._id

    def end(self) -> bool:
        """Refuses all further calls. True: none runs, and the session can be closed; False: the last that runs closes it."""
        with self._lock:
            self._ended = True
            return self._running == 0

    @contextlib.contextmanager
    def _used(self) -> Iterator[Any]:
        with self._lock:
            if self._ended:
                raise SandlotError("sandbox_not_found", f"sandbox {self._id} has been deleted")
            session = self.sandbox._open()
            self._running += 1
        try:
            yield session
        finally:
            with self._lock:
                self._running -= 1
                last = self._ended and self._running == 0
            closing = self.sandbox._closing() if last else None
            if closing is not None:
                with contextlib.suppress(SandlotError):  # whoever deleted the sandbox was told
                    closing.wait()

    def _run(self, plan: _Plan[T, R]) -> R:
        try:
            with self._used() as session:
                value = plan.begin(session).wait()
        except SandlotError as error:
            return plan.bad(error)
        except ValueError as error:  # a NUL, or half of a surrogate pair
            return plan.bad(SandlotError("invalid_path", str(error)))
        return plan.good(value)

    async def _run_async(self, plan: _Plan[T, R]) -> R:
        try:
            with self._used() as session:
                value = await plan.begin(session).wait_async()
        except SandlotError as error:
            return plan.bad(error)
        except ValueError as error:
            return plan.bad(SandlotError("invalid_path", str(error)))
        return plan.good(value)

    def _execute(self, command: str, timeout: int | None) -> _Plan[Result, protocol.ExecuteResponse]:
        seconds = self._timeout if timeout is None else timeout
        if seconds < 0:
            raise ValueError(f"timeout must not be negative, got {seconds}; 0 is none")
        return _Plan(
            lambda session: _calls.execute(session, command, seconds or None, None, None, None, None, 0),
            lambda result: protocol.ExecuteResponse(
                output=result.text, exit_code=result.exit_code, truncated=result.truncated
            ),
            lambda error: protocol.ExecuteResponse(output=f"Error: {error}", exit_code=None, truncated=False),
        )

    def execute(self, command: str, *, timeout: int | None = None) -> protocol.ExecuteResponse:
        """Runs a shell command line; `timeout` in seconds, 0: none, None: that of this backend."""
        return self._run(self._execute(command, timeout))

    async def aexecute(self, command: str, *, timeout: int | None = None) -> protocol.ExecuteResponse:
        """`execute` in the event loop."""
        return await self._run_async(self._execute(command, timeout))

    def execute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        max_capture_bytes: int | None = None,
        timeout: int | None = None,
    ) -> protocol.ExecuteOffloadResult:
        """`execute`, with nothing left at `capture_path`: the framework writes large output there itself, by `write`."""
        return protocol.ExecuteOffloadResult(offloaded=False, response=self.execute(command, timeout=timeout))

    async def aexecute_with_offload(
        self,
        command: str,
        capture_path: str,
        *,
        max_inline_bytes: int,
        max_capture_bytes: int | None = None,
        timeout: int | None = None,
    ) -> protocol.ExecuteOffloadResult:
        """`execute_with_offload` in the event loop."""
        return protocol.ExecuteOffloadResult(offloaded=False, response=await self.aexecute(command, timeout=timeout))

    def _read(self, path: str, offset: int, limit: int) -> _Plan[Page, protocol.ReadResult]:
        return _Plan(
            lambda session: _calls.read(session, path, _bounded(offset), _bounded(limit)),
            _page,
            lambda error: protocol.ReadResult(error=f"File '{path}': {error.code}: {error}"),
        )

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        """A page of a text file, `offset` lines in; or a whole binary file."""
        return self._run(self._read(file_path, offset, limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        """`read` in the event loop."""
        return await self._run_async(self._read(file_path, offset, limit))

    def _write(self, path: str, content: str) -> _Plan[None, protocol.WriteResult]:
        return _Plan(
            lambda session: _calls.write(session, path, content),
            lambda _: protocol.WriteResult(path=path),
            lambda error: protocol.WriteResult(error=f"Failed to write file '{path}': {error}"),
        )

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        """Creates or replaces a file, with its parent directories."""
        return self._run(self._write(file_path, content))

    async def awrite(self, file_path: str, content: str) -> protocol.WriteResult:
        """`write` in the event loop."""
        return await self._run_async(self._write(file_path, content))

    def _edit(self, path: str, old: str, new: str, replace_all: bool) -> _Plan[int, protocol.EditResult]:
        return _Plan(
            lambda session: _calls.edit(session, path, old, new, replace_all),
            lambda count: protocol.EditResult(path=path, occurrences=count),
            lambda error: protocol.EditResult(error=_edit_error(error)),
        )

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> protocol.EditResult:
        """Replaces text, which must occur once unless `replace_all`."""
        return self._run(self._edit(file_path, old_string, new_string, replace_all))

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> protocol.EditResult:
        """`edit` in the event loop."""
        return await self._run_async(self._edit(file_path, old_string, new_string, replace_all))

    def _delete(self, path: str) -> _Plan[None, protocol.DeleteResult]:
        return _Plan(
            lambda session: _calls.remove(session, path),
            lambda _: protocol.DeleteResult(path=path),
            lambda error: protocol.DeleteResult(error=f"Error: {error}"),
        )

    def delete(self, file_path: str) -> protocol.DeleteResult:
        """Removes a file, a link, or a directory with all that is in it."""
        return self._run(self._delete(file_path))

    async def adelete(self, file_path: str) -> protocol.DeleteResult:
        """`delete` in the event loop."""
        return await self._run_async(self._delete(file_path))

    def _ls(self, path: str) -> _Plan[list[Entry], protocol.LsResult]:
        return _Plan(
            lambda session: _calls.ls(session, path),
            lambda entries: protocol.LsResult(entries=[_file_info(entry) for entry in entries]),
            lambda error: protocol.LsResult(error=_place_error(path, error)),
        )

    def ls(self, path: str) -> protocol.LsResult:
        """The entries of a directory, hidden ones too."""
        return self._run(self._ls(path))

    async def als(self, path: str) -> protocol.LsResult:
        """`ls` in the event loop."""
        return await self._run_async(self._ls(path))

    def _glob(self, pattern: str, path: str | None) -> _Plan[Found, protocol.GlobResult]:
        return _Plan(
            lambda session: _calls.glob(session, pattern, path, False),
            lambda found: protocol.GlobResult(
                matches=[_file_info(entry) for entry in found.entries], truncated=found.truncated
            ),
            lambda error: protocol.GlobResult(error=_place_error(path, error)),
        )

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        """The files that match a pattern, below `path` or the working directory."""
        return self._run(self._glob(pattern, path))

    async def aglob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        """`glob` in the event loop."""
        return await self._run_async(self._glob(pattern, path))

    def _grep(
        self, text: str, path: str | None, glob: str | None, max_count: int | None
    ) -> _Plan[Matches, protocol.GrepResult]:
        most = None if max_count is None else _bounded(max_count)
        return _Plan(
            # Where 0 matches are wanted one tells whether there are more; to the library 0 is all.
            lambda session: _calls.grep(session, text, path, glob, 0 if most is None else max(most, 1)),
            lambda found: _grep_result(found, most),
            lambda error: protocol.GrepResult(error=_place_error(path, error)),
        )

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        """The lines that have a literal text, in the files below `path` that match `glob`."""
        return self._run(self._grep(pattern, path, glob, max_count))

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        """`grep` in the event loop."""
        return await self._run_async(self._grep(pattern, path, glob, max_count))

    def _upload(self, path: str, content: bytes) -> _Plan[None, protocol.FileUploadResponse]:
        return _Plan(
            lambda session: _calls.upload(session, path, content),
            lambda _: protocol.FileUploadResponse(path=path, error=None),
            lambda error: protocol.FileUploadResponse(path=path, error=_transfer_error(error)),
        )

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        """Writes exact bytes to absolute paths; one answer for each, in their order."""
        return [self._run(self._upload(path, content)) for path, content in files]

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        """`upload_files` in the event loop."""
        return [await self._run_async(self._upload(path, content)) for path, content in files]

    def _download(self, path: str) -> _Plan[bytes, protocol.FileDownloadResponse]:
        return _Plan(
            lambda session: _calls.download(session, path),
            lambda content: protocol.FileDownloadResponse(path=path, content=content, error=None),
            lambda error: protocol.FileDownloadResponse(path=path, content=None, error=_transfer_error(error)),
        )

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        """All bytes of files; one answer for each, in their order."""
        return [self._run(self._download(path)) for path in paths]

    async def adownload_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        """`download_files` in the event loop."""
        return [await self._run_async(self._download(path)) for path in paths]
