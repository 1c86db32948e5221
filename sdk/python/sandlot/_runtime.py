"""The library's runtime, which a process has one of, and the calls that need no session."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from sandlot import _library as c
from sandlot._calls import Parameters, Path, Progress, encoded, pairs, receiver, strings
from sandlot._jobs import Call, raise_error
from sandlot._library import library
from sandlot._results import Provider

_runtimes: dict[tuple[int, Path | None], Any] = {}


def runtime(config_file: Path | None) -> Any:
    """Of this process: a forked child has its own, and leaves its parent's alone. It stays until the process ends."""
    key = (os.getpid(), config_file)
    if key not in _runtimes:
        options = c.Options(config_file=encoded(config_file))
        error = c.Error()
        opened = library.open(options, error)
        if opened is None:
            raise_error(error)
        _runtimes[key] = opened
    return _runtimes[key]


def open_session(
    provider: str | None,
    sandbox_id: str | None,
    snapshot: str | None,
    setup: Path | None,
    scope: str | None,
    parameters: Parameters | None,
    keep: bool,
    config_file: Path | None,
    progress: Progress | None,
    network: str | None,
    allow: Sequence[str] | None,
    name: str | None,
    volumes: Sequence[str] | None,
    setup_output: Callable[[bytes], None] | None,
) -> Call[Any]:
    options = c.SessionOptions(
        provider=encoded(provider),
        sandbox_id=encoded(sandbox_id),
        snapshot_name=encoded(snapshot),
        setup_file=encoded(setup),
        scope=encoded(scope),
        keep=keep,
        network=encoded(network),
        name=encoded(name),
    )
    entries = None if allow is None else strings(allow)
    options.allow = entries
    mounted = None if volumes is None else strings(volumes)
    options.volumes = mounted
    words = pairs(parameters)
    options.parameters = words
    host = runtime(config_file)
    call: Call[Any] = Call(
        lambda error: library.submit_session_open(host, options, error),
        library.job_session,
        options,
        words,
        entries,
        mounted,
    )
    if progress is not None:
        sink = progress

        def tell(_context: Any, what: bytes, done: int, total: int) -> None:
            sink(what.decode(errors="replace"), done, total)

        options.progress = c.PROGRESS(call.guarded(tell, None))
    if setup_output is not None:
        options.setup_output = c.BYTES(call.guarded(receiver(setup_output), None))
    return call


def close_session(session: Any) -> Call[None]:
    return Call(lambda error: library.submit_session_close(session, error), lambda _job: None)


def default_provider(config_file: Path | None = None) -> str | None:
    """That which the configuration names; None: it names none."""
    return _text(library.default_provider(runtime(config_file)))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def list_providers(config_file: Path | None = None) -> list[Provider]:
    """The providers that there are, by name; `config_file` instead of the user's own configuration."""
    providers: list[Provider] = []

    def receive(_context: Any, pointer: Any) -> bool:
        told = pointer.contents
        providers.append(
            Provider(
                told.name.decode(),
                told.source.decode(),
                _text(told.description),
                os.fsdecode(told.working_dir),
                frozenset(told.capabilities.decode().split()),
                _text(told.problem),
            )
        )
        return True

    error = c.Error()
    if library.list_providers(runtime(config_file), c.PROVIDER(receive), None, error) < 0:
        raise_error(error)
    return providers


def tools(*, execute: bool = True) -> list[dict[str, Any]]:
    """The tools for agents that `Sandbox.tool` calls, as a model takes them; `execute`: with that which runs commands."""
    made: list[dict[str, Any]] = json.loads(library.take_text(library.tools(execute)))
    return made
