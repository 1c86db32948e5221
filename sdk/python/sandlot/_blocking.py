"""Sandboxes: the blocking calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from sandlot import _calls
from sandlot._base import Base
from sandlot._calls import Path
from sandlot._changes import Changes
from sandlot._network import Ports, SandboxNetwork
from sandlot._processes import Processes
from sandlot._results import Entry, Found, Matches, Page, Result, ToolAnswer


class Sandbox(Base):
    """A sandbox as a context manager: made or attached to at its beginning, deleted at its end if it was made here.

        with Sandbox() as box:
            print(box.execute("uname -a").text)

    `Base` tells what it is made with. `processes`, `network`, `ports` and `changes` are calls that belong together.
    Ctrl-C cancels the call that waits.
    """

    @cached_property
    def processes(self) -> Processes:
        """Background processes in it."""
        return Processes(self._open)

    @cached_property
    def network(self) -> SandboxNetwork:
        """What it may reach."""
        return SandboxNetwork(self._open)

    @cached_property
    def ports(self) -> Ports:
        """Servers in it."""
        ports = Ports(self._open)
        self._forwards.append(ports.close)
        return ports

    @cached_property
    def changes(self) -> Changes:
        """What has become of a folder of this machine in it."""
        return Changes(self._open)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """What entering the context does: when it returns, the sandbox can run commands."""
        with self._opening() as call:
            self._opened(call.wait())

    def close(self) -> None:
        """What leaving the context does. A second time it does nothing, nor in a process that was forked off."""
        closing = self._closing()
        if closing is not None:
            closing.wait()

    def execute(
        self,
        command: str,
        *,
        timeout: float | None = 1800,
        working_dir: Path | None = None,
        environment: Mapping[str, str] | None = None,
        input: bytes | None = None,
        output: Callable[[bytes], None] | None = None,
        output_limit: int = 0,
    ) -> Result:
        """Runs one shell command line and waits for its end; any exit code is a result.

        `timeout` in seconds, None: none. `input`: its standard input. With `output` the command's output goes there as it comes,
        on a thread of the library; an exception there ends the command and is raised here.
        """
        with _calls.input_of(input) as fd:
            call = _calls.execute(self._open(), command, timeout, working_dir, environment, fd, output, output_limit)
            result = call.wait()
        return result

    def read(self, path: Path, *, offset: int = 0, limit: int | None = None) -> Page:
        """Reads a page of a text file, `offset` lines in and at most `limit` (None: 2000) lines long, or a whole binary file."""
        return _calls.read(self._open(), path, offset, limit).wait()

    def write(self, path: Path, content: str | bytes) -> None:
        """Creates or replaces a file, with its parent directories."""
        _calls.write(self._open(), path, content).wait()

    def edit(self, path: Path, old: str, new: str, *, replace_all: bool = False) -> int:
        """Replaces text, which must occur once unless `replace_all`; returns how often it did."""
        return _calls.edit(self._open(), path, old, new, replace_all).wait()

    def remove(self, path: Path) -> None:
        """Removes a file, a link, or a directory with all that is in it."""
        _calls.remove(self._open(), path).wait()

    def ls(self, path: Path | None = None) -> list[Entry]:
        """The entries of a directory (None: the working directory), hidden ones too."""
        return _calls.ls(self._open(), path).wait()

    def glob(self, pattern: str, path: Path | None = None, *, directories: bool = False) -> Found:
        """The files that match a pattern, such as "*.c" (at any depth) or "src/**/*.{h,c}"; with `directories` those too."""
        return _calls.glob(self._open(), pattern, path, directories).wait()

    def grep(self, text: str, path: Path | None = None, *, glob: str | None = None, max_count: int = 0) -> Matches:
        """The lines that have a literal text, in the files below `path` that match the pattern `glob`; `max_count` 0: all."""
        return _calls.grep(self._open(), text, path, glob, max_count).wait()

    def upload_file(self, local: Path, path: Path, *, recursive: bool = False) -> None:
        """Copies a local file, or with `recursive` a folder, to an absolute path in the sandbox."""
        _calls.transfer(self._open(), True, path, local, recursive).wait()

    def download_file(self, path: Path, local: Path, *, recursive: bool = False) -> None:
        """Copies a file of the sandbox, or with `recursive` a folder, to a local path."""
        _calls.transfer(self._open(), False, path, local, recursive).wait()

    def upload(self, path: Path, content: bytes) -> None:
        """Writes exact bytes from memory to an absolute path in the sandbox."""
        _calls.upload(self._open(), path, content).wait()

    def download(self, path: Path) -> bytes:
        """All bytes of the file at an absolute path in the sandbox."""
        return _calls.download(self._open(), path).wait()

    def terminal(
        self,
        input: int,
        output: Callable[[bytes], None],
        *,
        command: str | None = None,
        window: Callable[[], tuple[int, int]] | None = None,
        resized: int = -1,
        working_dir: Path | None = None,
        environment: Mapping[str, str] | None = None,
        term: str | None = None,
    ) -> int | None:
        """Runs a command (None: a shell) in a terminal of the sandbox until it ends; its exit code, None: unknown.

        `input`: the descriptor of what is typed, whose end hangs up. `output` gets what is shown, `window` tells rows and columns, both on
        a thread of the library; `resized`: a descriptor that is readable when the window has changed.
        """
        call = _calls.terminal(self._open(), input, output, command, window, resized, working_dir, environment, term)
        return call.wait()

    def tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        maximum_bytes: int = 0,
        output: Callable[[bytes], None] | None = None,
    ) -> ToolAnswer:
        """Calls one of `tools()` for a model; what the model could mend is an answer with `is_error`."""
        return _calls.tool(self._open(), name, arguments, maximum_bytes, output).wait()
