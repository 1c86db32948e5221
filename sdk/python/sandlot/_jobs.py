"""A call of the library as a job: started, waited for by its descriptor, cancelled, freed."""

from __future__ import annotations

import asyncio
import ctypes
import select
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sandlot import _library as c
from sandlot._library import library
from sandlot._results import SandlotError

T = TypeVar("T")
Start = Callable[[Any], Any]


def raise_error(error: c.Error) -> None:
    """Raises what a function of the library has filled in."""
    code = library.code_name(error.code).decode()
    message = (error.message or b"it failed").decode(errors="replace")
    library.error_clear(ctypes.byref(error))
    raise SandlotError(code, message)


def _settle(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


class Call(Generic[T]):
    """What is to be started, what its fruit is, and what must stay alive until then.

    `problem` is the first exception of a callback: it ends the call, and is raised in its place.
    """

    def __init__(self, start: Start, finish: Callable[[Any], T], *keep: Any) -> None:
        self._start = start
        self._finish = finish
        self._keep = keep
        self._job: Any = None
        self.problem: BaseException | None = None

    def guarded(self, function: Callable[..., Any], otherwise: Any) -> Callable[..., Any]:
        """FUNCTION for C, which no exception may reach: it is kept, and the job cancelled."""

        def called(*arguments: Any) -> Any:
            if self.problem is None:
                try:
                    return function(*arguments)
                except BaseException as problem:  # whatever it is, it belongs to whoever called
                    self.problem = problem
                    if self._job is not None:
                        library.job_cancel(self._job)
            return otherwise

        return called

    def _begin(self) -> None:
        error = c.Error()
        self._job = self._start(ctypes.byref(error))
        if self._job is None:
            raise_error(error)

    def _end(self) -> T:
        error = c.Error()
        state = library.job_wait(self._job, -1, ctypes.byref(error))
        if self.problem is not None:
            library.error_clear(ctypes.byref(error))
            raise self.problem
        if state < 0:
            raise_error(error)
        return self._finish(self._job)

    def wait(self) -> T:
        """Blocks; Ctrl-C cancels the call, waits until it has ended, and is raised."""
        self._begin()
        try:
            ready = select.poll()
            ready.register(library.job_descriptor(self._job), select.POLLIN)
            ready.poll()
            return self._end()
        finally:
            library.job_free(self._job)  # cancels what still runs, and waits for its end

    async def wait_async(self) -> T:
        """In the event loop, by the job's descriptor; cancelling the task cancels the call and waits for its end."""
        self._begin()
        loop = asyncio.get_running_loop()
        descriptor = library.job_descriptor(self._job)
        try:
            cancelled = await self._readable(loop, descriptor)
            if cancelled is not None:
                raise cancelled
            return self._end()
        finally:
            library.job_free(self._job)

    async def _readable(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> asyncio.CancelledError | None:
        cancelled = None
        while True:
            ended: asyncio.Future[None] = loop.create_future()
            loop.add_reader(descriptor, _settle, ended)
            try:
                await ended
                return cancelled
            except asyncio.CancelledError as problem:
                cancelled = problem
                library.job_cancel(self._job)
            finally:
                loop.remove_reader(descriptor)


def nothing(_job: Any) -> None:
    """The fruit of a call that has none."""


def listing(kind: Callable[..., Any], made: Callable[[Any], T], start: Callable[[Any, Any], Any], *keep: Any) -> Call[list[T]]:
    """A call that hands out structs one by one, to a callback of this KIND: a list of what MADE makes of each."""
    found: list[T] = []

    def receive(_context: Any, pointer: Any) -> bool:
        found.append(made(pointer.contents))
        return True

    call = Call(lambda error: start(each, error), lambda _job: found, *keep)
    each = kind(call.guarded(receive, False))
    return call


def error_at(pointer: Any) -> SandlotError | None:
    """The error that C shows to a callback, which stays C's; None for NULL."""
    if not pointer:
        return None
    error = pointer.contents
    return SandlotError(library.code_name(error.code).decode(), (error.message or b"it failed").decode(errors="replace"))
