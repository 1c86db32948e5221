"""What deepagents 0.7.8 and deepagents-code 0.1.59 say in public of backends and of providers, as facts; and a stand-in made of these.

The packages themselves are not here. The stand-in has their modules and classes, by the names, fields and defaults below, and does nothing:
each method that runs python3 in the box in the real base class fails when it is called.
"""

import abc
import asyncio
import dataclasses
import inspect
import sys
import types

METHODS = {  # of a backend: name -> positional parameters, those by keyword, with their defaults
    "execute": ("command", "timeout=None"),
    "execute_with_offload": ("command, capture_path", "max_inline_bytes, max_capture_bytes=None, timeout=None"),
    "read": ("file_path, offset=0, limit=2000", ""),
    "write": ("file_path, content", ""),
    "edit": ("file_path, old_string, new_string, replace_all=False", ""),
    "delete": ("file_path", ""),
    "ls": ("path", ""),
    "glob": ("pattern, path=None", ""),
    "grep": ("pattern, path=None, glob=None", "max_count=None"),
    "upload_files": ("files", ""),
    "download_files": ("paths", ""),
}
RESULTS = {  # fields and defaults; of "?" there is none
    "ExecuteResponse": {"output": "?", "exit_code": None, "truncated": False},
    "ExecuteOffloadResult": {"offloaded": "?", "response": "?"},
    "ReadResult": {
        "error": None, "file_data": None, "total_lines": None, "start_line": None, "end_line": None, "next_offset": None,
        "no_lines_requested": False,
    },
    "WriteResult": {"error": None, "path": None},
    "EditResult": {"error": None, "path": None, "occurrences": None},
    "DeleteResult": {"error": None, "path": None},
    "LsResult": {"error": None, "entries": None},
    "GlobResult": {"error": None, "matches": None, "truncated": False},
    "GrepResult": {"error": None, "matches": None, "truncated": False},
    "FileUploadResponse": {"path": "?", "error": None},
    "FileDownloadResponse": {"path": "?", "content": None, "error": None},
}
FILE_INFO = {"path": str, "is_dir": bool, "size": int, "modified_at": str}  # all but the first may be missing
WORDS = {  # in errors, which the framework or its tests look for
    "edit of what is there twice": "multiple times",
    "edit of what is not there": "not found",
    "read, edit and delete of a missing file": "not found",
    "ls of a file": "not_a_directory",
}
FILE_ERRORS = {"file_not_found", "permission_denied", "is_directory", "invalid_path"}  # the whole error, of uploads and downloads
PLACES = ["/large_tool_results/call_1", "/conversation_history/thread.md"]  # written and read by the middleware
ENTRY_POINTS = "deepagents_code.sandbox_providers"
METADATA = {
    "name": "?", "working_dir": "?", "install": None, "supports_sandbox_id": True, "supports_snapshot_name": False,
    "backend_module": None,
}
PROVIDER = {"get_or_create": ("", "sandbox_id=None, ..."), "delete": ("", "sandbox_id, ...")}


def signature(function):
    """(positional, by keyword) in the words of the tables; "..." for any others."""
    positional, named = [], []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        told = parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
        if parameter.kind is parameter.KEYWORD_ONLY:
            named.append(told)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.append("...")
        else:
            positional.append(told)
    return ", ".join(positional), ", ".join(named)


def check_page(result):
    """What ReadResult refuses."""
    start, end, following, total = result.start_line, result.end_line, result.next_offset, result.total_lines
    lone = start is None and (following is not None or total is not None)
    nothing = result.no_lines_requested and (result.error is not None or start is not None)
    if (start is None) != (end is None) or lone or nothing:
        raise ValueError("fields that do not go together")
    if start is not None and not (1 <= start <= end and (total is None or total >= end) and following in (None, end)):
        raise ValueError("numbers that do not fit")


def make_result(name, facts):
    fields = [
        (field, object) if default == "?" else (field, object, dataclasses.field(default=default))
        for field, default in facts.items()
    ]
    space = {"__post_init__": check_page} if name == "ReadResult" else {}
    return dataclasses.make_dataclass(name, fields, namespace=space)


def make_base():
    def scripted(name):
        def method(self, *arguments, **options):
            raise AssertionError(f"{name} of the base class runs python3 in the box")

        return method

    space = {name: scripted(name) for method in METHODS for name in (method, "a" + method)}
    for name in ("execute", "upload_files", "download_files"):
        space[name] = abc.abstractmethod(space[name])
    space["id"] = property(abc.abstractmethod(scripted("id")))
    space["enable_capture_offload"] = False
    return abc.ABCMeta("BaseSandbox", (), space)


def make_provider():
    async def aget_or_create(self, *, sandbox_id=None, **options):
        return await asyncio.to_thread(self.get_or_create, sandbox_id=sandbox_id, **options)

    async def adelete(self, *, sandbox_id, **options):
        await asyncio.to_thread(self.delete, sandbox_id=sandbox_id, **options)

    space = {name: abc.abstractmethod(lambda self, **options: None) for name in PROVIDER}
    space |= {"metadata": property(lambda self: None), "aget_or_create": aget_or_create, "adelete": adelete}
    return abc.ABCMeta("SandboxProvider", (), space)


def module(name, **members):
    made = types.ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules.get(parent) or module(parent), last, made)
    return made


class Agent:
    """In the place of an agent whose model asks for one file to be written and run."""

    def __init__(self, backend):
        self.backend = backend

    def invoke(self, state):
        self.backend.write("/workspace/hello.sh", "echo hello\n")
        output = self.backend.execute("sh /workspace/hello.sh").output
        return {"messages": [*state["messages"], types.SimpleNamespace(content=output)]}


def install():
    """Makes the two packages importable."""
    module("deepagents", create_deep_agent=lambda model=None, *, backend: Agent(backend))
    module("model", model=None)
    module("deepagents.backends.protocol", **{name: make_result(name, facts) for name, facts in RESULTS.items()})
    module("deepagents.backends.sandbox", BaseSandbox=make_base())
    error = type("SandboxError", (Exception,), {})
    module(
        "deepagents_code.integrations.sandbox_provider",
        SandboxProvider=make_provider(),
        SandboxError=error,
        SandboxNotFoundError=type("SandboxNotFoundError", (error,), {}),
        SandboxProviderMetadata=make_result("SandboxProviderMetadata", METADATA),
    )
