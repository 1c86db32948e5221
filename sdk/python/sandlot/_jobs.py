"""A call of the library as a job: started, waited for by its descriptor, cancelled, freed."""

from __future__ import annotations

import asyncio
import itertools
import select
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sandlot import _library as c
from sandlot._library import library
from sandlot._results import SandlotError

_BRIEF_MS = 1
"""So long a blocking call waits within the library: that costs least, and that it heeds no Ctrl-C meanwhile nobody notices."""
_TURNS = 16
"""Of the event loop, in which a small call of a box on this machine has ended: watching a descriptor costs as much."""
_AT_ONCE = 8
"""Of so many calls, also where all have ended by the time they were submitted, one lets the event loop go round."""
_count = itertools.count()

T = TypeVar("T")
Start = Callable[[Any], Any]


def raise_error(error: c.Error) -> None:
    """Raises what a function of the library has filled in."""
    code = library.code_name(error.code).decode()
    message = (error.message or b"it failed").decode(errors="replace")
    library.error_clear(error)
    raise SandlotError(code, message)


Waiting = dict[int, asyncio.Future[None]]
_waiting: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[select.epoll, Waiting]] = weakref.WeakKeyDictionary()


def _watching(loop: asyncio.AbstractEventLoop) -> tuple[select.epoll, Waiting]:
    """An epoll(7) of the jobs that LOOP waits for, and their futures by descriptor: the loop itself watches that one descriptor,
    for adding a reader and removing it costs more than many a call does."""
    if loop not in _waiting:
        epoll = select.epoll()
        waiting: Waiting = {}

        def tell() -> None:
            for descriptor, _event in epoll.poll(0):
                ended = waiting.pop(descriptor)
                if not ended.done():
                    ended.set_result(None)

        loop.add_reader(epoll.fileno(), tell)
        _waiting[loop] = epoll, waiting
    return _waiting[loop]


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
        self._job = self._start(error)
        if self._job is None:
            raise_error(error)

    def _end(self, patience_ms: int) -> bool:
        """Whether it ends within PATIENCE_MS; raises why it failed."""
        error = c.Error()
        state = library.job_wait(self._job, patience_ms, error)
        if state > 0:
            return False
        if self.problem is not None:
            library.error_clear(error)
            raise self.problem
        if state < 0:
            raise_error(error)
        return True

    def wait(self) -> T:
        """Blocks; Ctrl-C cancels the call, waits until it has ended, and is raised."""
        self._begin()
        try:
            if not self._end(_BRIEF_MS):
                ready = select.poll()
                ready.register(library.job_descriptor(self._job), select.POLLIN)
                ready.poll()
                self._end(-1)
            return self._finish(self._job)
        finally:
            library.job_free(self._job)  # cancels what still runs, and waits for its end

    async def wait_async(self) -> T:
        """In the event loop, by the job's descriptor; cancelling the task cancels the call and waits for its end."""
        self._begin()
        try:
            cancelled = await self._ended()
            if cancelled is not None:
                raise cancelled
            self._end(-1)
            return self._finish(self._job)
        finally:
            library.job_free(self._job)

    async def _ended(self) -> asyncio.CancelledError | None:
        try:
            for turn in range(_TURNS + 1):
                if turn > 0 or next(_count) % _AT_ONCE == 0:
                    await asyncio.sleep(0)
                if library.job_wait(self._job, 0, None) <= 0:
                    return None
        except asyncio.CancelledError as problem:
            library.job_cancel(self._job)
            return await self._readable(problem)
        return await self._readable(None)

    async def _readable(self, cancelled: asyncio.CancelledError | None) -> asyncio.CancelledError | None:
        loop = asyncio.get_running_loop()
        descriptor = library.job_descriptor(self._job)
        epoll, waiting = _watching(loop)
        epoll.register(descriptor, select.EPOLLIN | select.EPOLLONESHOT)  # until the job is freed
        try:
            while True:
                waiting[descriptor] = ended = loop.create_future()
                try:
                    await ended
                    return cancelled
                except asyncio.CancelledError as problem:
                    library.job_cancel(self._job)
                    cancelled = problem
                    if descriptor not in waiting:
                        return cancelled
        finally:
            waiting.pop(descriptor, None)


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
