"""The calls that belong together, over `local`, blocking and for asyncio: processes, network, ports, changes; terminals, tools; and the
sandboxes of a provider, over the test plugin `fake`. Prints one line per case, for run.sh."""

import asyncio
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

from sandlot import AsyncSandbox, AsyncSandboxes, Sandbox, Sandboxes, SandlotError, tools

failed = 0


def check(name, good, told=""):
    global failed
    failed += not good
    print(("ok " if good else "not ok ") + name, f"# {told}" if not good else "", flush=True)


def blocking(function):
    """FUNCTION with a value in the place of an awaitable, so that both kinds of sandbox go through the same cases."""

    async def called(*arguments, **options):
        return function(*arguments, **options)

    return called


class Blocking:
    """The blocking GROUP as the asynchronous one is called."""

    def __init__(self, group):
        self._group = group

    def __getattr__(self, name):
        value = getattr(self._group, name)
        return blocking(value) if callable(value) else value

    def forward(self, *arguments, **options):
        return self._group.forward(*arguments, **options)

    async def follow(self, *arguments, **options):
        for piece in self._group.follow(*arguments, **options):
            yield piece


async def refused(name, kind, function):
    try:
        check(name, False, await function())
    except kind as problem:
        check(name, True, problem)
    except SandlotError as problem:
        check(name, False, problem)


async def raises(name, code, awaitable):
    try:
        check(name, False, await awaitable)
    except SandlotError as error:
        check(name, error.code == code and str(error), f"{error.code}: {error}")


async def gathered(pieces):
    return b"".join([piece async for piece in pieces])


async def processes(kind, group):
    name = await group.start("echo one; sleep 0.2; echo two >&2; exit 7", environment={"X": "1"}, working_dir="/tmp")
    check(f"{kind}: a follower sees all", await gathered(group.follow(name)) == b"one\ntwo\n")
    ended = await group.wait(name)
    check(f"{kind}: its end", (ended.state, ended.exit_code, ended.output_total, ended.id) == ("exited", 7, 8, name), ended)
    check(f"{kind}: it is listed", ended in await group.list(), await group.list())
    log = await group.log(name, start=-4)
    check(f"{kind}: a part of the log", (log.text, log.start, log.next) == ("two\n", 4, 8), log)
    check(f"{kind}: and from there on nothing", (await group.log(name, start=log.next)).content == b"")
    check(f"{kind}: no more than asked for", (await group.log(name, most=2)).content == b"on")
    await raises(f"{kind}: no such process", "process_not_found", group.wait("p99"))
    await raises(f"{kind}: an ended one cannot be signalled", "process_ended", group.signal(name))

    name = await group.start("read line; echo \"got $line\"; echo err >&2; sleep 3000", input=True, separate_errors=True)
    check(f"{kind}: input", await group.write(name, b"this\n", close=True) == 5)
    async for piece in group.follow(name):
        check(f"{kind}: news of one that runs", piece == b"got this\n", piece)
        break
    running = await group.wait(name, timeout=0)
    check(f"{kind}: it runs on", running.state == "running" and running.separate_errors and running.exit_code is None, running)
    await group.signal(name, "KILL")
    check(f"{kind}: killed", (await group.wait(name)).exit_code == 137)
    check(f"{kind}: standard error alone", await gathered(group.follow(name, errors=True)) == b"err\n")


async def network(kind, group):
    check(f"{kind}: a network that can be changed", group.can_change and group.has_log)
    await group.change(allow=["a.invalid", "b.invalid"])
    await group.change(deny=["a.invalid"])
    state = await group.show()
    check(f"{kind}: what it may reach", (state.mode, state.allow, state.credentials, state.broken) == ("allow", ["b.invalid"], {}, False), state)
    check(f"{kind}: nothing was decided", await group.log() == [])
    await group.change("off")
    check(f"{kind}: off", (await group.show()).mode == "off")
    await raises(f"{kind}: no such mode", "usage", group.change("ajar"))


