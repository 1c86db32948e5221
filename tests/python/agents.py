"""sandlot.deepagents against the facts of deepagents_facts.py, over `local` and `vfs`; prints one line per case, for run.sh.

agents.py             all
agents.py forgotten   what a program does that forgets the sandboxes of its provider: it ends
agents.py configured  where the configuration names vfs
agents.py astray      where it names what is not there
"""

import asyncio
import atexit
import base64
import gc
import os
import subprocess
import sys
import tempfile
import threading

import deepagents_facts as facts

failed = 0
names = []  # of sandboxes that are forgotten
if sys.argv[-1] == "forgotten":  # before Sandlot is imported, so that it runs after Sandlot's; while the process lives nobody collects them
    atexit.register(lambda: print("left:", [name for name in names if living(name)]))


def check(name, good, told=""):
    global failed
    failed += not good
    print(("ok " if good else "not ok ") + name, f"# {told}" if not good else "", flush=True)


def raises(name, kind, function, *arguments, **options):
    try:
        check(name, False, function(*arguments, **options))
    except kind as error:
        check(name, str(error), repr(error))


def without_the_framework():
    import sandlot.deepagents

    check("the module is there without the framework", "SandlotSandbox" in sandlot.deepagents.__all__)
    for name, package in (("SandlotSandbox", "deepagents"), ("SandlotProvider", "deepagents-code")):
        try:
            check(name, False, getattr(sandlot.deepagents, name))
        except ImportError as error:
            check(f"{name} says what it needs", f"pip install {package})" in str(error), error)
    raises("and no other names", AttributeError, getattr, sandlot.deepagents, "Nothing")


without_the_framework()
facts.install()

from deepagents.backends.sandbox import BaseSandbox  # noqa: E402
from deepagents_code.integrations.sandbox_provider import (  # noqa: E402
    SandboxError,
    SandboxNotFoundError,
    SandboxProviderMetadata,
)

from sandlot import AsyncSandbox, Entry, Sandbox, SandlotError  # noqa: E402
from sandlot._deepagents_sandbox import _file_info  # noqa: E402
from sandlot.deepagents import SandlotProvider, SandlotSandbox  # noqa: E402


def signatures():
    for kind, table, base in (
        (SandlotSandbox, facts.METHODS, BaseSandbox),
        (SandlotProvider, facts.PROVIDER, object),
    ):
        for name, (positional, named) in table.items():
            for method in (name, "a" + name):
                function = getattr(kind, method)
                told = facts.signature(function)
                wanted = named.removesuffix("...")  # where more may come, Sandlot may name some of it
                fits = told[0] == positional and (told[1] == named or (wanted != named and told[1].startswith(wanted)))
                check(f"{method}: names and defaults", fits, told)
                check(f"{method}: ours", method in vars(kind) and function is not getattr(base, method, None))
                check(f"{method}: async", asyncio.iscoroutinefunction(function) == (method != name))


class Blocking:
    """The blocking methods, called as the async ones are."""

    def __init__(self, backend):
        self.backend = backend

    def __getattr__(self, name):
        async def called(*arguments, **options):
            return getattr(self.backend, name.removeprefix("a"))(*arguments, **options)

        return called


