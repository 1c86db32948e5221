"""What the proxy of a local box costs, beside the same requests without a box and a proxy, and beside the proxy of
@anthropic-ai/sandbox-runtime (peer_proxy.mjs; `make clients` has it), which runs without a box here; in turns.

    network.py BUILD

The hosts are stand-ins on loopback, and the proxies builds that have a table of them (plugins/local/egress/stand_in.h). What is above its
target is marked "over", for a busy machine does that, and of memory that is shared the proxy's part depends on who else runs. Status 77: openssl is missing.
"""

import os
import shlex
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS, CONNECTIONS, REQUESTS, BYTES = int(os.environ.get("BENCH_TURNS") or 5), 60, 300, 100_000_000
DECISIONS, SLICES, ENDLESS = 100, 20, 1 << 50


# ---- the server ----

def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    block = b"x" * (1 << 20)
    with connection, connection.makefile("rb") as reader:
        for line in reader:
            while reader.readline() not in (b"\r\n", b""):
                pass
            length = int(line.split()[1][1:])
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length)
            for at in range(0, length, len(block)):
                connection.sendall(block[:length - at])


def listen(context):
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def serve_one(connection):
        try:
            serve(context.wrap_socket(connection, server_side=True) if context else connection)
        except OSError:
            pass

    def accept():
        while True:
            threading.Thread(target=serve_one, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


# ---- the client, in a box or not: prints microseconds ----

def connected(place, host, port, context):
    """A connection to the port PLACE, or through the proxy there to HOST; by TLS if there is a CONTEXT."""
    proxied = isinstance(place, tuple)
    connection = socket.create_connection(place if proxied else ("127.0.0.1", place))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if proxied:
        connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += connection.recv(1)
        if b" 200 " not in answer:
            sys.exit(answer)
    return context.wrap_socket(connection, server_hostname=host) if context else connection


def ask(connection, host, length):
    connection.sendall(f"GET /{length} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    got = len(answer) - answer.index(b"\r\n\r\n") - 4
    buffer = bytearray(1 << 18)
    while got < length:
        got += connection.recv_into(buffer)


def refused(place):
    """How long that many refusals take, one after the other."""
    began = time.perf_counter()
    for _ in range(DECISIONS):
        with socket.create_connection(place) as connection:
            connection.sendall(b"GET http://denied.example/ HTTP/1.1\r\nHost: denied.example\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        if b" 403 " not in answer:
            sys.exit(answer)
    return (time.perf_counter() - began) * 1e6


def endless(place, host, port):
    """A download until it is cut: prints that it runs, and when it did not any more."""
    with connected(place, host, port, None) as connection:
        connection.sendall(f"GET /{ENDLESS} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        print("runs" if connection.recv(65536) else "", flush=True)
        try:
            while connection.recv(1 << 18):
                pass
        except OSError:
            pass
        print(time.time())


def client(what, place, host, port, authorities):
    if what in ("decisions", "endless"):
        place = ("127.0.0.1", int(place[6:]))
        return print(min(refused(place) for _ in range(SLICES))) if what == "decisions" else endless(place, host, port)
    context = ssl.create_default_context(cafile=authorities) if authorities else None
    place = ("127.0.0.1", int(place[6:])) if place.startswith("proxy:") else int(place)
    times = []
    kept = connected(place, host, port, context) if what != "connect" else None
    for _ in range({"connect": CONNECTIONS, "kept": REQUESTS, "bytes": 1}[what]):
        began = time.perf_counter()
        if kept:
            ask(kept, host, BYTES if what == "bytes" else 10)
        else:
            with connected(place, host, port, context) as connection:
                ask(connection, host, 10)
        times.append((time.perf_counter() - began) * 1e6)
    print(statistics.median(times))


# ---- the turns ----

class Bench:
    def __init__(self, build, folder):
        self.build, self.folder, self.peer = build, folder, None
        self.environment = {**os.environ, "HOME": folder, "XDG_STATE_HOME": folder + "/state", "XDG_CONFIG_HOME": folder + "/config",
                            "XDG_DATA_HOME": folder + "/data", "SANDLOT_NO_ENV_FILE": "1", "KEY": "a-secret-of-the-benchmark"}
        os.chmod(folder, 0o711)
        os.makedirs(folder + "/state", 0o700)
        os.makedirs(folder + "/config/sandlot")
        self.install()

    def sandlot(self, *words, **named):
        return subprocess.run([self.folder + "/sandlot", *words], env=self.environment, check=True, capture_output=True, text=True, **named).stdout.strip()

    def install(self):
        folder = self.folder
        shutil.copytree(self.build + "/builtins", folder + "/builtins")
        shutil.copy(self.build + "/sandlot", folder)
        for proxy in "sandlot-egress", "sandlot-egress-credentials":
            shutil.copy(f"{self.build}/tests/local/{proxy}", folder + "/builtins")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=x",
                        "-addext", "subjectAltName=DNS:secure.example,DNS:localhost", "-keyout", folder + "/key.pem", "-out", folder + "/config/sandlot/authority.pem"],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder + "/config/sandlot/authority.pem", folder + "/key.pem")
        self.plain, self.secure = listen(None), listen(context)
        self.write_table()
        with open(folder + "/config/sandlot/config.toml", "w") as config:
            config.write('[network]\nupstream_ca = "authority.pem"\n[[network.credentials]]\nhost = "secure.example"\nheader = "X-Key"\nenv = "KEY"\n')
        os.chmod(folder + "/config/sandlot/config.toml", 0o600)

    def write_table(self, more=""):
        """What proxies that begin from now on read."""
        with open(self.folder + "/builtins/stand-ins", "w") as table:
            table.write(f"name plain.example 198.51.100.1\ndial 198.51.100.1:2222 {self.plain}\n"
                        f"name secure.example 198.51.100.2\ndial 198.51.100.2:443 {self.secure}\n{more}")

    def new_box(self):
        box = self.sandlot("-q", "create", "--allow", "plain.example:2222")
        with open(__file__) as own:
            self.sandlot("-q", "write", "--sandbox-id", box, "network.py", input=own.read())
        return box

    def begin(self):
        self.box = self.new_box()

    def in_box(self, *words, box=None):
        return float(self.sandlot("exec", "--sandbox-id", box or self.box, "--", "python3 network.py client " + shlex.join(words)))

    def logged(self):
        """The quietest of as many refusals with the log, and without it."""
        self.write_table("log none\n")
        silent = self.new_box()
        rounds = [[self.in_box("decisions", "proxy:3128", "", "", "", box=box) for box in (self.box, silent)] for _ in range(2 * ROUNDS)]
        self.sandlot("delete", silent)
        return [min(one) for one in zip(*rounds)]

    def changed(self):
        """Milliseconds from the beginning of a command: until a list is in force, and until one that is none has cut a download."""
        rounds = []
        words = shlex.join(("endless", "proxy:3128", "plain.example", "2222", ""))
        for _ in range(ROUNDS):
            with subprocess.Popen([self.folder + "/sandlot", "exec", "--sandbox-id", self.box, "--", "python3 network.py client " + words],
                                  env=self.environment, stdout=subprocess.PIPE, text=True) as download:
                download.stdout.readline()
                off = time.time()
                self.sandlot("network", "off", self.box)
                cut = float(download.stdout.readline())
            allow = time.time()
            self.sandlot("network", "allow", self.box, "plain.example:2222")
            rounds.append(((time.time() - allow) * 1e3, (cut - off) * 1e3))
        return [min(one) for one in zip(*rounds)]

    def outside(self, *words):
        return float(subprocess.run([sys.executable, __file__, "client", *words], check=True, capture_output=True, text=True).stdout)

    def turns(self, what, secure):
        """The medians of the quietest rounds: through the proxy, directly, and through the peer's (None: it is not there)."""
        host, port, place = ("secure.example", "443", self.secure) if secure else ("plain.example", "2222", self.plain)
        own = self.folder + "/config/sandlot/authority.pem" if secure else ""
        ways = [lambda: self.in_box(what, "proxy:3128", host, port, secure and "/etc/ssl/certs/ca-certificates.crt" or ""),
                lambda: self.outside(what, str(place), host, port, own)]
        if self.peer:
            ways.append(lambda: self.outside(what, f"proxy:{self.peer_port}", "localhost", str(place), secure and self.peer_authority or ""))
        return [*(min(way) for way in zip(*([way() for way in ways] for _ in range(ROUNDS)))), None][:3]

    def begin_peer(self):
        package = self.build + "/node/node_modules/@anthropic-ai/sandbox-runtime"
        node = os.environ.get("SANDLOT_TEST_NODE")
        if node and os.path.isdir(package):
            program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_proxy.mjs")
            self.peer = subprocess.Popen([node, program, package, str(self.secure), self.folder + "/config/sandlot/authority.pem"],
                                         env={**self.environment, "TMPDIR": self.folder}, stdout=subprocess.PIPE, text=True)
            self.peer_port, self.peer_authority = self.peer.stdout.readline().split()

    def end(self):
        self.sandlot("delete", self.box)
        if self.peer:
            self.peer.terminate()
            self.peer.wait()

    def idle_memory(self):
        """Of the box's proxy with its helpers, and of the peer's, in MiB: what each has for itself. Nothing where only root may look."""
        wanted = self.folder + "/builtins/sandlot-egress-credentials"
        own = [process for process in filter(str.isdigit, os.listdir("/proc")) if program_of(process) == wanted]
        return [sum(map(own_memory, own)), *([own_memory(self.peer.pid)] if self.peer else [])] if own else []


def program_of(process):
    try:
        return os.readlink(f"/proc/{process}/exe")
    except OSError:
        return None


def own_memory(process):
    with open(f"/proc/{process}/smaps_rollup") as maps:
        return sum(int(line.split()[1]) for line in maps if line.startswith("Pss:")) / 1024


def row(what, measured, most, unit, detail):
    print(f"{what:58} {measured:9.2f} {most:9.2f} {unit:4} {'ok' if measured <= most else 'over':5} {detail}", flush=True)


def beside(what, through, peer, unit):
    if peer is not None:
        row(f"{what} / sandbox-runtime's", through / peer, 1, "x", f"{through:.2f} {unit} and {peer:.2f} {unit}")


def measure(bench):
    for name, what, secure, most in (("a connection by CONNECT", "connect", False, 1), ("with a credential, kept", "kept", True, 2),
                                     ("with a credential, a new one", "connect", True, 6)):
        through, direct, peer = bench.turns(what, secure)
        row(f"proxy: {name} adds", (through - direct) / 1e3, most, "ms", f"{through / 1e3:.2f} ms and {direct / 1e3:.2f} ms")
        beside(f"proxy: {name}", through / 1e3, peer and peer / 1e3, "ms")
    for name, secure, least in (("by CONNECT", False, 0.7), ("with a credential (TLS on both sides)", True, 0.4)):
        through, direct, peer = bench.turns("bytes", secure)
        row(f"proxy: time of 100 MB {name} / directly", through / direct, 1 / least, "x", f"{through / 1e3:.0f} ms and {direct / 1e3:.0f} ms")
        beside(f"proxy: time of 100 MB {name}", through / 1e3, peer and peer / 1e3, "ms")
    through, without = bench.logged()
    row(f"proxy: time of {DECISIONS} refusals / without the log", through / without, 1.05, "x", f"{through / 1e3:.1f} ms and {without / 1e3:.1f} ms")
    allowed, cut = bench.changed()
    row("sandlot network allow: in force after", allowed, 50, "ms", "the whole command")
    row("sandlot network off: a download is cut after", cut, 50, "ms", "from the command's beginning")
    memory = bench.idle_memory()
    if not memory:
        print("proxy: memory of an idle one: only root can see it")
        return
    row("proxy: memory of an idle one with credentials", memory[0], 4, "MiB", "(Pss)")
    for peer in memory[1:]:
        beside("proxy: memory of an idle one", memory[0], peer, "MiB")


def main(build):
    with tempfile.TemporaryDirectory() as made:
        bench = Bench(build, os.path.realpath(made))
        bench.begin()
        try:
            bench.begin_peer()
            if not bench.peer:
                print("proxy: @anthropic-ai/sandbox-runtime is not there to be measured beside; run make clients")
            measure(bench)
        finally:
            bench.end()


if len(sys.argv) > 2 and sys.argv[1] == "client":
    client(*sys.argv[2:])
else:
    if not shutil.which("openssl"):
        sys.exit(77)
    main(os.path.realpath(sys.argv[1]))
