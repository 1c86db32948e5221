"""The network of a sandbox, and its ports."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from sandlot import _library as c
from sandlot._calls import encoded, strings
from sandlot._group import Group
from sandlot._jobs import Call, error_at, listing, nothing, raise_error
from sandlot._library import library
from sandlot._results import Network, NetworkEvent, PortUrl, SandlotError


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _texts(words: Any) -> list[str]:
    """A list of C that ends with NULL."""
    found: list[str] = []
    while words and words[len(found)] is not None:
        found.append(words[len(found)].decode(errors="replace"))
    return found


def _network(told: c.NetworkState) -> Network:
    credentials = dict(zip(_texts(told.credential_hosts), _texts(told.credential_headers), strict=True))
    source, note = _text(told.source), _text(told.note)
    return Network(_text(told.mode), _texts(told.allow), credentials, source, note, told.broken)


def _event(told: c.NetworkEvent) -> NetworkEvent:
    return NetworkEvent(
        told.number,
        told.at_ms / 1000,
        told.allowed,
        (told.host or b"").decode(errors="replace"),
        told.port,
        _text(told.rule),
        _text(told.reason),
        told.bytes_in,
        told.bytes_out,
        told.duration_ms / 1000,
    )


def _show(session: Any) -> Call[list[Network]]:
    return listing(c.TELL_NETWORK, _network, lambda tell, error: library.submit_show_network(session, tell, None, error))


def _change(session: Any, mode: str | None, allow: Sequence[str], deny: Sequence[str]) -> Call[None]:
    added, removed = strings(allow) if allow else None, strings(deny) if deny else None
    request = c.NetworkChange(mode=encoded(mode), allow=added, deny=removed)
    return Call(
        lambda error: library.submit_change_network(session, request, error), nothing, request, added, removed
    )


def _log(session: Any, after: int) -> Call[list[NetworkEvent]]:
    number = c.exact(ctypes.c_uint64, "after", after)
    return listing(
        c.EACH_EVENT, _event, lambda each, error: library.submit_read_network_log(session, number, each, None, error)
    )


def _url(session: Any, port: int, ttl: float | None) -> Call[PortUrl]:
    told = c.PortUrl()

    def finish(_job: Any) -> PortUrl:
        expires = told.expires_at_ms / 1000 if told.expires_at_ms else None
        return PortUrl((told.url or b"").decode(), _text(told.header), expires, told.is_public)

    number = c.exact(ctypes.c_uint16, "port", port)
    ttl_ms = c.exact(ctypes.c_int64, "ttl", 0 if ttl is None else max(1, round(ttl * 1000)))
    return Call(lambda error: library.submit_port_url(session, number, ttl_ms, told, error), finish, told)


class _Facts(Group):
    @property
    def can_change(self) -> bool:
        """Can that be changed, by a provider of this kind?"""
        return bool(library.can_change_network(self._open()))

    @property
    def has_log(self) -> bool:
        """Is there a log of decisions?"""
        return bool(library.has_network_log(self._open()))


class SandboxNetwork(_Facts):
    """What a living sandbox may reach: `box.network`."""

    def show(self) -> Network:
        """What it may reach now."""
        return _show(self._open()).wait()[0]

    def change(self, mode: str | None = None, *, allow: Sequence[str] = (), deny: Sequence[str] = ()) -> None:
        """Makes it "off" or "open", or adds and removes entries such as "*.example.com"; when this returns, it is in force."""
        _change(self._open(), mode, allow, deny).wait()

    def log(self, after: int = 0) -> list[NetworkEvent]:
        """The decisions with a number above `after`, oldest first."""
        return _log(self._open(), after).wait()


class AsyncSandboxNetwork(_Facts):
    """What a living sandbox may reach: `box.network`."""

    async def show(self) -> Network:
        """As `SandboxNetwork.show`."""
        return (await _show(self._open()).wait_async())[0]

    async def change(self, mode: str | None = None, *, allow: Sequence[str] = (), deny: Sequence[str] = ()) -> None:
        """As `SandboxNetwork.change`."""
        await _change(self._open(), mode, allow, deny).wait_async()

    async def log(self, after: int = 0) -> list[NetworkEvent]:
        """As `SandboxNetwork.log`."""
        return await _log(self._open(), after).wait_async()


class Forward:
    """A port of this machine that leads to one of a sandbox, until it is closed: a context manager."""

    port: int
    """That of this machine."""

    def __init__(self, forward: Any, keep: Any) -> None:
        self._forward = forward
        self._keep = keep
        self._owner = os.getpid()
        self.port = library.forward_port(forward)

    def fileno(self) -> int:
        """A descriptor that is readable once the sandbox is known to be gone."""
        if self._forward is None:
            raise SandlotError("usage", "the forwarding is closed")
        return int(library.forward_descriptor(self._forward))

    def close(self) -> None:
        """Ends all its connections. A second time it does nothing, nor in a process that was forked off."""
        forward, self._forward = self._forward, None
        if forward is not None and self._owner == os.getpid():
            library.forward_close(forward)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Forwards(Group):
    def __init__(self, open_session: Callable[[], Any]) -> None:
        super().__init__(open_session)
        self._forwards: list[Forward] = []

    def forward(
        self,
        port: int,
        *,
        local_port: int = 0,
        address: str | None = None,
        connection: Callable[[SandlotError | None], None] | None = None,
    ) -> Forward:
        """Listens on this machine (`local_port` 0: a free one; `address` None: loopback) and carries connections to `port` of the
        sandbox, until it is closed, or the sandbox is. `connection` hears of each, on a thread of the library: None, or why it failed.
        """
        request = c.ForwardRequest(port=port, local_port=local_port, address=encoded(address))
        if connection is not None:
            sink = connection
            request.connection = c.CONNECTION(lambda _context, problem: sink(error_at(problem)))
        error = c.Error()
        opened = library.forward_open(self._open(), request, error)
        if opened is None:
            raise_error(error)
        self._forwards.append(Forward(opened, request))
        return self._forwards[-1]

    def close(self) -> None:
        """Closes every forwarding, as the end of the sandbox does."""
        while self._forwards:
            self._forwards.pop().close()


class Ports(_Forwards):
    """Servers in a living sandbox: `box.ports`."""

    def url(self, port: int, *, ttl: float | None = None) -> PortUrl:
        """Where the vendor's own network reaches the port; `ttl`: wanted life of a token in it, in seconds."""
        return _url(self._open(), port, ttl).wait()


class AsyncPorts(_Forwards):
    """Servers in a living sandbox: `box.ports`."""

    async def url(self, port: int, *, ttl: float | None = None) -> PortUrl:
        """As `Ports.url`."""
        return await _url(self._open(), port, ttl).wait_async()
