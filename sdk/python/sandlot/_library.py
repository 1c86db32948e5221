"""libsandlot.so.0 by ctypes: the structs of sandlot/sandlot.h and its functions."""

import ctypes
import os
from ctypes import c_bool, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any


class Sized(ctypes.Structure):
    """A struct that begins with its own size, which the caller sets."""

    def __init__(self, **values: Any) -> None:
        super().__init__(ctypes.sizeof(self), **values)
        for name, value in values.items():  # ctypes takes what fits of a number
            if isinstance(value, int) and getattr(self, name) != value:
                raise ValueError(f"{name} is out of range: {value}")


def exact(kind: Any, name: str, value: int) -> Any:
    """VALUE as an argument of this KIND: of a bare number ctypes takes what fits."""
    made = kind(value)
    if made.value != value:
        raise ValueError(f"{name} is out of range: {value}")
    return made


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("message", c_char_p)]


MESSAGE = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_uint64, c_uint64)
BYTES = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
OUTPUT = ctypes.CFUNCTYPE(c_bool, c_void_p, c_void_p, c_size_t)


class Options(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("config_file", c_char_p),
        ("no_environment_files", c_bool),
        ("message", MESSAGE),
        ("message_context", c_void_p),
    ]


class SessionOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("provider", c_char_p),
        ("sandbox_id", c_char_p),
        ("snapshot_name", c_char_p),
        ("setup_file", c_char_p),
        ("scope", c_char_p),
        ("parameters", ctypes.POINTER(c_char_p)),
        ("keep", c_bool),
        ("cancellation", c_void_p),
        ("progress", PROGRESS),
        ("setup_output", BYTES),
        ("context", c_void_p),
        ("network", c_char_p),
        ("allow", ctypes.POINTER(c_char_p)),
        ("name", c_char_p),
        ("volumes", ctypes.POINTER(c_char_p)),
    ]


class Execution(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("command", c_char_p),
        ("timeout_ms", c_int64),
        ("working_dir", c_char_p),
        ("environment", ctypes.POINTER(c_char_p)),
        ("has_input", c_bool),
        ("input_fd", c_int),
        ("output_limit", c_uint64),
        ("output", OUTPUT),
        ("context", c_void_p),
        ("cancellation", c_void_p),
    ]


class Result(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("has_exit_code", c_bool),
        ("exit_code", c_int),
        ("timed_out", c_bool),
        ("truncated", c_bool),
        ("output", c_void_p),
        ("output_length", c_size_t),
        ("output_total", c_uint64),
    ]


class Read(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("path", c_char_p),
        ("offset", c_int64),
        ("has_limit", c_bool),
        ("limit", c_int64),
        ("cancellation", c_void_p),
    ]


class Page(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("content", c_void_p),
        ("content_length", c_size_t),
        ("binary", c_bool),
        ("empty", c_bool),
        ("no_lines_requested", c_bool),
        ("truncated", c_bool),
        ("lossy", c_bool),
        ("start_line", c_int64),
        ("end_line", c_int64),
        ("total_lines", c_int64),
        ("next_offset", c_int64),
        ("line_truncated", c_uint64),
    ]

    def __del__(self) -> None:
        library.page_clear(self)


class Write(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("path", c_char_p),
        ("content", c_char_p),
        ("content_length", c_size_t),
        ("cancellation", c_void_p),
    ]


class Edit(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("path", c_char_p),
        ("old_string", c_char_p),
        ("old_length", c_size_t),
        ("new_string", c_char_p),
        ("new_length", c_size_t),
        ("replace_all", c_bool),
        ("cancellation", c_void_p),
    ]


class FileEntry(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("path", c_char_p),
        ("is_dir", c_bool),
        ("is_symlink", c_bool),
        ("bytes", c_uint64),
        ("modified_at_ms", c_int64),
    ]


ENTRY = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(FileEntry))


