"""What the blocking and the asynchronous sandbox have in common: what it is made with, and its life."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sandlot import _library as c
from sandlot import _runtime
from sandlot._calls import Parameters, Path, Progress
from sandlot._jobs import Call, raise_error
from sandlot._library import library
from sandlot._results import SandlotError


class Base:
    """A sandbox that is not made before it is opened.

    provider    the name of a provider; None: "local"
    sandbox_id  attach to this sandbox, which is then never deleted; None: make one
    snapshot    start from the snapshot of this name
    setup       a local script that runs in the sandbox once it is there
    scope       use the live sandbox of this scope, or make it and leave it
    parameters  of the provider, over those of the configuration
    keep        leave the sandbox running when this is closed
    config_file instead of the user's own configuration
    progress    called with what is going on while it starts, and how far (done, total; total 0: unknown)
    network     what it may reach: "off", "allow" or "open"; None: what the configuration says
    allow       with "allow" or None: entries such as "*.example.com", "host:5432", "10.0.0.0/8", "@pypi"
    name        what people call it; the command takes it wherever it takes an id
    volumes     storage that outlives it: "NAME:/absolute/path", or "NAME:/absolute/path:ro" to read only
    setup_output  called with what the setup script prints, as it comes
    """

    def __init__(
        self,
        provider: str | None = None,
        *,
        sandbox_id: str | None = None,
        snapshot: str | None = None,
        setup: Path | None = None,
        scope: str | None = None,
        parameters: Parameters | None = None,
        keep: bool = False,
        config_file: Path | None = None,
        progress: Progress | None = None,
        network: str | None = None,
        allow: Sequence[str] | None = None,
        name: str | None = None,
        volumes: Sequence[str] | None = None,
        setup_output: Callable[[bytes], None] | None = None,
    ) -> None:
        made = (provider, sandbox_id, snapshot, setup, scope, parameters, keep, config_file, progress)
        self._options = (*made, network, allow, name, volumes, setup_output)
        self._forwards: list[Callable[[], None]] = []
        self._session: Any = None
        self._is_opening = False
        self._owner = 0

    def __repr__(self) -> str:
        kind = type(self).__name__
        if self._session is None or self._owner != os.getpid():
            return f"<{kind} at {self._options[0] or 'local'}, not open>"
        return f"<{kind} {self.id} at {self.provider}>"

    @property
    def id(self) -> str:
        """The sandbox's id, by which others can attach to it."""
        return str(library.session_id(self._open()).decode())

    @property
    def provider(self) -> str:
        """The name of its provider."""
        return str(library.session_provider(self._open()).decode())

    @property
    def working_dir(self) -> str:
        """The directory in which commands start and relative paths begin."""
        return os.fsdecode(library.session_working_dir(self._open()))

    @property
    def can_execute(self) -> bool:
        """Can commands be run in it, or does its provider only serve files?"""
        return bool(library.session_can_execute(self._open()))

    def detach(self) -> None:
        """With `keep`: records that it is left on purpose. Until then, or until it is closed, it is a leftover if this process dies."""
        error = c.Error()
        if library.session_detach(self._open(), error) < 0:
            raise_error(error)

    def _open(self) -> Any:
        if self._session is None or self._owner != os.getpid():
            raise SandlotError("usage", "the sandbox is not open in this process")
        return self._session

    @contextlib.contextmanager
    def _opening(self) -> Iterator[Call[Any]]:
        """What opens it, for one at a time: of two sandboxes the first would be nobody's."""
        if self._session is not None or self._is_opening:
            raise SandlotError("usage", "the sandbox is open already, or is being opened")
        self._is_opening = True
        try:
            yield _runtime.open_session(*self._options)
        finally:
            self._is_opening = False

    def _opened(self, session: Any) -> None:
        self._session = session
        self._owner = os.getpid()
        _open_sandboxes.add(self)

    def _closing(self) -> Call[None] | None:
        session, self._session = self._session, None
        _open_sandboxes.discard(self)
        if session is None or self._owner != os.getpid():
            return None
        for close in self._forwards:
            close()
        return _runtime.close_session(session)


_open_sandboxes: set[Base] = set()  # those too that nobody else refers to any more


@atexit.register
def _close_all() -> None:
    for sandbox in list(_open_sandboxes):
        closing = sandbox._closing()
        if closing is not None:
            with contextlib.suppress(SandlotError):  # it stays in the ledger, for `sandlot gc`
                closing.wait()