async def reading(way, box):
    text = "".join(f"line {n}\n" for n in range(1, 31))
    written = await box.awrite("/workspace/deep/text", text)
    check(f"{way} write", (written.path, written.error) == ("/workspace/deep/text", None), written)
    page = await box.aread("/workspace/deep/text", offset=10, limit=5)
    check(f"{way} read", page.file_data == {"content": "\n".join(f"line {n}" for n in range(11, 16)), "encoding": "utf-8"}, page)
    numbers = (page.start_line, page.end_line, page.next_offset, page.total_lines)
    check(f"{way} read: where it is", numbers == (11, 15, 15, 30), numbers)
    last = await box.aread("/workspace/deep/text", offset=25)
    check(f"{way} read: the end", (last.end_line, last.next_offset) == (30, None), last)
    none = await box.aread("/workspace/deep/text", offset=-3, limit=-1)
    check(f"{way} read of no lines", none.no_lines_requested and none.file_data["content"] == "" and none.start_line is None, none)
    far = await box.aread("/workspace/deep/text", offset=2**64)
    check(f"{way} read beyond the end", far.error and far.file_data is None, far)
    await box.awrite("/workspace/empty", "")
    empty = await box.aread("/workspace/empty", limit=0)
    check(f"{way} read of an empty file", empty.file_data["content"] == "" and not empty.no_lines_requested, empty)
    await box.awrite("/workspace/wide", "short\n" + "x" * 600_000 + "\nend\n")
    wide = await box.aread("/workspace/wide")
    check(f"{way} read: a page that is cut", wide.next_offset == wide.end_line == 1 and wide.total_lines == 3, wide.next_offset)
    wide = await box.aread("/workspace/wide", offset=1)
    check(f"{way} read: a line that is cut", (wide.start_line, wide.end_line, wide.next_offset) == (2, 2, 2), wide.next_offset)
    content = bytes(range(256))
    await box.aupload_files([("/workspace/picture.png", content)])
    page = await box.aread("/workspace/picture.png", limit=1)
    check(f"{way} read of bytes", page.file_data["encoding"] == "base64" and base64.b64decode(page.file_data["content"]) == content)
    missing = await box.aread("/workspace/missing")
    check(f"{way} read of nothing", facts.WORDS["read, edit and delete of a missing file"] in missing.error, missing)
    bad = await box.aread("/workspace/a\0b")
    check(f"{way} read of what is no path", bad.error, bad)


async def changing(way, box):
    path = "/workspace/edited"
    await box.awrite(path, "one two two\r\nthree\r\n")
    twice = await box.aedit(path, "two", "2")
    check(f"{way} edit of what is there twice", facts.WORDS["edit of what is there twice"] in twice.error, twice)
    both = await box.aedit(path, "two", "2", replace_all=True)
    check(f"{way} edit", (both.error, both.path, both.occurrences) == (None, path, 2), both)
    check(f"{way} edit: ends of lines", (await box.aedit(path, "2\nthree", "2\n3")).occurrences == 1)
    content = (await box.adownload_files([path]))[0].content
    check(f"{way} edit: and they stay", content == b"one 2 2\r\n3\r\n", content)
    none = await box.aedit(path, "four", "4")
    check(f"{way} edit of what is not there", facts.WORDS["edit of what is not there"] in none.error and none.occurrences is None, none)
    missing = await box.aedit("/workspace/missing", "a", "b")
    check(f"{way} edit of nothing", facts.WORDS["read, edit and delete of a missing file"] in missing.error, missing)
    check(f"{way} a letter that no file can hold", (await box.awrite(path, "\ud800")).error)
    gone = await box.adelete("/workspace/deep")
    check(f"{way} delete", (gone.error, gone.path) == (None, "/workspace/deep"), gone)
    missing = await box.adelete("/workspace/deep")
    check(f"{way} delete of nothing", facts.WORDS["read, edit and delete of a missing file"] in missing.error, missing)
    for path in facts.PLACES:
        check(f"{way} write to {path}", (await box.awrite(path, "kept")).error is None)
        check(f"{way} and read", (await box.aread(path)).file_data["content"] == "kept")


async def finding(way, box):
    await box.aexecute("mkdir -p tree/.hidden; echo needle >tree/a.txt; echo needle >tree/.hidden/b.txt; cd tree"
                       "; touch late $(printf 'x\\377')")
    told = await box.als("/workspace/tree")
    check(f"{way} ls", told.error is None and [each["path"] for each in told.entries] == [
        f"/workspace/tree/{name}" for name in (".hidden", "a.txt", "late", "x\ufffd")], told)
    check(f"{way} ls: kinds", all(type(each[key]) is facts.FILE_INFO[key] for each in told.entries for key in each))
    first = told.entries[1]
    check(f"{way} ls: what is known", first["size"] == 7 and first["modified_at"].endswith("+00:00") and not first["is_dir"], first)
    file = await box.als("/workspace/tree/a.txt")
    check(f"{way} ls of a file", facts.WORDS["ls of a file"] in file.error and file.entries is None, file)
    late = _file_info(Entry("/late", False, False, 1, 1e15))
    check(f"{way} ls: a time that no calendar has", late == {"path": "/late", "is_dir": False, "size": 1}, late)
    check(f"{way} ls of nothing", (await box.als("/workspace/missing")).error)
    found = await box.aglob("*.txt", path="/workspace/tree")
    check(f"{way} glob", [each["path"] for each in found.matches] == [
        "/workspace/tree/.hidden/b.txt", "/workspace/tree/a.txt"] and not found.truncated, found)
    check(f"{way} glob of nothing", (await box.aglob("../*")).error)
    lines = await box.agrep("needle", path="/workspace/tree", glob="a*")
    check(f"{way} grep", lines.matches == [{"path": "/workspace/tree/a.txt", "line": 1, "text": "needle"}], lines)
    for most, count, cut in ((0, 0, True), (1, 1, True), (2, 2, False), (None, 2, False)):
        lines = await box.agrep("needle", "/workspace/tree", max_count=most)
        check(f"{way} grep, at most {most}", (len(lines.matches), lines.truncated) == (count, cut), lines)
    check(f"{way} grep in nothing", (await box.agrep("x", "/workspace/missing")).error)