class Ls(Sized):
    _fields_ = [("size", c_size_t), ("path", c_char_p), ("cancellation", c_void_p)]


class Glob(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("pattern", c_char_p),
        ("path", c_char_p),
        ("directories", c_bool),
        ("cancellation", c_void_p),
    ]


class Grep(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("pattern", c_char_p),
        ("pattern_length", c_size_t),
        ("path", c_char_p),
        ("glob", c_char_p),
        ("max_count", c_uint64),
        ("cancellation", c_void_p),
    ]


class Match(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("path", c_char_p),
        ("line", c_int64),
        ("text", c_void_p),
        ("text_length", c_size_t),
    ]


MATCH = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(Match))


class Remove(Sized):
    _fields_ = [("size", c_size_t), ("path", c_char_p), ("cancellation", c_void_p)]


class TransferItem(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("path", c_char_p),
        ("local_path", c_char_p),
        ("fd", c_int),
        ("mode", c_uint32),
    ]


DONE = ctypes.CFUNCTYPE(None, c_void_p, c_size_t, c_char_p, ctypes.POINTER(Error), c_uint64)
MOVED = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, c_uint64)


class TransferRequest(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("items", ctypes.POINTER(TransferItem)),
        ("count", c_size_t),
        ("recursive", c_bool),
        ("done", DONE),
        ("progress", MOVED),
        ("context", c_void_p),
        ("cancellation", c_void_p),
        ("max_bytes", c_uint64),
    ]


class UploadBytes(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("path", c_char_p),
        ("content", c_char_p),
        ("content_length", c_size_t),
        ("mode", c_uint32),
        ("cancellation", c_void_p),
    ]


class DownloadBytes(Sized):
    _fields_ = [("size", c_size_t), ("path", c_char_p), ("max_bytes", c_uint64), ("cancellation", c_void_p)]


class Bytes(Sized):
    _fields_ = [("size", c_size_t), ("content", c_void_p), ("length", c_size_t)]

    def __del__(self) -> None:
        library.bytes_clear(self)


class ListedProvider(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("source", c_char_p),
        ("description", c_char_p),
        ("working_dir", c_char_p),
        ("package", c_char_p),
        ("capabilities", c_char_p),
        ("problem", c_char_p),
        ("supports_sandbox_id", c_bool),
        ("supports_snapshot_name", c_bool),
    ]


class Target(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("provider", c_char_p),
        ("parameters", ctypes.POINTER(c_char_p)),
        ("cancellation", c_void_p),
    ]


PROVIDER = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(ListedProvider))


class Start(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("command", c_char_p),
        ("working_dir", c_char_p),
        ("environment", ctypes.POINTER(c_char_p)),
        ("timeout_ms", c_int64),
        ("log_bytes", c_uint64),
        ("has_input", c_bool),
        ("separate_errors", c_bool),
        ("cancellation", c_void_p),
    ]


class Process(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("id", c_char * 16),
        ("state", c_int),
        ("has_exit_code", c_bool),
        ("timed_out", c_bool),
        ("input_open", c_bool),
        ("separate_errors", c_bool),
        ("exit_code", c_int),
        ("started_at_ms", c_int64),
        ("ended_at_ms", c_int64),
        ("output_first", c_uint64),
        ("output_total", c_uint64),
        ("errors_first", c_uint64),
        ("errors_total", c_uint64),
        ("command", c_char_p),
    ]


EACH_PROCESS = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(Process))
LOG = ctypes.CFUNCTYPE(c_bool, c_void_p, c_uint64, c_void_p, c_size_t)


class Follow(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("id", c_char_p),
        ("start", c_int64),
        ("most", c_uint64),
        ("wait_ms", c_int64),
        ("errors", c_bool),
        ("first_news", c_bool),
        ("output", LOG),
        ("context", c_void_p),
        ("cancellation", c_void_p),
    ]


class Signal(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("id", c_char_p),
        ("name", c_char_p),
        ("grace_ms", c_int64),
        ("cancellation", c_void_p),
    ]


