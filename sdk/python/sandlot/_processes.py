"""Background processes of a sandbox: commands that outlive the program that starts them, and what they print."""

from __future__ import annotations

import ctypes
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from sandlot import _library as c
from sandlot._calls import Path, encoded, octets, pairs
from sandlot._group import Group
from sandlot._jobs import Call, listing, nothing
from sandlot._library import library
from sandlot._results import Log, Process, State

_STATES: tuple[State, ...] = ("running", "exited", "lost")
_PIECE = 1 << 20
"""Bytes that one question of a follower brings at most."""


def _process(told: c.Process) -> Process:
    return Process(
        told.id.decode(),
        (told.command or b"").decode(errors="replace"),
        _STATES[told.state],
        told.exit_code if told.has_exit_code else None,
        told.timed_out,
        told.input_open,
        told.separate_errors,
        told.started_at_ms / 1000,
        told.ended_at_ms / 1000 if told.ended_at_ms else None,
        told.output_first,
        told.output_total,
        told.errors_first,
        told.errors_total,
    )


def _milliseconds(seconds: float | None, otherwise: int) -> int:
    return otherwise if seconds is None else max(0, round(seconds * 1000))


def _start(
    session: Any,
    command: str,
    timeout: float | None,
    working_dir: Path | None,
    environment: Mapping[str, str] | None,
    input: bool,
    separate_errors: bool,
    log_bytes: int,
) -> Call[str]:
    words = pairs(environment)
    request = c.Start(
        command=encoded(command),
        working_dir=encoded(working_dir),
        environment=words,
        timeout_ms=0 if timeout is None else max(1, round(timeout * 1000)),
        log_bytes=log_bytes,
        has_input=input,
        separate_errors=separate_errors,
    )
    name = ctypes.create_string_buffer(16)
    return Call(
        lambda error: library.submit_start_process(session, request, name, error),
        lambda _job: name.value.decode(),
        request,
        words,
    )


def _list(session: Any) -> Call[list[Process]]:
    return listing(
        c.EACH_PROCESS, _process, lambda each, error: library.submit_list_processes(session, each, None, error)
    )


def _follow(session: Any, request: c.Follow, log: bool) -> Call[Log]:
    """What there is from the byte on that REQUEST names, or with its wait what comes."""
    pieces: list[bytes] = []
    begun: list[int] = []
    reached = ctypes.c_uint64()
    told = c.Process()

    def finish(_job: Any) -> Log:
        process = _process(told)
        library.process_clear(told)
        return Log(b"".join(pieces), begun[0] if begun else reached.value, reached.value, process)

    call = Call(
        lambda error: library.submit_follow_process(
            session, request, reached, told, error
        ),
        finish,
        request,
    )

    def receive(_context: Any, offset: int, data: int, length: int) -> bool:
        begun.append(offset)
        pieces.append(ctypes.string_at(data, length))
        return True

    if log:
        request.output = c.LOG(call.guarded(receive, False))
    return call


def _log(session: Any, process: str, start: int, most: int, errors: bool) -> Call[Log]:
    return _follow(session, c.Follow(id=encoded(process), start=start, most=most, errors=errors), True)


def _news(session: Any, process: str, start: int, errors: bool) -> Call[Log]:
    request = c.Follow(
        id=encoded(process), start=start, most=_PIECE, wait_ms=-1, errors=errors, first_news=True
    )
    return _follow(session, request, True)


def _is_all(log: Log, errors: bool) -> bool:
    total = log.process.errors_total if errors else log.process.output_total
    return log.process.state != "running" and log.next >= total


def _wait(session: Any, process: str, timeout: float | None) -> Call[Log]:
    return _follow(session, c.Follow(id=encoded(process), wait_ms=_milliseconds(timeout, -1)), False)


def _signal(session: Any, process: str, name: str | None, grace: float) -> Call[None]:
    request = c.Signal(id=encoded(process), name=encoded(name), grace_ms=max(1, round(grace * 1000)))
    return Call(lambda error: library.submit_signal_process(session, request, error), nothing, request)


