"""Every function of sandlot.h and its counterpart here: one that is new there fails until it has a line. Prints a line for run.sh."""

import pathlib
import re
import sys
import typing

import sandlot
from sandlot import AsyncSandbox, AsyncSandboxes, Forward, Sandbox, Sandboxes

HELD = ""  # something that is done inside of every call
BOX = {
    "execute": "execute", "read_file": "read", "write_file": "write", "edit_file": "edit", "remove_file": "remove", "list_directory": "ls",
    "find_files": "glob", "search_files": "grep", "upload": "upload_file", "download": "download_file", "upload_from_memory": "upload",
    "download_to_memory": "download", "run_terminal": "terminal", "start_process": "processes.start", "list_processes": "processes.list",
    "follow_process": "processes.follow processes.log processes.wait", "signal_process": "processes.signal", "write_process": "processes.write",
    "import": "changes.import_folder", "list_changes": "changes.list", "export_changes": "changes.export", "apply_changes": "changes.apply",
    "show_network": "network.show", "change_network": "network.change", "read_network_log": "network.log", "port_url": "ports.url",
    "session_open": "open", "session_close": "close",
}
SUBMITTED = {"tool": "tool"}
CALLED = {
    "call_tool": "tool", "can_change_network": "network.can_change", "has_network_log": "network.has_log", "forward_open": "ports.forward",
    "session_id": "id", "session_provider": "provider", "session_working_dir": "working_dir", "session_detach": "detach",
    "session_can_execute": "can_execute",
}
PROVIDER = {
    "list": "list", "delete": "delete", "pause": "pause", "resume": "resume", "snapshot": "snapshot",
    "snapshot_with_base": "snapshot", "list_snapshots": "snapshots",
    "delete_snapshot": "delete_snapshot", "fork": "fork", "list_volumes": "volumes", "delete_volume": "delete_volume", "collect_garbage": "collect_garbage",
}
FORWARD = {"forward_port": "port", "forward_descriptor": "fileno", "forward_close": "close"}
MODULE = {
    "version": "__version__", "tools": "tools", "list_providers": "list_providers", "default_provider": "default_provider",
    "code_name": "SandlotError", "open": HELD, "close": HELD, "error_clear": HELD, "result_clear": HELD, "process_clear": HELD,
    "page_clear": HELD, "bytes_clear": HELD, "tool_answer_clear": HELD, "port_url_clear": HELD,
    # A task that is cancelled and Ctrl-C are what cancels, and waiting is what the event loop and the calls do.
    "cancellation_new": HELD, "cancel": HELD, "cancellation_free": HELD, "job_descriptor": HELD, "job_notify": HELD, "job_cancel": HELD,
    "job_wait": HELD, "job_session": HELD, "job_result": HELD, "job_free": HELD,
}


def member(kind, path):
    """Does PATH, names with points between, lead to something from a class? A group of calls is the type of its property."""
    first, _, rest = path.partition(".")
    if not rest:
        return hasattr(kind, first) or first in getattr(kind, "__annotations__", {})
    return member(typing.get_type_hints(inner(getattr(kind, first)))["return"], rest)


def inner(attribute):
    return getattr(attribute, "func", None) or attribute.fget


def counterparts():
    for table, kinds in ((BOX, (Sandbox, AsyncSandbox)), (PROVIDER, (Sandboxes, AsyncSandboxes))):
        for name, paths in table.items():
            yield name, kinds, paths
            yield "submit_" + name, kinds, paths
    for table, kinds, prefix in (
        (SUBMITTED, (Sandbox, AsyncSandbox), "submit_"), (CALLED, (Sandbox, AsyncSandbox), ""), (FORWARD, (Forward,), ""), (MODULE, (sandlot,), "")
    ):
        for name, paths in table.items():
            yield prefix + name, kinds, paths


declared = set(re.findall(r"^SANDLOT_API[^;(]*?\bsandlot_(\w+)\(", pathlib.Path("include/sandlot/sandlot.h").read_text(), re.MULTILINE))
known = {name: (kinds, paths) for name, kinds, paths in counterparts()}
missing = [path for kinds, paths in known.values() for path in paths.split() for kind in kinds if not member(kind, path)]
good = len(declared) > 90 and declared == set(known) and not missing
print("ok" if good else "not ok", "every function of sandlot.h has its counterpart in Python", end=" ")
print("" if good else f"# without: {sorted(declared - set(known))}; not in sandlot.h: {sorted(set(known) - declared)}; not here: {missing}")
sys.exit(not good)
