"""Every call of sdk/python over `local`; prints one line per case, for run.sh."""

import asyncio
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading

from sandlot import AsyncSandbox, Sandbox, SandlotError, list_providers

failed = 0


def check(name, good, told=""):
    global failed
    failed += not good
    print(("ok " if good else "not ok ") + name, f"# {told}" if not good else "", flush=True)


def raises(name, code, function, *arguments, **options):
    try:
        check(name, False, function(*arguments, **options))
    except SandlotError as error:
        check(name, error.code == code and str(error), f"{error.code}: {error}")


def commands(box):
    result = box.execute("echo out; echo err >&2; exit 3")
    check("a command", (result.exit_code, result.output, result.truncated) == (3, b"out\nerr\n", False), result)
    check("its environment, folder and input",
          box.execute('cat; echo "$X $PWD"', environment={"X": "ä"}, working_dir="/tmp", input=b"in ").text == "in ä /tmp\n")
    check("output that is no text", box.execute("printf '\\377'").text == "\ufffd")
    check("a time limit", box.execute("sleep 3000", timeout=0.1).timed_out)
    check("no more output than wanted", box.execute("yes | head -c 100000", output_limit=1000).truncated)
    pieces = []
    result = box.execute("echo one; echo two", output=pieces.append)
    check("streamed output", b"".join(pieces) == b"one\ntwo\n" and result.output == b"" and result.output_total == 8, result)
    try:
        check("an exception while it streams", False, box.execute("echo; sleep 3000", output=lambda piece: 1 / 0))
    except ZeroDivisionError:
        check("an exception while it streams ends the command and is raised", True)
    raises("an empty command", "usage", box.execute, "")
    for name in "", "A B", "1A":
        raises(f"'{name}' is no variable", "usage", box.execute, "true", environment={name: "x"})
    try:
        check("a NUL", False, box.execute("a\0b"))
    except ValueError:
        check("a NUL is refused", True)


def files(box):
    box.write("dir/a.txt", "one\ntwo\n")
    check("write and read", box.read("dir/a.txt").text == "one\ntwo")
    page = box.read("dir/a.txt", limit=1)
    check("a page", (page.text, page.start_line, page.end_line, page.next_offset) == ("one", 1, 1, 1), page)
    check("the next page", box.read("dir/a.txt", offset=page.next_offset).next_offset is None)
    check("edit", box.edit("dir/a.txt", "o", "0", replace_all=True) == 2)
    for name, call in ("a port", lambda: box.ports.forward(65536 + 80)), ("an offset", lambda: box.read("dir/a.txt", offset=2**64)):
        try:
            check(f"{name} out of range", False, call())
        except ValueError as error:
            check(f"{name} out of range is refused, not cut", "is out of range: " in str(error), error)
    raises("edit of what is not there", "string_not_found", box.edit, "dir/a.txt", "nope", "x")
    entry, = box.ls("dir")
    check("ls", (entry.path, entry.size, entry.is_dir) == ("/workspace/dir/a.txt", 8, False) and entry.modified_at > 1e9, entry)
    check("glob", [e.path for e in box.glob("*.txt").entries] == [entry.path])
    found = box.grep("tw0", glob="*.txt")
    check("grep", [(m.path, m.line, m.text) for m in found.matches] == [(entry.path, 2, "tw0")] and not found.truncated, found)
    check("grep, at most one", box.grep("", max_count=1).truncated)
    box.execute("touch 'dir/'$(printf '\\377')")
    check("a name that is no UTF-8 comes back", any(e.path.endswith("\udcff") for e in box.ls("dir")))
    place = pathlib.PurePosixPath(box.working_dir, "dir/p.txt")
    box.write(place, "a")
    check("paths of pathlib", box.edit(place, "a", "b") == 1 and box.execute("cat p.txt", working_dir=place.parent).text == "b")
    box.remove("dir")
    raises("what is removed", "file_not_found", box.read, "dir/a.txt")
    raises("ls of nothing", "path_not_found", box.ls, "nope")


def transfers(box):
    content = bytes(range(256)) * 5000
    box.upload("/workspace/up/bytes", content)
    check("bytes up and down", box.download("/workspace/up/bytes") == content)
    box.upload("/workspace/empty", b"")
    providers = {provider.name: provider for provider in list_providers()}
    local = providers["local"]
    check("providers", local.source == "builtin" and "terminal" in local.capabilities and "e2b" in providers, local)
    check("what a provider lacks", "E2B_API_KEY" in providers["e2b"].problem, providers["e2b"])
    check("no bytes", box.download("/workspace/empty") == b"")
    for call in box.write, box.upload:
        try:
            check("a number", False, call("/workspace/empty", 5))
        except TypeError:
            check("a number is no content", box.download("/workspace/empty") == b"")
    check("every other byte as input", box.execute("cat", input=memoryview(b"abcdef")[::2]).text == "ace")
    raises("a download of nothing", "file_not_found", box.download, "/workspace/nope")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "f").write_bytes(content)
        box.upload_file(folder, "/workspace/tree", recursive=True)
        box.download_file("/workspace/tree", folder + "/back", recursive=True)
        check("a folder up and down", pathlib.Path(folder, "back/f").read_bytes() == content)