async def ports(kind, box, group):
    name = await box.processes.start("exec python3 -m http.server --bind 127.0.0.1 8000")
    while b"Serving" not in (await box.processes.log(name)).content + b"Serving" * (await served(box)):
        await asyncio.sleep(0.05)
    heard = []
    with group.forward(8000, connection=heard.append) as forward:
        answer = await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{forward.port}/")
        check(f"{kind}: a server through a port", answer.status == 200 and heard == [None], heard)
        check(f"{kind}: the sandbox is there", forward.fileno() >= 0)
    group.forward(8000)  # the end of the sandbox closes it
    await raises(f"{kind}: no url of a local one", "not_supported", group.url(8000))
    await refused(f"{kind}: nor of a port beyond all, which is not taken for 8000", ValueError, lambda: group.url(65536 + 8000))
    await raises(f"{kind}: no such port", "usage", later(lambda: group.forward(0)))


async def served(box):
    result = await box.execute("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8000)).close()' 2>/dev/null")
    return result.exit_code == 0


async def later(function):
    return function()


async def changes(kind, box, group):
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder, "home")
        home.mkdir()
        pathlib.Path(home, "kept").write_text("kept\n")
        await raises(f"{kind}: nothing to compare with", "not_supported", group.list())
        await refused(f"{kind}: one text is no list of its letters", TypeError, lambda: group.import_folder(home, exclude=".env"))
        await group.import_folder(home, exclude=["*.o"])
        await box.write("made/new.txt", "new\n")
        await box.edit("kept", "kept", "edited")
        await box.write("x.o", "object")
        found = {change.path: change.kind for change in await group.list()}
        check(f"{kind}: what has changed", found == {"kept": "modified", "made": "added", "made/new.txt": "added"}, found)
        pathlib.Path(folder, "patch.part").write_text("mine")
        await group.export(folder + "/patch")
        check(f"{kind}: as a patch", "+edited" in pathlib.Path(folder, "patch").read_text())
        await raises(f"{kind}: no such format", "usage", group.export(folder + "/nothing", format="zip"))
        check(f"{kind}: nothing is left of what failed", sorted(os.listdir(folder)) == ["home", "patch", "patch.part"], os.listdir(folder))
        check(f"{kind}: a file beside it stays", pathlib.Path(folder, "patch.part").read_text() == "mine")
        heard = []
        applied = await group.apply(["made"], applied=lambda change, problem: heard.append((change.path, problem)))
        check(f"{kind}: a part is applied", [change.path for change in applied] == ["made", "made/new.txt"], applied)
        check(f"{kind}: which is told", heard == [("made", None), ("made/new.txt", None)], heard)
        check(f"{kind}: and there", pathlib.Path(home, "made/new.txt").read_text() == "new\n")
        pathlib.Path(home, "kept").write_text("here too\n")
        await raises(f"{kind}: a conflict", "conflict", group.apply())
        await group.apply(force=["kept"])
        check(f"{kind}: forced", pathlib.Path(home, "kept").read_text() == "edited\n")


async def interactive(kind, box):
    read, write = os.pipe()
    os.write(write, b"x\n")
    pieces = []
    code = await box.terminal(read, pieces.append, command="stty size; read line; exit 3", window=lambda: (30, 100))
    check(f"{kind}: a terminal", code == 3 and b"30 100" in b"".join(pieces), (code, pieces))
    os.close(read)
    os.close(write)
    for flags, place in ((os.O_RDONLY, "/"), (os.O_WRONLY, "/dev/null")):
        unreadable = os.open(place, flags)
        await raises(f"{kind}: a terminal's input that cannot be read", "usage", box.terminal(unreadable, pieces.append, command="true"))
        os.close(unreadable)
    pieces = []
    answer = await box.tool("execute", {"command": "echo hi; exit 2"}, output=pieces.append)
    check(f"{kind}: a tool", "hi" in answer.content[0]["text"] and answer.meta["sandlot/exit_code"] == 2 and pieces == [b"hi\n"], answer)
    await raises(f"{kind}: no such tool", "usage", box.tool("nope", {}))
    check(f"{kind}: the tools", {"execute", "read_file"} <= {tool["name"] for tool in tools()} and box.can_execute)
    check(f"{kind}: without commands", "execute" not in {tool["name"] for tool in tools(execute=False)})


