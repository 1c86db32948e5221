"""The sandboxes, snapshots and volumes of a provider, without a session in one of them."""

from __future__ import annotations

import ctypes
from typing import Any

from sandlot import _library as c
from sandlot._calls import Parameters, Path, encoded, pairs
from sandlot._jobs import Call, error_at, listing, nothing
from sandlot._library import library
from sandlot._results import Leftover, Listed, Volume
from sandlot._runtime import runtime

_Listing = list[Listed]
_Leftovers = list[Leftover]
_Volumes = list[Volume]


def _listed(told: c.ListedSandbox) -> Listed:
    state = None if told.state is None else told.state.decode(errors="replace")
    created = told.created_at_ms / 1000 if told.created_at_ms else None
    return Listed(told.id.decode(errors="replace"), told.provider.decode(), state, created, told.mine)


def _volume(told: c.VolumeState) -> Volume:
    used = told.used_at_ms / 1000 if told.used_at_ms else None
    size = told.bytes if told.has_bytes else None
    return Volume(told.name.decode(), size, told.limit_bytes or None, told.writers, told.readers, used)


class _Target:
    """PROVIDER (None: "local") with PARAMETERS over those of the configuration, or of `config_file` instead of the user's own."""

    def __init__(
        self,
        provider: str | None = None,
        *,
        parameters: Parameters | None = None,
        config_file: Path | None = None,
    ) -> None:
        self._words = pairs(parameters)
        self._provider = encoded(provider)
        self._config_file = config_file

    def _call(self, submit: Any, *arguments: Any) -> Call[None]:
        host, target = runtime(self._config_file), c.Target(provider=self._provider, parameters=self._words)
        return Call(
            lambda error: submit(host, target, *arguments, error), nothing, target, self._words, arguments
        )

    def _listing(self, submit: Any) -> Call[list[Listed]]:
        return self._each(submit, c.EACH_SANDBOX, _listed)

    def _each(self, submit: Any, kind: Any, made_of: Any) -> Call[list[Any]]:
        host, target = runtime(self._config_file), c.Target(provider=self._provider, parameters=self._words)
        return listing(
            kind,
            made_of,
            lambda each, error: submit(host, target, each, None, error),
            target,
            self._words,
        )

    def _naming(self, submit: Any, *arguments: Any) -> Call[str]:
        """A call that makes something with a name."""
        host, target = runtime(self._config_file), c.Target(provider=self._provider, parameters=self._words)
        made = ctypes.c_void_p()
        return Call(
            lambda error: submit(host, target, *arguments, made, error),
            lambda _job: library.take_text(made.value),
            target,
            self._words,
            arguments,
        )

    def _keeping(self, sandbox_id: str, name: str | None, replace: bool, with_base: bool) -> Call[str]:
        submit = library.submit_snapshot_with_base if with_base else library.submit_snapshot
        return self._naming(submit, encoded(sandbox_id), encoded(name), replace)

    def _deleting(self, sandbox_id: str) -> Call[None]:
        return self._call(library.submit_delete, encoded(sandbox_id))

    def _volumes(self) -> Call[_Volumes]:
        return self._each(library.submit_list_volumes, c.EACH_VOLUME, _volume)

    def _garbage(self) -> Call[list[Leftover]]:
        host = runtime(self._config_file)
        found: list[Leftover] = []

        def receive(_context: Any, provider: bytes, name: bytes | None, problem: Any) -> None:
            found.append(Leftover(provider.decode(), None if name is None else name.decode(), error_at(problem)))

        call = Call(lambda error: library.submit_collect_garbage(host, each, None, error), lambda _job: found)
        each = c.LEFTOVER(call.guarded(receive, None))
        return call