def lives():
    box = Sandbox(keep=True)
    raises("one that is not open", "usage", box.execute, "true")
    box.open()
    with Sandbox(sandbox_id=box.id) as same:
        same.write("x", "1")
    check("attached to by its id, and left", box.read("x").text == "1")
    raises("opened twice", "usage", box.open)
    name = box.id
    box.close()
    box.close()
    raises("closed", "usage", box.execute, "true")
    subprocess.run([os.environ["SANDLOT"], "delete", name], check=True, stderr=subprocess.DEVNULL)
    raises("no such provider", "unknown_provider", Sandbox("nope").open)
    raises("no such sandbox", "sandbox_not_found", Sandbox(sandbox_id="box-aaaaaaaaaaaa").open)
    check("what it says it is", repr(Sandbox("e2b")) == "<Sandbox at e2b, not open>" and repr(box) == "<Sandbox at local, not open>", repr(box))
    error = pickle.loads(pickle.dumps(SandlotError("usage", "why")))
    check("an error goes to other processes", (error.code, str(error), repr(error)) == ("usage", "why", "SandlotError('usage', 'why')"), repr(error))
    with Sandbox(parameters={"memory_mb": 256, "fake_root": False}) as small:
        check("parameters of their own kinds", small.execute("id -u").text != "0\n" and repr(small) == f"<Sandbox {small.id} at local>", small)
    raises("a wrong parameter", "usage", Sandbox(parameters={"memory_mb": "many"}).open)
    told = []
    with Sandbox(progress=lambda what, done, total: told.append(what)) as box:
        child = os.fork()
        if child == 0:
            try:
                box.execute("true")
            except SandlotError:
                box.close()
                sys.exit(0)  # with its exit handlers
            os._exit(1)
        check("a forked child cannot use it, and does not crash", os.waitpid(child, 0)[1] == 0)
        check("nor delete it", box.execute("echo alive").text == "alive\n")


def without_the_library():
    for place, why in (("/nowhere.so", "No such file"), ("libc.so.6", "undefined symbol")):
        environment = os.environ | {"SANDLOT_LIBRARY": place}
        told = subprocess.run([sys.executable, "-c", "import sandlot"], env=environment, capture_output=True, text=True).stderr
        check(f"{place} is no library of ours", "ImportError: " + place in told and why in told and "set SANDLOT_LIBRARY" in told, told)


def killed():
    program = "import time; from sandlot import Sandbox; box = Sandbox(); box.open(); print(box.id, flush=True); time.sleep(3000)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        name = child.stdout.readline().strip()
        child.kill()
    subprocess.run([os.environ["SANDLOT"], "gc"], check=True, capture_output=True)
    raises("a box whose program was killed goes with gc", "sandbox_not_found", Sandbox(sandbox_id=name).open)


def interrupted():
    with Sandbox() as box:
        timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        timer.start()
        try:
            check("Ctrl-C", False, box.execute("sleep 3000"))
        except KeyboardInterrupt:
            check("Ctrl-C ends a call", True)
        check("and the sandbox goes on", box.execute("echo on").text == "on\n")


async def asynchronous():
    async with AsyncSandbox() as box:
        # Each waits for the next, so that they end only if they run side by side.
        results = await asyncio.gather(*(
            box.execute(f"touch {n}; until [ -e {(n + 1) % 8} ]; do sleep 0.05; done; echo {n}") for n in range(8)))
        check("eight commands at once", [r.text for r in results] == [f"{n}\n" for n in range(8)], results)
        await box.write("a", "x")
        check("files", (await box.read("a")).text == "x" and (await box.grep("x")).matches[0].line == 1)
        await box.upload("/workspace/b", b"123")
        check("bytes", await box.download("/workspace/b") == b"123")
        task = asyncio.create_task(box.execute("touch began; sleep 3000"))
        while not (await box.glob("began")).entries:
            await asyncio.sleep(0.05)
        task.cancel()
        try:
            check("a cancelled task", False, await task)
        except asyncio.CancelledError:
            check("a cancelled task cancels its call", True)
        task = asyncio.create_task(box.execute("sleep 3000"))
        for _ in range(3):
            await asyncio.sleep(0)
            task.cancel()
        check("so does one that is cancelled at once, and again", (await asyncio.wait([task]))[0] == {task} and task.cancelled())
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        for _ in range(8):
            await box.read("a")
        check("small calls one after the other leave others their turn", turns == [1])
        check("and the sandbox goes on", (await box.execute("echo on")).text == "on\n")
        twice = AsyncSandbox()
        told = await asyncio.gather(twice.open(), twice.open(), return_exceptions=True)
        await twice.close()
        check("opened twice at once", [getattr(each, "code", each) for each in told] == [None, "usage"], told)
        try:
            check("an error", False, await box.read("nope"))
        except SandlotError as error:
            check("an error", error.code == "file_not_found", error)


with Sandbox() as shared:
    check("what it is", shared.provider == "local" and shared.working_dir == "/workspace" and shared.id.startswith("box-"))
    commands(shared)
    files(shared)
    transfers(shared)
lives()
without_the_library()
killed()
interrupted()
asyncio.run(asynchronous())
left_open = Sandbox()
left_open.open()  # the end of the interpreter deletes it
sys.exit(failed != 0)