WINDOW = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(c_uint16), ctypes.POINTER(c_uint16))


class Terminal(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("command", c_char_p),
        ("working_dir", c_char_p),
        ("environment", ctypes.POINTER(c_char_p)),
        ("term", c_char_p),
        ("input_fd", c_int),
        ("resized_fd", c_int),
        ("window", WINDOW),
        ("output", OUTPUT),
        ("context", c_void_p),
        ("cancellation", c_void_p),
    ]


class ToolCall(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("arguments", c_char_p),
        ("maximum_bytes", c_size_t),
        ("output", BYTES),
        ("context", c_void_p),
        ("cancellation", c_void_p),
    ]


class ToolAnswer(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("is_error", c_bool),
        ("content", c_char_p),
        ("meta", c_char_p),
    ]

    def __del__(self) -> None:
        library.tool_answer_clear(self)


class Change(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("path", c_char_p),
        ("type", c_char_p),
        ("kind", c_int),
        ("old_mode", c_uint32),
        ("new_mode", c_uint32),
        ("old_bytes", c_uint64),
        ("new_bytes", c_uint64),
        ("link_target", c_char_p),
        ("risk", c_char_p),
        ("binary", c_bool),
        ("conflict", c_bool),
    ]


EACH_CHANGE = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(Change))
EACH_APPLIED = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(Change), ctypes.POINTER(Error))


class ChangesRequest(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("paths", ctypes.POINTER(c_char_p)),
        ("force", ctypes.POINTER(c_char_p)),
        ("folder", c_char_p),
        ("allow_risky", c_bool),
        ("dry_run", c_bool),
        ("cancellation", c_void_p),
    ]


class NetworkState(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("mode", c_char_p),
        ("allow", ctypes.POINTER(c_char_p)),
        ("credential_hosts", ctypes.POINTER(c_char_p)),
        ("credential_headers", ctypes.POINTER(c_char_p)),
        ("source", c_char_p),
        ("note", c_char_p),
        ("broken", c_bool),
    ]


class NetworkChange(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("mode", c_char_p),
        ("allow", ctypes.POINTER(c_char_p)),
        ("deny", ctypes.POINTER(c_char_p)),
        ("cancellation", c_void_p),
    ]


class NetworkEvent(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("number", c_uint64),
        ("at_ms", c_int64),
        ("allowed", c_bool),
        ("port", c_uint16),
        ("host", c_char_p),
        ("rule", c_char_p),
        ("reason", c_char_p),
        ("bytes_in", c_uint64),
        ("bytes_out", c_uint64),
        ("duration_ms", c_int64),
    ]


TELL_NETWORK = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(NetworkState))
EACH_EVENT = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(NetworkEvent))
CONNECTION = ctypes.CFUNCTYPE(None, c_void_p, ctypes.POINTER(Error))


class ForwardRequest(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("port", c_uint16),
        ("local_port", c_uint16),
        ("address", c_char_p),
        ("connection", CONNECTION),
        ("context", c_void_p),
    ]


class PortUrl(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("url", c_char_p),
        ("header", c_char_p),
        ("expires_at_ms", c_int64),
        ("is_public", c_bool),
    ]

    def __del__(self) -> None:
        library.port_url_clear(self)


class ListedSandbox(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("id", c_char_p),
        ("provider", c_char_p),
        ("state", c_char_p),
        ("created_at_ms", c_int64),
        ("mine", c_bool),
    ]


EACH_SANDBOX = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(ListedSandbox))


class VolumeState(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("has_bytes", c_bool),
        ("bytes", c_uint64),
        ("limit_bytes", c_uint64),
        ("writers", c_uint32),
        ("readers", c_uint32),
        ("used_at_ms", c_int64),
    ]


EACH_VOLUME = ctypes.CFUNCTYPE(c_bool, c_void_p, ctypes.POINTER(VolumeState))
LEFTOVER = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, ctypes.POINTER(Error))


