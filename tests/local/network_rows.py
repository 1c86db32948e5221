"""Runs in a box, and talks to its proxy in ways that no well-behaved program does. A row a line: NAME, a tab, what came of it.

What came of it is the status of the proxy's answer ("403"), with "+" and what the tunnel then gave, or "closed".
"""

import socket
import ssl
import sys

PROXY = ("127.0.0.1", 3128)


def receive(connection, most=65536):
    try:
        return connection.recv(most)
    except OSError:
        return b""


def all_of(connection):
    data = b""
    while more := receive(connection):
        data += more
    return data


def status(data):
    words = data.split(b" ", 2)
    return words[1].decode() if data.startswith(b"HTTP/1.") and len(words) > 1 else "closed"


def raw(request, half=False):
    with socket.create_connection(PROXY, 60) as connection:
        try:
            connection.sendall(request)
            if half:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return status(all_of(connection))


def tunnel(authority, first=None, host=None):
    """CONNECT, then the bytes FIRST; what comes back."""
    with socket.create_connection(PROXY, 60) as connection:
        connection.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {host or authority}\r\n\r\n".encode())
        answer = receive(connection)
        if status(answer) != "200" or first is None:
            return status(answer)
        try:
            connection.sendall(first)
        except OSError:
            pass
        data = receive(connection)
        return "200+" + (status(data) if data.startswith(b"HTTP/") else data.decode("latin-1") if data else "closed")


