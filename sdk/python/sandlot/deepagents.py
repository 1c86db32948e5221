"""Sandlot for deepagents: a sandbox as an agent's backend, and all providers of Sandlot behind `dcode --sandbox sandlot`.

    from sandlot import Sandbox
    from sandlot.deepagents import SandlotSandbox

    with Sandbox() as box:
        agent = create_deep_agent(model=model, backend=SandlotSandbox(box))

`SandlotSandbox` needs the package deepagents, `SandlotProvider` deepagents-code besides. Neither is imported before its name is used, so
that this module, and all else of Sandlot, is there without them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandlot._deepagents_provider import SandlotProvider as SandlotProvider
    from sandlot._deepagents_sandbox import SandlotSandbox as SandlotSandbox

__all__ = ["SandlotProvider", "SandlotSandbox"]

_PLACES = {
    "SandlotProvider": ("sandlot._deepagents_provider", "deepagents-code"),
    "SandlotSandbox": ("sandlot._deepagents_sandbox", "deepagents"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, package = _PLACES[name]
    try:
        value = getattr(importlib.import_module(module), name)
    except ImportError as problem:
        message = f"sandlot.deepagents.{name} needs the package {package} (pip install {package}): {problem}"
        raise ImportError(message, name=problem.name) from problem
    globals()[name] = value
    return value