_P = c_void_p
_E = ctypes.POINTER(Error)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (c_char_p, []),
    "code_name": (c_char_p, [c_int]),
    "error_clear": (None, [_E]),
    "open": (_P, [ctypes.POINTER(Options), _E]),
    "close": (None, [_P]),
    "session_id": (c_char_p, [_P]),
    "session_provider": (c_char_p, [_P]),
    "session_working_dir": (c_char_p, [_P]),
    "result_clear": (None, [ctypes.POINTER(Result)]),
    "page_clear": (None, [ctypes.POINTER(Page)]),
    "bytes_clear": (None, [ctypes.POINTER(Bytes)]),
    "list_providers": (c_int, [_P, PROVIDER, c_void_p, _E]),
    "default_provider": (c_char_p, [_P]),
    "submit_delete": (_P, [_P, ctypes.POINTER(Target), c_char_p, _E]),
    "submit_session_open": (_P, [_P, ctypes.POINTER(SessionOptions), _E]),
    "submit_session_close": (_P, [_P, _E]),
    "submit_execute": (_P, [_P, ctypes.POINTER(Execution), _E]),
    "submit_read_file": (_P, [_P, ctypes.POINTER(Read), ctypes.POINTER(Page), _E]),
    "submit_write_file": (_P, [_P, ctypes.POINTER(Write), _E]),
    "submit_edit_file": (_P, [_P, ctypes.POINTER(Edit), ctypes.POINTER(c_uint64), _E]),
    "submit_remove_file": (_P, [_P, ctypes.POINTER(Remove), _E]),
    "submit_list_directory": (_P, [_P, ctypes.POINTER(Ls), ENTRY, c_void_p, _E]),
    "submit_find_files": (_P, [_P, ctypes.POINTER(Glob), ENTRY, c_void_p, ctypes.POINTER(c_bool), _E]),
    "submit_search_files": (_P, [_P, ctypes.POINTER(Grep), MATCH, c_void_p, ctypes.POINTER(c_bool), _E]),
    "submit_upload": (_P, [_P, ctypes.POINTER(TransferRequest), _E]),
    "submit_download": (_P, [_P, ctypes.POINTER(TransferRequest), _E]),
    "submit_upload_from_memory": (_P, [_P, ctypes.POINTER(UploadBytes), _E]),
    "submit_download_to_memory": (_P, [_P, ctypes.POINTER(DownloadBytes), ctypes.POINTER(Bytes), _E]),
    "process_clear": (None, [ctypes.POINTER(Process)]),
    "tool_answer_clear": (None, [ctypes.POINTER(ToolAnswer)]),
    "port_url_clear": (None, [ctypes.POINTER(PortUrl)]),
    "tools": (_P, [c_bool]),
    "session_can_execute": (c_bool, [_P]),
    "session_detach": (c_int, [_P, _E]),
    "submit_start_process": (_P, [_P, ctypes.POINTER(Start), c_char_p, _E]),
    "submit_list_processes": (_P, [_P, EACH_PROCESS, _P, _E]),
    "submit_follow_process": (_P, [_P, ctypes.POINTER(Follow), ctypes.POINTER(c_uint64), ctypes.POINTER(Process), _E]),
    "submit_signal_process": (_P, [_P, ctypes.POINTER(Signal), _E]),
    "submit_write_process": (_P, [_P, c_char_p, c_char_p, c_size_t, c_bool, ctypes.POINTER(c_uint64), _E]),
    "submit_run_terminal": (_P, [_P, ctypes.POINTER(Terminal), ctypes.POINTER(c_int), _E]),
    "submit_tool": (_P, [_P, ctypes.POINTER(ToolCall), ctypes.POINTER(ToolAnswer), _E]),
    "submit_import": (_P, [_P, c_char_p, ctypes.POINTER(c_char_p), _E]),
    "submit_list_changes": (_P, [_P, ctypes.POINTER(ChangesRequest), EACH_CHANGE, _P, _E]),
    "submit_export_changes": (_P, [_P, ctypes.POINTER(ChangesRequest), c_int, c_int, _E]),
    "submit_apply_changes": (_P, [_P, ctypes.POINTER(ChangesRequest), EACH_APPLIED, _P, _E]),
    "can_change_network": (c_bool, [_P]),
    "has_network_log": (c_bool, [_P]),
    "submit_show_network": (_P, [_P, TELL_NETWORK, _P, _E]),
    "submit_change_network": (_P, [_P, ctypes.POINTER(NetworkChange), _E]),
    "submit_read_network_log": (_P, [_P, c_uint64, EACH_EVENT, _P, _E]),
    "forward_open": (_P, [_P, ctypes.POINTER(ForwardRequest), _E]),
    "forward_port": (c_uint16, [_P]),
    "forward_descriptor": (c_int, [_P]),
    "forward_close": (None, [_P]),
    "submit_port_url": (_P, [_P, c_uint16, c_int64, ctypes.POINTER(PortUrl), _E]),
    "submit_list": (_P, [_P, ctypes.POINTER(Target), EACH_SANDBOX, _P, _E]),
    "submit_pause": (_P, [_P, ctypes.POINTER(Target), c_char_p, _E]),
    "submit_resume": (_P, [_P, ctypes.POINTER(Target), c_char_p, _E]),
    "submit_snapshot": (_P, [_P, ctypes.POINTER(Target), c_char_p, c_char_p, c_bool, ctypes.POINTER(_P), _E]),
    "submit_snapshot_with_base": (_P, [_P, ctypes.POINTER(Target), c_char_p, c_char_p, c_bool, ctypes.POINTER(_P), _E]),
    "submit_list_snapshots": (_P, [_P, ctypes.POINTER(Target), EACH_SANDBOX, _P, _E]),
    "submit_delete_snapshot": (_P, [_P, ctypes.POINTER(Target), c_char_p, _E]),
    "submit_list_volumes": (_P, [_P, ctypes.POINTER(Target), EACH_VOLUME, _P, _E]),
    "submit_delete_volume": (_P, [_P, ctypes.POINTER(Target), c_char_p, _E]),
    "submit_fork": (_P, [_P, ctypes.POINTER(Target), c_char_p, ctypes.POINTER(_P), _E]),
    "submit_collect_garbage": (_P, [_P, LEFTOVER, _P, _E]),
    "job_descriptor": (c_int, [_P]),
    "job_cancel": (None, [_P]),
    "job_wait": (c_int, [_P, c_int, _E]),
    "job_session": (_P, [_P]),
    "job_result": (c_int, [_P, ctypes.POINTER(Result)]),
    "job_free": (None, [_P]),
}


class Library:
    """The functions without their prefix: library.open is sandlot_open."""

    def __init__(self) -> None:
        file = os.environ.get("SANDLOT_LIBRARY") or "libsandlot.so.0"
        try:
            loaded = ctypes.CDLL(file)
            functions = {name: getattr(loaded, "sandlot_" + name) for name in _FUNCTIONS}
        except (OSError, AttributeError) as problem:  # none, or one that is older than this package
            message = f"{file} cannot be used ({problem}); install Sandlot, or set SANDLOT_LIBRARY to where it is"
            raise ImportError(message, name="sandlot") from problem
        for name, (result, arguments) in _FUNCTIONS.items():
            function = functions[name]
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, function)
        self.free = ctypes.CDLL(None).free
        self.free.argtypes = [c_void_p]
        self.free.restype = None

    def take_text(self, address: int | None) -> str:
        """The text at ADDRESS, which is freed."""
        text = ctypes.string_at(address or 0).decode(errors="replace") if address else ""
        self.free(address)
        return text

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)  # every function is an attribute already; this is for type checkers


library = Library()