def tls(authority, name):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(PROXY, 60) as connection:
        connection.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        answer = receive(connection)
        if status(answer) != "200":
            return status(answer)
        try:
            with context.wrap_socket(connection, server_hostname=name) as wrapped:
                wrapped.sendall(b"GET /tls HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return "200+" + status(wrapped.recv(65536))
        except OSError:
            return "200+closed"


def udp(address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as connection:
            connection.sendto(b"x", address)
            return "sent"
    except OSError:
        return "refused"


def tcp(address):
    try:
        socket.create_connection(address, 5).close()
        return "connected"
    except OSError:
        return "refused"


def get(url, *fields):
    host = url.split("/")[2]
    return raw("\r\n".join((f"GET {url} HTTP/1.1", f"Host: {host}", *fields, "", "")).encode())


def pipelined():
    """Two requests at once on one connection: only the first is for an allowed host."""
    with socket.create_connection(PROXY, 60) as connection:
        connection.sendall(
            b"GET http://example.com/first HTTP/1.1\r\nHost: example.com\r\n\r\n"
            b"GET http://denied.example/second HTTP/1.1\r\nHost: denied.example\r\n\r\n"
        )
        data = all_of(connection)
        return f"{status(data)} {data.count(b'HTTP/1.')}"


def slow():
    with socket.create_connection(PROXY, 60) as connection:
        connection.sendall(b"GET http://exa")
        return status(all_of(connection))


ROWS = {
    "host": lambda: get("http://example.com/x"),
    "host-upper": lambda: get("http://EXAMPLE.com./x"),
    "host-absent": lambda: get("http://denied.example/x"),
    "host-tls": lambda: tls("example.com:443", "example.com"),
    "host-22": lambda: tunnel("example.com:22"),
    "host-8443": lambda: tunnel("example.com:8443"),
    "wild-bare": lambda: get("http://wild.example/"),
    "wild-one": lambda: get("http://a.wild.example/"),
    "wild-two": lambda: get("http://a.b.wild.example/"),
    "wild-evil": lambda: get("http://evilwild.example/"),
    "idn": lambda: get("http://xn--mnchen-3ya.example/"),
    "idn-homograph": lambda: get("http://xn--mnchen-9ta.example/"),
    "idn-raw": lambda: raw("GET http://münchen.example/ HTTP/1.1\r\nHost: münchen.example\r\n\r\n".encode()),
    "port": lambda: tunnel("tcp.example:2222", b"ping"),
    "port-other": lambda: tunnel("tcp.example:443"),
    "loopback-name": lambda: get("http://loop.example/"),
    "private-name": lambda: get("http://private.example/"),
    "metadata-name": lambda: get("http://metadata.example/"),
    "mapped-name": lambda: get("http://mapped.example/"),
    "mixed-name": lambda: get("http://mixed.example/mixed"),
    "no-name": lambda: get("http://nowhere.example/"),
    "closed": lambda: get("http://closed.example/"),
    "address": lambda: tunnel("10.0.0.5:5432", b"ping"),
    "address-port": lambda: tunnel("10.0.0.5:5433"),
    "address-other": lambda: tunnel("10.0.0.6:5432"),
    "address-listed-name": lambda: tunnel("db.example:5432", b"ping"),
    "address-unlisted-name": lambda: tunnel("otherdb.example:5432"),
    "loopback": lambda: get("http://127.0.0.1/"),
    "loopback-6": lambda: tunnel("[::1]:443"),
    "loopback-mapped": lambda: tunnel("[::ffff:127.0.0.1]:443"),
    "metadata": lambda: get("http://169.254.169.254/latest/"),
    "hex": lambda: get("http://0x7f.1/"),
    "decimal": lambda: get("http://2130706433/"),
    "octal": lambda: get("http://0177.0.0.1/"),
    "zone": lambda: tunnel("[fe80::1%25eth0]:443"),
    "user": lambda: raw(b"GET http://example.com@denied.example/ HTTP/1.1\r\nHost: denied.example\r\n\r\n"),
    "sni-other": lambda: tls("example.com:443", "denied.example"),
    "sni-none": lambda: tls("example.com:443", None),
    "no-tls": lambda: tunnel("example.com:443", b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "ssh-on-443": lambda: tunnel("example.com:443", b"SSH-2.0-x\r\n"),
    "tls-on-80": lambda: tls("example.com:80", "example.com"),
    "http-in-tunnel": lambda: tunnel("example.com:80", b"GET /t HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "http-in-tunnel-other": lambda: tunnel("example.com:80", b"GET /t HTTP/1.1\r\nHost: denied.example\r\n\r\n"),
    "http-to-443": lambda: get("http://example.com:443/"),
    "host-differs": lambda: raw(b"GET http://example.com/smuggled HTTP/1.1\r\nHost: denied.example\r\n\r\n"),
    "host-twice": lambda: raw(b"GET http://example.com/smuggled HTTP/1.1\r\nHost: example.com\r\nHost: b\r\n\r\n"),
    "length-twice": lambda: get("http://example.com/smuggled", "Content-Length: 0", "Content-Length: 5"),
    "length-and-chunked": lambda: get("http://example.com/smuggled", "Content-Length: 5", "Transfer-Encoding: chunked"),
    "bare-feed": lambda: raw(b"GET http://example.com/smuggled HTTP/1.1\nHost: example.com\n\n"),
    "folded": lambda: get("http://example.com/smuggled", "X: a", " b"),
    "nul": lambda: raw(b"GET http://example.com/smuggled\0 HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "large": lambda: get("http://example.com/smuggled", "X: " + "a" * 100000),
    "slow": slow,
    "bad-chunk": lambda: raw(
        b"POST http://example.com/chunk HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    ),
    "origin-form": lambda: raw(b"GET /smuggled HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "pipelined": pipelined,
    "redirect": lambda: get("http://example.com/redirect"),
    "chunked": lambda: get("http://example.com/chunked"),
    "until-end": lambda: get("http://example.com/until-end"),
    "garbage": lambda: get("http://example.com/garbage"),
    "switch": lambda: get("http://example.com/switch", "Upgrade: x", "Connection: upgrade"),
    "socks": lambda: raw(b"\x05\x01\x00"),
    "udp": lambda: udp(("198.51.100.1", 53)),
    "udp-6": lambda: udp(("2001:db8::1", 443)),
    "dns": lambda: udp(("8.8.8.8", 53)),
    "tcp": lambda: tcp(("198.51.100.1", 80)),
    "tcp-6": lambda: tcp(("2001:db8::1", 80)),
}

names = sys.argv[1:] or list(ROWS)
for name in names:
    print(name, ROWS[name](), sep="\t", flush=True)
