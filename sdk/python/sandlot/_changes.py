"""Results of work brought home: what has become of a folder of this machine in a sandbox."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sandlot import _library as c
from sandlot._calls import Path, encoded, strings
from sandlot._group import Group
from sandlot._jobs import Call, error_at, listing, nothing
from sandlot._library import library
from sandlot._results import Change, Kind, SandlotError

Applied = Callable[[Change, SandlotError | None], None]
_Listing = list[Change]

_KINDS: tuple[Kind, ...] = ("added", "modified", "removed", "mode", "type")
_FORMATS = {"patch": 0, "tar": 1}


def _change(told: c.Change) -> Change:
    return Change(
        os.fsdecode(told.path),
        _KINDS[told.kind],
        told.type.decode(),
        told.old_mode,
        told.new_mode,
        told.old_bytes,
        told.new_bytes,
        None if told.link_target is None else os.fsdecode(told.link_target),
        None if told.risk is None else told.risk.decode(errors="replace"),
        told.binary,
        told.conflict,
    )


def _request(
    paths: Sequence[Path] | None,
    folder: Path | None,
    force: Sequence[Path] = (),
    allow_risky: bool = False,
    dry_run: bool = False,
) -> tuple[c.ChangesRequest, tuple[Any, ...]]:
    """The request, and what must stay alive with it."""
    wanted = None if paths is None else strings(paths)
    forced = strings(force) if force else None
    request = c.ChangesRequest(paths=wanted, force=forced, folder=encoded(folder), allow_risky=allow_risky, dry_run=dry_run)
    return request, (request, wanted, forced)


def _import(session: Any, folder: Path, exclude: Sequence[str]) -> Call[None]:
    words, name = strings(exclude), encoded(folder)
    return Call(lambda error: library.submit_import(session, name, words, error), nothing, words, name)


def _list(session: Any, paths: Sequence[Path] | None, folder: Path | None) -> Call[list[Change]]:
    request, keep = _request(paths, folder)
    return listing(
        c.EACH_CHANGE,
        _change,
        lambda each, error: library.submit_list_changes(session, request, each, None, error),
        *keep,
    )


def _export(session: Any, fd: int, format: str, paths: Sequence[Path] | None, folder: Path | None) -> Call[None]:
    if format not in _FORMATS:
        raise SandlotError("usage", f"there is no format '{format}'; 'patch' and 'tar' are those there are")
    request, keep = _request(paths, folder)
    kind = _FORMATS[format]
    return Call(
        lambda error: library.submit_export_changes(session, request, kind, fd, error), nothing, *keep
    )


def _apply(
    session: Any,
    paths: Sequence[Path] | None,
    force: Sequence[Path],
    folder: Path | None,
    allow_risky: bool,
    dry_run: bool,
    applied: Applied | None,
) -> Call[list[Change]]:
    request, keep = _request(paths, folder, force, allow_risky, dry_run)
    changes: list[Change] = []

    def receive(_context: Any, pointer: Any, problem: Any) -> bool:
        change, why = _change(pointer.contents), error_at(problem)
        if why is None:
            changes.append(change)
        if applied is not None:
            applied(change, why)
        return True

    call = Call(
        lambda error: library.submit_apply_changes(session, request, each, None, error),
        lambda _job: changes,
        *keep,
    )
    each = c.EACH_APPLIED(call.guarded(receive, False))
    return call


@contextlib.contextmanager
def _written(local: Path) -> Iterator[int]:
    """A descriptor of a new file, in a new folder beside LOCAL of this machine, which becomes LOCAL when all of it is there."""
    with tempfile.TemporaryDirectory(prefix=".sandlot-", dir=os.path.dirname(os.path.abspath(local))) as folder:
        beside = os.path.join(folder, "content")
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            yield fd
            os.replace(beside, local)
        finally:
            os.close(fd)


class Changes(Group):
    """What has become of a folder of this machine in the sandbox's working directory: `box.changes`."""

    def import_folder(self, folder: Path, *, exclude: Sequence[str] = ()) -> None:
        """Uploads the folder into the working directory and remembers what it was; `exclude`: globs of what stays out."""
        _import(self._open(), folder, exclude).wait()

    def list(self, paths: Sequence[Path] | None = None, *, folder: Path | None = None) -> _Listing:
        """What differs, below `paths` (None: all), risky ones first; `folder` instead of that it began with."""
        return _list(self._open(), paths, folder).wait()

    def export(
        self, local: Path, *, format: str = "patch", paths: Sequence[Path] | None = None, folder: Path | None = None
    ) -> None:
        """Writes them to a file of this machine, as git's "patch" or a "tar"."""
        with _written(local) as fd:
            _export(self._open(), fd, format, paths, folder).wait()

    def apply(
        self,
        paths: Sequence[Path] | None = None,
        *,
        force: Sequence[Path] = (),
        folder: Path | None = None,
        allow_risky: bool = False,
        dry_run: bool = False,
        applied: Applied | None = None,
    ) -> _Listing:
        """Brings them into the folder of this machine, and returns those that were.

        `force`: paths to overwrite although both sides have changed. What was left out is an error, after the others were
        applied; `applied` hears of every path, on a thread of the library, with what kept it out.
        """
        return _apply(self._open(), paths, force, folder, allow_risky, dry_run, applied).wait()


class AsyncChanges(Group):
    """What has become of a folder of this machine in the sandbox's working directory: `box.changes`."""

    async def import_folder(self, folder: Path, *, exclude: Sequence[str] = ()) -> None:
        """As `Changes.import_folder`."""
        await _import(self._open(), folder, exclude).wait_async()

    async def list(self, paths: Sequence[Path] | None = None, *, folder: Path | None = None) -> _Listing:
        """As `Changes.list`."""
        return await _list(self._open(), paths, folder).wait_async()

    async def export(
        self, local: Path, *, format: str = "patch", paths: Sequence[Path] | None = None, folder: Path | None = None
    ) -> None:
        """As `Changes.export`."""
        with _written(local) as fd:
            await _export(self._open(), fd, format, paths, folder).wait_async()

    async def apply(
        self,
        paths: Sequence[Path] | None = None,
        *,
        force: Sequence[Path] = (),
        folder: Path | None = None,
        allow_risky: bool = False,
        dry_run: bool = False,
        applied: Applied | None = None,
    ) -> _Listing:
        """As `Changes.apply`."""
        return await _apply(self._open(), paths, force, folder, allow_risky, dry_run, applied).wait_async()
