"""Sandlot's providers for Deep Agents Code: `dcode --sandbox sandlot`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deepagents_code.integrations.sandbox_provider import (
    SandboxError,
    SandboxNotFoundError,
    SandboxProvider,
    SandboxProviderMetadata,
)

from sandlot import _runtime
from sandlot._blocking import Sandbox
from sandlot._calls import Parameters
from sandlot._deepagents_sandbox import SandlotSandbox
from sandlot._jobs import Call
from sandlot._results import Provider, SandlotError
from sandlot._sandboxes import Sandboxes

_NAME = "sandlot"
_BAD_USAGE = {"usage", "unknown_provider", "not_supported", "invalid_path"}


@dataclass(frozen=True)
class _Opened:
    backend: SandlotSandbox
    provider: str | None
    parameters: Parameters
    working_dir: str
    owned: bool


_opened: dict[str, list[_Opened]] = {}
"""By id. It keeps the sandboxes alive until they are deleted, or the interpreter's end deletes them: the framework forgets one whose setup
script failed, and asks another instance than that which made it to delete it."""
_lock = threading.Lock()


@contextlib.contextmanager
def _translated(sandbox_id: str | None) -> Iterator[None]:
    """The framework's exceptions for ours."""
    try:
        yield
    except SandlotError as error:
        if error.code == "sandbox_not_found" and sandbox_id is not None:
            raise SandboxNotFoundError(str(error)) from error
        if error.code in _BAD_USAGE or error.code == "sandbox_not_found":  # the latter of a snapshot
            raise ValueError(str(error)) from error
        raise SandboxError(str(error)) from error


def _parameter(name: str, value: object) -> str | int | float | bool:
    """From the framework's configuration, which is TOML."""
    if isinstance(value, str | int | float | bool):
        return value
    raise ValueError(f"the parameter {name} must be a text, a number or a boolean, and is {type(value).__name__}")


def _remember(box: Sandbox, provider: str | None, parameters: Parameters, owned: bool) -> SandlotSandbox:
    backend = SandlotSandbox(box)
    with _lock:
        _opened.setdefault(box.id, []).append(_Opened(backend, provider, parameters, box.working_dir, owned))
    return backend


def _ending(sandbox_id: str) -> list[Call[None]]:
    """What deletes a sandbox, and closes what this process has open of it."""
    with _lock:
        known = _opened.pop(sandbox_id, [])
    calls: list[Call[None]] = []
    deleted = False
    for opened in known:
        closing = opened.backend.sandbox._closing() if opened.backend.end() else None
        if closing is not None:
            calls.append(closing)
            deleted = deleted or opened.owned
    if not deleted:
        provider = known[0].provider if known else _runtime.default_provider()
        calls.insert(0, Sandboxes(provider, parameters=known[0].parameters if known else {})._deleting(sandbox_id))
    return calls


def _last_working_dir() -> str | None:
    with _lock:
        return next((each[-1].working_dir for each in reversed(_opened.values())), None)


def _configured() -> Provider | None:
    """The provider that the configuration names; None: it cannot be told, which the framework only hears where it makes a sandbox."""
    with contextlib.suppress(SandlotError):
        wanted = _runtime.default_provider() or "local"
        return next((each for each in _runtime.list_providers() if each.name == wanted), None)
    return None


class SandlotProvider(SandboxProvider):
    """The provider that Sandlot's configuration names (`default` in `[sandboxes]`; without it "local"), with its parameters there.

    Found by the framework under the name "sandlot", by its entry point. Any thread, with or without an event loop that runs.
    """

    @property
    def metadata(self) -> SandboxProviderMetadata:
        """What is known without a request. `working_dir` is that of the last sandbox that this process has open, if there is one."""
        told = _configured()
        return SandboxProviderMetadata(
            name=_NAME,
            working_dir=_last_working_dir() or (told.working_dir if told else "/workspace"),
            supports_sandbox_id=told is None or "sandbox_id" in told.capabilities,
            supports_snapshot_name=told is not None and "snapshot_name" in told.capabilities,
        )

    def get_or_create(
        self,
        *,
        sandbox_id: str | None = None,
        snapshot: str | None = None,
        provider: str | None = None,
        **parameters: Any,
    ) -> SandlotSandbox:
        """Makes a sandbox, or attaches to one by its id.

        snapshot     the name of one that the sandbox starts from
        provider     another than the configuration's
        parameters   of the provider, over those of the configuration

        ValueError for what cannot work, SandboxNotFoundError for an unknown id, SandboxError for all else.
        """
        name, words = self._choice(provider, parameters)
        with _translated(sandbox_id):
            box = Sandbox(name, sandbox_id=sandbox_id, snapshot=snapshot, parameters=words)
            box.open()
        return _remember(box, name, words, sandbox_id is None)

    async def aget_or_create(
        self,
        *,
        sandbox_id: str | None = None,
        snapshot: str | None = None,
        provider: str | None = None,
        **parameters: Any,
    ) -> SandlotSandbox:
        """`get_or_create` in the event loop."""
        name, words = self._choice(provider, parameters)
        with _translated(sandbox_id):
            box = Sandbox(name, sandbox_id=sandbox_id, snapshot=snapshot, parameters=words)
            with box._opening() as call:
                box._opened(await call.wait_async())
        return _remember(box, name, words, sandbox_id is None)

    def _choice(self, provider: str | None, parameters: Mapping[str, Any]) -> tuple[str | None, Parameters]:
        words = {name: _parameter(name, value) for name, value in parameters.items()}
        with _translated(None):
            return provider or _runtime.default_provider(), words

    def delete(self, *, sandbox_id: str, **kwargs: Any) -> None:
        """Deletes a sandbox, whoever made it; one that is gone already counts as deleted. Calls that run in it end."""
        with _translated(sandbox_id):
            for call in _ending(sandbox_id):
                call.wait()

    async def adelete(self, *, sandbox_id: str, **kwargs: Any) -> None:
        """`delete` in the event loop."""
        with _translated(sandbox_id):
            for call in _ending(sandbox_id):
                await call.wait_async()
