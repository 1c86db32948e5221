"""Run commands and edit files in sandboxes, over any provider: Sandlot's library for Python, blocking and for asyncio.

    from sandlot import Sandbox

    with Sandbox() as box:
        box.write("hello.py", "print(6 * 7)\\n")
        print(box.execute("python3 hello.py").text)
"""

from sandlot import _library
from sandlot._asynchronous import AsyncSandbox
from sandlot._blocking import Sandbox
from sandlot._network import Forward
from sandlot._results import (
    Change,
    Entry,
    Found,
    Leftover,
    Listed,
    Log,
    Match,
    Matches,
    Network,
    NetworkEvent,
    Page,
    PortUrl,
    Process,
    Provider,
    Result,
    SandlotError,
    ToolAnswer,
    Volume,
)
from sandlot._runtime import default_provider, list_providers, tools
from sandlot._sandboxes import AsyncSandboxes, Sandboxes

__all__ = [
    "AsyncSandbox",
    "AsyncSandboxes",
    "Change",
    "Entry",
    "Forward",
    "Found",
    "Leftover",
    "Listed",
    "Log",
    "Match",
    "Matches",
    "Network",
    "NetworkEvent",
    "Page",
    "PortUrl",
    "Process",
    "Provider",
    "Result",
    "Sandbox",
    "Sandboxes",
    "SandlotError",
    "ToolAnswer",
    "Volume",
    "default_provider",
    "list_providers",
    "tools",
]
__version__: str = _library.library.version().decode()
"""That of the library that is loaded."""