class Sandboxes(_Target):
    """The sandboxes, snapshots and volumes of a provider: made with its name (None: "local"), `parameters` and `config_file`.

        Sandboxes("docker").snapshot(box.id, "ready")
    """

    def list(self) -> _Listing:
        """All sandboxes that the provider knows."""
        return self._listing(library.submit_list).wait()

    def delete(self, sandbox_id: str) -> None:
        """Ends one; one that does not exist (any more) counts as deleted."""
        self._deleting(sandbox_id).wait()

    def pause(self, sandbox_id: str) -> None:
        """Stops one so that `resume`, and whatever else uses it, goes on with its files, or more."""
        self._call(library.submit_pause, encoded(sandbox_id)).wait()

    def resume(self, sandbox_id: str) -> None:
        """Lets it go on; one that runs already is fine."""
        self._call(library.submit_resume, encoded(sandbox_id)).wait()

    def snapshot(self, sandbox_id: str, name: str | None = None, *, replace: bool = False, with_base: bool = False) -> str:
        """Keeps its state under `name` (None: one is made); returns what `snapshot=` of a sandbox takes.

        `with_base`: with the folder that a sandbox of "local" began as, to which the snapshot refers else.
        """
        return self._keeping(sandbox_id, name, replace, with_base).wait()

    def snapshots(self) -> _Listing:
        """All snapshots of the provider."""
        return self._listing(library.submit_list_snapshots).wait()

    def delete_snapshot(self, name: str) -> None:
        """One that does not exist (any more) counts as deleted."""
        self._call(library.submit_delete_snapshot, encoded(name)).wait()

    def volumes(self) -> _Volumes:
        """All volumes of the provider, which `volumes=` of a sandbox makes."""
        return self._volumes().wait()

    def delete_volume(self, name: str) -> None:
        """With all that it holds; one that does not exist (any more) counts as deleted."""
        self._call(library.submit_delete_volume, encoded(name)).wait()

    def fork(self, sandbox_id: str) -> str:
        """Makes a second sandbox with the files of one, which stays; returns its id."""
        return self._naming(library.submit_fork, encoded(sandbox_id)).wait()

    def collect_garbage(self) -> _Leftovers:
        """Deletes what dead processes left behind at any provider."""
        return self._garbage().wait()


class AsyncSandboxes(_Target):
    """The same for asyncio."""

    async def list(self) -> _Listing:
        """As `Sandboxes.list`."""
        return await self._listing(library.submit_list).wait_async()

    async def delete(self, sandbox_id: str) -> None:
        """As `Sandboxes.delete`."""
        await self._deleting(sandbox_id).wait_async()

    async def pause(self, sandbox_id: str) -> None:
        """As `Sandboxes.pause`."""
        await self._call(library.submit_pause, encoded(sandbox_id)).wait_async()

    async def resume(self, sandbox_id: str) -> None:
        """As `Sandboxes.resume`."""
        await self._call(library.submit_resume, encoded(sandbox_id)).wait_async()

    async def snapshot(self, sandbox_id: str, name: str | None = None, *, replace: bool = False, with_base: bool = False) -> str:
        """As `Sandboxes.snapshot`."""
        return await self._keeping(sandbox_id, name, replace, with_base).wait_async()

    async def snapshots(self) -> _Listing:
        """As `Sandboxes.snapshots`."""
        return await self._listing(library.submit_list_snapshots).wait_async()

    async def delete_snapshot(self, name: str) -> None:
        """As `Sandboxes.delete_snapshot`."""
        await self._call(library.submit_delete_snapshot, encoded(name)).wait_async()

    async def volumes(self) -> _Volumes:
        """As `Sandboxes.volumes`."""
        return await self._volumes().wait_async()

    async def delete_volume(self, name: str) -> None:
        """As `Sandboxes.delete_volume`."""
        await self._call(library.submit_delete_volume, encoded(name)).wait_async()

    async def fork(self, sandbox_id: str) -> str:
        """As `Sandboxes.fork`."""
        return await self._naming(library.submit_fork, encoded(sandbox_id)).wait_async()

    async def collect_garbage(self) -> _Leftovers:
        """As `Sandboxes.collect_garbage`."""
        return await self._garbage().wait_async()