async def running(way, box):
    told = await box.aexecute("echo out; echo err >&2; exit 3")
    check(f"{way} execute", (told.output, told.exit_code, told.truncated) == ("out\nerr\n", 3, False), told)
    late = await box.aexecute("sleep 3000", timeout=1)
    check(f"{way} execute: timeout", late.exit_code == 124 and "timed out" in late.output, late)
    check(f"{way} execute without timeout", (await box.aexecute("echo on", timeout=0)).output == "on\n")
    try:
        check(f"{way} execute: less than no time", False, await box.aexecute("true", timeout=-1))
    except ValueError:
        check(f"{way} execute: less than no time", True)
    empty = await box.aexecute("")
    check(f"{way} execute of nothing", empty.output.startswith("Error: ") and empty.exit_code is None, empty)
    kept = await box.aexecute_with_offload("echo kept", facts.PLACES[0], max_inline_bytes=1)
    check(f"{way} execute_with_offload", kept.response.output == "kept\n" and not kept.offloaded, kept)


async def moving(way, box):
    files = [("/workspace/new/1", b"\0\xff"), ("relative", b""), ("/workspace", b""), ("/workspace/a\0b", b""), ("/workspace/2", b"")]
    up = await box.aupload_files(files)
    check(f"{way} upload_files", [(each.path, each.error) for each in up] == [
        (path, error) for (path, _), error in zip(files, (None, "invalid_path", "is_directory", "invalid_path", None), strict=True)], up)
    paths = ["/workspace/missing", "/workspace/new/1", "/workspace/new", "relative", "/workspace/2"]
    down = await box.adownload_files(paths)
    check(f"{way} download_files", [(each.path, each.content, each.error) for each in down] == [
        (paths[0], None, "file_not_found"), (paths[1], b"\0\xff", None), (paths[2], None, "is_directory"),
        (paths[3], None, "invalid_path"), (paths[4], b"", None)], down)
    check(f"{way} errors of files", {each.error for each in up + down} - {None} <= facts.FILE_ERRORS)


async def operations(way, backend):
    await running(way, backend)
    await reading(way, backend)
    await changing(way, backend)
    await finding(way, backend)
    await moving(way, backend)


async def cancelled(backend):
    task = asyncio.create_task(backend.aexecute("touch began; sleep 3000"))
    while not (await backend.aglob("began")).matches:
        await asyncio.sleep(0.05)
    task.cancel()
    try:
        check("a cancelled task", False, await task)
    except asyncio.CancelledError:
        check("a cancelled task cancels its call", True)


async def asynchronous():
    async with AsyncSandbox() as box:
        backend = SandlotSandbox(box)
        await operations("async:", backend)
        await cancelled(backend)
    told = await backend.aexecute("true")
    check("a closed sandbox is an answer", told.output.startswith("Error: ") and backend.id.startswith("box-"), told)


