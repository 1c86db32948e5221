"""Run commands and edit files in sandboxes, over any provider: Sandlot's library for Python, blocking and for asyncio.

    from sandlot import Sandbox

    with Sandbox() as box:
        box.write("hello.py", "print(6 * 7)\\n")
        print(box.execute("python3 hello.py").text)
"""

from sandlot._asynchronous import AsyncSandbox
from sandlot._blocking import Sandbox
from sandlot._library import library as _library
from sandlot._results import Entry, Found, Match, Matches, Page, Provider, Result, SandlotError
from sandlot._runtime import list_providers

__all__ = [
    "AsyncSandbox",
    "Entry",
    "Found",
    "Match",
    "Matches",
    "Page",
    "Provider",
    "Result",
    "SandlotError",
    "Sandbox",
    "list_providers",
]
__version__: str = _library.version().decode()
"""That of the library that is loaded."""