async def provider(kind, sandboxes, options):
    with Sandbox("fake", keep=True, **options) as box:
        box.detach()
        name = box.id
    found = {each.id: each for each in await sandboxes.list()}
    check(f"{kind}: sandboxes of a provider", found[name].provider == "fake" and found[name].mine, found)
    await sandboxes.pause(name)
    await sandboxes.resume(name)
    await raises(f"{kind}: none of that id", "sandbox_not_found", sandboxes.pause("nobody"))
    kept = await sandboxes.snapshot(name, "kept")
    await raises(f"{kind}: a name that is taken", "conflict", sandboxes.snapshot(name, "kept"))
    check(f"{kind}: unless it is replaced", await sandboxes.snapshot(name, "kept", replace=True))
    check(f"{kind}: with its base", await sandboxes.snapshot(name, "kept", replace=True, with_base=True))
    check(f"{kind}: a snapshot", kept in [each.id for each in await sandboxes.snapshots()], kept)
    await sandboxes.delete_snapshot(kept)
    check(f"{kind}: it is gone", await sandboxes.snapshots() == [])
    fork = await sandboxes.fork(name)
    check(f"{kind}: a fork", fork != name and fork in [each.id for each in await sandboxes.list()], fork)
    await raises(f"{kind}: no volumes", "not_supported", sandboxes.volumes())
    await sandboxes.delete(fork)
    await sandboxes.delete(name)
    check(f"{kind}: both are gone", await sandboxes.list() == [])
    check(f"{kind}: nothing is left", await sandboxes.collect_garbage() == [])
    program = f"from sandlot import Sandbox; Sandbox('fake', **{options!r}).open()"
    stays = {"ASAN_OPTIONS": "detect_leaks=0"}  # the runtime, until its end: see leaks.py
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | stays)
    left = await sandboxes.list()
    check(f"{kind}: one that nobody refers to any more goes with the interpreter", left == [], left)


async def volumes(kind, at_home):
    with Sandbox(volumes=[f"{kind}-kept:/kept"]) as box:
        box.write("/kept/note", b"x" * 5000)
        [found] = [each for each in await at_home.volumes() if each.name == f"{kind}-kept"]
        check(f"{kind}: a volume", found.bytes >= 5000 and found.limit_bytes and (found.writers, found.readers) == (1, 0), found)
        await raises(f"{kind}: a volume in use", "quota", at_home.delete_volume(found.name))
    with Sandbox(volumes=[f"{kind}-kept:/again:ro"]) as box:
        check(f"{kind}: it outlives its sandbox", len(box.download("/again/note")) == 5000)
    await at_home.delete_volume(f"{kind}-kept")
    check(f"{kind}: the volume is gone", f"{kind}-kept" not in [each.name for each in await at_home.volumes()])


async def all_of(kind, box, wrap, sandboxes, options):
    await processes(kind, wrap(box.processes))
    await network(kind, wrap(box.network))
    await interactive(kind, wrap(box))
    await changes(kind, wrap(box), wrap(box.changes))
    await ports(kind, Both(box, wrap), wrap(box.ports))
    await provider(kind, wrap(sandboxes), options)
    await volumes(kind, wrap(type(sandboxes)()))


class Both:
    """A sandbox whose group of processes is wrapped as it is."""

    def __init__(self, box, wrap):
        self.processes = wrap(box.processes)
        self.execute = wrap(box).execute


async def main():
    with tempfile.TemporaryDirectory() as folder:
        parameters = {"folder": folder, "journal": folder + ".journal"}
        options = {"parameters": parameters, "config_file": os.environ["SANDLOT_TEST_FAKE"]}
        with Sandbox(network="off", name="py") as box:
            await all_of("blocking", box, Blocking, Sandboxes("fake", **options), options)
        async with AsyncSandbox(allow=["a.invalid"]) as box:
            await all_of("asyncio", box, lambda group: group, AsyncSandboxes("fake", **options), options)
        os.unlink(folder + ".journal")


assert inspect.iscoroutinefunction(main)
asyncio.run(main())
sys.exit(failed != 0)