def _write(session: Any, process: str, content: bytes, close: bool) -> Call[int]:
    data, name = octets(content), encoded(process)
    taken = ctypes.c_uint64()
    return Call(
        lambda error: library.submit_write_process(session, name, data, len(data), close, taken, error),
        lambda _job: taken.value,
    )


class Processes(Group):
    """Background processes, by their ids: `box.processes`. They die with the sandbox, and go on when the program ends."""

    def start(
        self,
        command: str,
        *,
        timeout: float | None = None,
        working_dir: Path | None = None,
        environment: Mapping[str, str] | None = None,
        input: bool = False,
        separate_errors: bool = False,
        log_bytes: int = 0,
    ) -> str:
        """Starts one, and returns its id once it runs.

        `timeout` in seconds, None: none. `input`: `write` may feed it. `separate_errors`: standard error is a log of its own.
        `log_bytes`: the newest bytes of output that are kept, 1 MiB to 1 GiB (0: 64 MiB).
        """
        call = _start(self._open(), command, timeout, working_dir, environment, input, separate_errors, log_bytes)
        return call.wait()

    def list(self) -> list[Process]:
        """All, in the order of their numbers; of those that have ended the newest 64."""
        return _list(self._open()).wait()

    def log(self, process: str, *, start: int = 0, most: int = 0, errors: bool = False) -> Log:
        """What is kept of its output from byte `start` on (below 0: from the end), at most `most` bytes; `errors`: of standard error."""
        return _log(self._open(), process, start, most, errors).wait()

    def follow(self, process: str, *, start: int = 0, errors: bool = False) -> Iterator[bytes]:
        """Its output as it comes, until it has ended. Leaving the loop leaves the process alone."""
        log: Log | None = None
        while log is None or not _is_all(log, errors):
            log = _news(self._open(), process, log.next if log else start, errors).wait()
            if log.content:
                yield log.content

    def wait(self, process: str, *, timeout: float | None = None) -> Process:
        """Waits for its end, at most `timeout` seconds; then it is still "running"."""
        return _wait(self._open(), process, timeout).wait().process

    def signal(self, process: str, name: str | None = None, *, grace: float = 5) -> None:
        """Sends "TERM", "INT" and the like to its group, "KILL" to all that it started; None: TERM, then KILL after `grace` seconds."""
        _signal(self._open(), process, name, grace).wait()

    def write(self, process: str, content: bytes, *, close: bool = False) -> int:
        """Writes to its standard input, then closes that if `close`; returns how much it has taken."""
        return _write(self._open(), process, content, close).wait()


class AsyncProcesses(Group):
    """Background processes, by their ids: `box.processes`. They die with the sandbox, and go on when the program ends."""

    async def start(
        self,
        command: str,
        *,
        timeout: float | None = None,
        working_dir: Path | None = None,
        environment: Mapping[str, str] | None = None,
        input: bool = False,
        separate_errors: bool = False,
        log_bytes: int = 0,
    ) -> str:
        """As `Processes.start`."""
        call = _start(self._open(), command, timeout, working_dir, environment, input, separate_errors, log_bytes)
        return await call.wait_async()

    async def list(self) -> list[Process]:
        """As `Processes.list`."""
        return await _list(self._open()).wait_async()

    async def log(self, process: str, *, start: int = 0, most: int = 0, errors: bool = False) -> Log:
        """As `Processes.log`."""
        return await _log(self._open(), process, start, most, errors).wait_async()

    async def follow(self, process: str, *, start: int = 0, errors: bool = False) -> AsyncIterator[bytes]:
        """As `Processes.follow`."""
        log: Log | None = None
        while log is None or not _is_all(log, errors):
            log = await _news(self._open(), process, log.next if log else start, errors).wait_async()
            if log.content:
                yield log.content

    async def wait(self, process: str, *, timeout: float | None = None) -> Process:
        """As `Processes.wait`."""
        return (await _wait(self._open(), process, timeout).wait_async()).process

    async def signal(self, process: str, name: str | None = None, *, grace: float = 5) -> None:
        """As `Processes.signal`."""
        await _signal(self._open(), process, name, grace).wait_async()

    async def write(self, process: str, content: bytes, *, close: bool = False) -> int:
        """As `Processes.write`."""
        return await _write(self._open(), process, content, close).wait_async()