def in_another(what, provider):
    """Runs this program with a configuration that names PROVIDER; what it prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        print(f'[sandboxes]\ndefault = "{provider}"\n[sandboxes.providers.vfs]\nworking_dir = "/workspace/deep"', file=file, flush=True)
        environment = os.environ | {"SANDLOT_CONFIG": file.name}
        ran = subprocess.run([sys.executable, __file__, what], env=environment, stdout=subprocess.PIPE, text=True)
    check(f"a program of its own: {what}", ran.returncode == 0)
    return ran.stdout


def living(name):
    listed = subprocess.run([os.environ["SANDLOT"], "list"], check=True, capture_output=True, text=True).stdout
    return name in listed


async def providers():
    provider = SandlotProvider()
    told = provider.metadata
    check("metadata before", isinstance(told, SandboxProviderMetadata) and (told.name, told.working_dir) == ("sandlot", "/workspace"))
    check("metadata: what local can", told.supports_sandbox_id and told.supports_snapshot_name, told)
    box = provider.get_or_create(sandbox_id=None)  # blocks the loop, as dcode does
    check("made inside a running event loop", box.execute("echo on").output == "on\n")
    again = await SandlotProvider().aget_or_create(sandbox_id=box.id)
    check("attached to", again.id == box.id and (await again.aexecute("echo on")).output == "on\n")
    where = box.execute("pwd").output.strip()
    check("metadata of another instance: what pwd says", SandlotProvider().metadata.working_dir == where)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(SandlotProvider().delete(sandbox_id=box.id)))
    running = asyncio.create_task(again.aexecute("touch began; sleep 3000"))
    while not box.glob("began").matches:
        await asyncio.sleep(0.05)
    thread.start()
    told = await running
    thread.join()
    check("deleted on a thread, while it ran a command", ended == [None] and told.exit_code != 0 and not living(box.id), told)
    gone = box.execute("true")
    raises("and closed", SandlotError, lambda: again.sandbox.id)
    check("and its id is known after that", box.id == again.id and gone.output.startswith("Error: "), gone)
    provider.delete(sandbox_id=box.id)
    check("deleted twice", True)
    raises("attached to nothing", SandboxNotFoundError, provider.get_or_create, sandbox_id="box-aaaaaaaaaaaa")
    raises("a snapshot and an id", ValueError, provider.get_or_create, sandbox_id="x", snapshot="y")
    raises("a snapshot where there is none", ValueError, provider.get_or_create, snapshot="y")
    raises("a wrong parameter", ValueError, provider.get_or_create, memory_mb="many")
    raises("a parameter that is none", ValueError, provider.get_or_create, memory_mb=[1])
    other = await provider.aget_or_create(memory_mb=512, fake_root=False)
    await SandlotProvider().adelete(sandbox_id=other.id)
    check("parameters", not living(other.id))
    raises("a vendor without its key", SandboxError, provider.get_or_create, provider="e2b")


def configured():
    told = SandlotProvider().metadata
    check("metadata: what the configured provider can", told.supports_snapshot_name and told.supports_sandbox_id, told)
    box = SandlotProvider().get_or_create()
    check("the configured provider", box.sandbox.provider == "vfs" and box.write("/workspace/x", "1").error is None)
    raises("a snapshot that is missing", ValueError, SandlotProvider().get_or_create, snapshot="missing")
    SandlotProvider().delete(sandbox_id=box.id)


def astray():
    check("metadata of what is not there", SandlotProvider().metadata.working_dir == "/workspace")
    box = SandlotProvider().get_or_create(provider="vfs")
    where = box.execute("pwd").output.strip()
    check("metadata of what is open: what pwd says there", SandlotProvider().metadata.working_dir == where == "/workspace/deep", where)
    SandlotProvider().delete(sandbox_id=box.id)
    check("metadata after that", SandlotProvider().metadata.working_dir == "/workspace")
    raises("what is not there", ValueError, SandlotProvider().get_or_create)


def forgotten():
    """As the framework does where a setup script fails, and at exit."""
    for _ in range(2):
        names.append(SandlotProvider().get_or_create().id)
        gc.collect()
    check("there are two", all(living(name) for name in names))
    atexit.register(lambda: SandlotProvider().delete(sandbox_id=names[-1]))


def everything():
    signatures()
    with Sandbox() as shared:
        asyncio.run(operations("", Blocking(SandlotSandbox(shared))))
    asyncio.run(asynchronous())
    asyncio.run(providers())
    print(in_another("configured", "vfs"), in_another("astray", "nothing"), sep="", end="")
    told = in_another("forgotten", "local")
    check("what was forgotten goes with the interpreter", told.endswith("ok there are two \nleft: []\n"), told)


{"forgotten": forgotten, "configured": configured, "astray": astray}.get(sys.argv[-1], everything)()
sys.exit(failed != 0)
