"""The calls of a session: what each hands to the library, and what it makes of the answer."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sandlot import _library as c
from sandlot._jobs import Call, nothing
from sandlot._library import library
from sandlot._results import Entry, Found, Match, Matches, Page, Result, ToolAnswer

Progress = Callable[[str, int, int], None]
Path = str | os.PathLike[str]
Parameters = Mapping[str, str | int | float | bool]


def encoded(text: Path | None) -> bytes | None:
    """Paths and words for the library; names that are no UTF-8 come back as they were read."""
    if text is None:
        return None
    value = os.fsencode(text)
    if b"\0" in value:
        raise ValueError("a path or word must not hold a NUL")
    return value


def octets(content: bytes) -> bytes:
    """CONTENT, whatever holds bytes; of a number `bytes` would make that many zeros."""
    return content if isinstance(content, bytes) else bytes(memoryview(content))


def strings(words: Sequence[Path]) -> Any:
    """An array that ends with NULL. One text is a sequence too, of its letters, which nobody means."""
    if isinstance(words, str):
        raise TypeError(f"a list of texts is wanted, not the text {words!r}")
    return (ctypes.c_char_p * (len(words) + 1))(*[encoded(word) for word in words], None)


def pairs(values: Parameters | None) -> Any:
    """NAME=value for each, or NULL."""
    words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in (values or {}).items()}
    return strings([f"{name}={value}" for name, value in words.items()]) if words else None


def receiver(sink: Callable[[bytes], None]) -> Callable[[Any, int, int], bool]:
    """SINK for what C hands out."""

    def receive(_context: Any, data: int, length: int) -> bool:
        sink(ctypes.string_at(data, length))
        return True

    return receive


def execute(
    session: Any,
    command: str,
    timeout: float | None,
    working_dir: Path | None,
    environment: Mapping[str, str] | None,
    input_fd: int | None,
    output: Callable[[bytes], None] | None,
    output_limit: int,
) -> Call[Result]:
    request = c.Execution(
        command=encoded(command),
        timeout_ms=-1 if timeout is None else max(1, round(timeout * 1000)),
        working_dir=encoded(working_dir),
        has_input=input_fd is not None,
        input_fd=-1 if input_fd is None else input_fd,
        output_limit=output_limit,
    )
    words = pairs(environment)
    request.environment = words

    def finish(job: Any) -> Result:
        result = c.Result()
        library.job_result(job, result)
        try:
            return Result(
                result.exit_code if result.has_exit_code else None,
                ctypes.string_at(result.output, result.output_length) if result.output else b"",
                result.output_total,
                result.timed_out,
                result.truncated,
            )
        finally:
            library.result_clear(result)

    call = Call(lambda error: library.submit_execute(session, request, error), finish, request, words)
    if output is not None:
        request.output = c.OUTPUT(call.guarded(receiver(output), False))
    return call


def terminal(
    session: Any,
    input_fd: int,
    output: Callable[[bytes], None],
    command: str | None,
    window: Callable[[], tuple[int, int]] | None,
    resized_fd: int,
    working_dir: Path | None,
    environment: Mapping[str, str] | None,
    term: str | None,
) -> Call[int | None]:
    words = pairs(environment)
    request = c.Terminal(
        command=encoded(command),
        working_dir=encoded(working_dir),
        environment=words,
        term=encoded(term),
        input_fd=input_fd,
        resized_fd=resized_fd,
    )
    code = ctypes.c_int(-1)
    call: Call[int | None] = Call(
        lambda error: library.submit_run_terminal(session, request, code, error),
        lambda _job: code.value if code.value >= 0 else None,
        request,
        words,
        code,
    )
    request.output = c.OUTPUT(call.guarded(receiver(output), False))
    if window is not None:
        ask = window

        def tell(_context: Any, rows: Any, columns: Any) -> None:
            rows[0], columns[0] = ask()

        request.window = c.WINDOW(call.guarded(tell, None))
    return call


def tool(
    session: Any, name: str, arguments: Mapping[str, Any], maximum_bytes: int, output: Callable[[bytes], None] | None
) -> Call[ToolAnswer]:
    request = c.ToolCall(name=encoded(name), arguments=json.dumps(arguments).encode(), maximum_bytes=maximum_bytes)
    answer = c.ToolAnswer()
    call = Call(
        lambda error: library.submit_tool(session, request, answer, error),
        lambda _job: ToolAnswer(json.loads(answer.content), json.loads(answer.meta or b"{}"), answer.is_error),
        request,
        answer,
    )
    if output is not None:
        request.output = c.BYTES(call.guarded(receiver(output), None))
    return call


def read(session: Any, path: Path, offset: int, limit: int | None) -> Call[Page]:
    request = c.Read(path=encoded(path), offset=offset, has_limit=limit is not None, limit=limit or 0)
    page = c.Page()

    def finish(_job: Any) -> Page:
        return Page(
            ctypes.string_at(page.content, page.content_length) if page.content else b"",
            page.binary,
            page.empty,
            page.truncated,
            page.lossy,
            page.start_line,
            page.end_line,
            page.total_lines if page.total_lines >= 0 else None,
            page.next_offset if page.next_offset >= 0 else None,
            page.line_truncated,
        )

    return Call(
        lambda error: library.submit_read_file(session, request, page, error), finish, request, page
    )


def write(session: Any, path: Path, content: str | bytes) -> Call[None]:
    data = content.encode() if isinstance(content, str) else octets(content)
    request = c.Write(path=encoded(path), content=data, content_length=len(data))
    return Call(
        lambda error: library.submit_write_file(session, request, error), nothing, request, data
    )


def edit(session: Any, path: Path, old: str, new: str, replace_all: bool) -> Call[int]:
    before, after = old.encode(), new.encode()
    request = c.Edit(
        path=encoded(path),
        old_string=before,
        old_length=len(before),
        new_string=after,
        new_length=len(after),
        replace_all=replace_all,
    )
    count = ctypes.c_uint64()
    return Call(
        lambda error: library.submit_edit_file(session, request, count, error),
        lambda _job: count.value,
        request,
        before,
        after,
        count,
    )


def remove(session: Any, path: Path) -> Call[None]:
    request = c.Remove(path=encoded(path))
    return Call(lambda error: library.submit_remove_file(session, request, error), nothing, request)


def _collector(call: Call[Any], entries: list[Entry], sizes: bool) -> Any:
    def receive(_context: Any, pointer: Any) -> bool:
        entry = pointer.contents
        size, modified = (entry.bytes, entry.modified_at_ms / 1000) if sizes else (None, None)
        entries.append(Entry(os.fsdecode(entry.path), entry.is_dir, entry.is_symlink, size, modified))
        return True

    return c.ENTRY(call.guarded(receive, False))


def ls(session: Any, path: Path | None) -> Call[list[Entry]]:
    request = c.Ls(path=encoded(path))
    entries: list[Entry] = []
    call = Call(
        lambda error: library.submit_list_directory(session, request, each, None, error),
        lambda _job: entries,
        request,
    )
    each = _collector(call, entries, True)
    return call


def glob(session: Any, pattern: str, path: Path | None, directories: bool) -> Call[Found]:
    request = c.Glob(pattern=encoded(pattern), path=encoded(path), directories=directories)
    entries: list[Entry] = []
    truncated = ctypes.c_bool()
    call = Call(
        lambda error: library.submit_find_files(session, request, each, None, truncated, error),
        lambda _job: Found(entries, truncated.value),
        request,
        truncated,
    )
    each = _collector(call, entries, False)
    return call


def grep(session: Any, text: str, path: Path | None, pattern: str | None, max_count: int) -> Call[Matches]:
    wanted = text.encode()
    request = c.Grep(
        pattern=wanted, pattern_length=len(wanted), path=encoded(path), glob=encoded(pattern), max_count=max_count
    )
    matches: list[Match] = []
    truncated = ctypes.c_bool()
    call = Call(
        lambda error: library.submit_search_files(session, request, each, None, truncated, error),
        lambda _job: Matches(matches, truncated.value),
        request,
        wanted,
        truncated,
    )

    def receive(_context: Any, pointer: Any) -> bool:
        match = pointer.contents
        line = ctypes.string_at(match.text, match.text_length).decode(errors="replace")
        matches.append(Match(os.fsdecode(match.path), match.line, line))
        return True

    each = c.MATCH(call.guarded(receive, False))
    return call


def transfer(session: Any, up: bool, path: Path, local: Path, recursive: bool) -> Call[None]:
    item = c.TransferItem(path=encoded(path), local_path=encoded(local), fd=-1)
    items = (c.TransferItem * 1)(item)
    request = c.TransferRequest(items=items, count=1, recursive=recursive)
    submit = library.submit_upload if up else library.submit_download
    return Call(lambda error: submit(session, request, error), nothing, request, items, item)


def upload(session: Any, path: Path, content: bytes) -> Call[None]:
    data = octets(content)
    request = c.UploadBytes(path=encoded(path), content=data, content_length=len(data))
    return Call(
        lambda error: library.submit_upload_from_memory(session, request, error),
        nothing,
        request,
        data,
    )


def download(session: Any, path: Path) -> Call[bytes]:
    request = c.DownloadBytes(path=encoded(path))
    content = c.Bytes()
    return Call(
        lambda error: library.submit_download_to_memory(session, request, content, error),
        lambda _job: ctypes.string_at(content.content, content.length),
        request,
        content,
    )


@contextlib.contextmanager
def memory(content: bytes) -> Iterator[int]:
    """A descriptor of a file in memory that holds CONTENT, at its beginning."""
    fd = os.memfd_create("sandlot", os.MFD_CLOEXEC)
    try:
        view = memoryview(octets(content))  # by the byte: a file takes 2 GiB at once, and the rest in other steps
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def input_of(content: bytes | None) -> contextlib.AbstractContextManager[int | None]:
    """A descriptor that a command reads CONTENT from; None: it has no input."""
    return contextlib.nullcontext() if content is None else memory(content)
