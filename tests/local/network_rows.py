"""Runs in a box, and talks to its proxy in ways that no well-behaved program does. A row a line: NAME, a tab, what came of it.

What came of it is the status of the proxy's answer ("403"), with "+" and what the tunnel then gave, or "closed".
"""

import concurrent.futures
import select
import socket
import ssl
import sys
import threading

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


def early():
    """An answer that comes while the request is still being sent."""
    with socket.create_connection(PROXY, 60) as connection:
        try:
            connection.sendall(b"POST http://example.com/early HTTP/1.1\r\nHost: example.com\r\nContent-Length: 16000000\r\n\r\n" + bytes(16000000))
        except OSError:
            return "broken"
        return status(all_of(connection))


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


def hello(name):
    """What a client of TLS says first."""
    outgoing = ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()


def udp(address):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as connection:
            connection.sendto(b"x", address)
            return "sent"
    except OSError:
        return "refused"


def sent(family, kind, protocol):
    try:
        with socket.socket(family, kind, protocol) as connection:
            connection.sendto(b"\x08\0\xf7\xff\0\0\0\0", ("198.51.100.1", 0))
            return "sent"
    except (OSError, TypeError, ValueError):
        return "refused"


def bound(address):
    """A listener in the place of the proxy's, for other programs of the box to fall for."""
    try:
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind(address)
            listener.listen()
            return "bound"
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


def chunked(body):
    """A body of chunks to an allowed host, and a request for another behind it."""
    return raw(
        b"POST http://example.com/chunk HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n" + body
        + b"GET http://denied.example/second HTTP/1.1\r\nHost: denied.example\r\n\r\n"
    )


def dripping(text):
    """A byte a second, and after the last none, until there is an answer."""
    with socket.create_connection(PROXY, 60) as connection:
        for byte in text:
            connection.sendall(bytes([byte]))
            if select.select([connection], [], [], 1)[0]:
                break
        return status(all_of(connection))


def side_by_side(*rows):
    with concurrent.futures.ThreadPoolExecutor(len(rows)) as pool:
        return " ".join(future.result() for future in [pool.submit(row) for row in rows])


def slow():
    return side_by_side(
        lambda: dripping(b"G"), lambda: dripping(b"GET http://" + b"a" * 1000), lambda: get("http://hung.example/")
    )


def echoed():
    """More than all buffers on the way hold, to one who takes it in small pieces: does the same come back, in its order?"""
    text = b"".join(b"%07d\n" % i for i in range(1 << 20))
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(PROXY)
        connection.sendall(b"CONNECT tcp.example:2222 HTTP/1.1\r\nHost: tcp.example:2222\r\n\r\n")
        answer = receive(connection)

        def send():
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        back = all_of(connection)
        sender.join()
        return f"{status(answer)} {'the same' if back == text else 'other bytes'} {len(back)}"


ROWS = {
    "echoed": echoed,
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
    "mixed-later": lambda: get("http://later.example/"),
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
    "no-tls": lambda: tunnel("raw.example:443", b"GET / HTTP/1.1\r\nHost: raw.example\r\n\r\n"),
    "ssh-on-443": lambda: tunnel("raw.example:443", b"SSH-2.0-x\r\n"),
    "tls-on-80": lambda: tls("example.com:80", "example.com"),
    "hello-on-80": lambda: tunnel("raw.example:80", hello("raw.example")),
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
    "bad-chunk": lambda: chunked(b"zz\r\n"),
    "chunk-before": lambda: chunked(b"5;a=b\r\nhello\r\n0\r\n\r\n"),
    "chunk-blank": lambda: chunked(b"5 \r\nhello\r\n0\r\n\r\n"),
    "chunk-hex": lambda: chunked(b"0x5\r\nhello\r\n0\r\n\r\n"),
    "chunk-sign": lambda: chunked(b"+5\r\nhello\r\n0\r\n\r\n"),
    "chunk-huge": lambda: chunked(b"10000000000000005\r\nhello\r\n0\r\n\r\n"),
    "chunk-no-end": lambda: chunked(b"5\r\nhelloXX0\r\n\r\n"),
    "trailer-request": lambda: chunked(b"5\r\nhello\r\n0\r\nGET /smuggled HTTP/1.1\r\nHost: denied.example\r\n\r\n"),
    "trailer-nul": lambda: chunked(b"5\r\nhello\r\n0\r\nX: \0\r\n\r\n"),
    "origin-form": lambda: raw(b"GET /smuggled HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "early": early,
    "pipelined": pipelined,
    "redirect": lambda: get("http://example.com/redirect"),
    "chunked": lambda: get("http://example.com/chunked"),
    "until-end": lambda: get("http://example.com/until-end"),
    "garbage": lambda: get("http://example.com/garbage"),
    "switch": lambda: get("http://example.com/switch", "Upgrade: x", "Connection: upgrade"),
    "socks": lambda: raw(b"\x05\x01\x00"),
    "connect-user": lambda: tunnel("example.com@denied.example:443"),
    "connect-user-reversed": lambda: tunnel("denied.example@example.com:443"),
    "connect-escape": lambda: tunnel("example.com%00.denied.example:443"),
    "connect-backslash": lambda: tunnel("denied.example\\.example.com:443"),
    "connect-dots": lambda: tunnel("example.com..:443"),
    "connect-slash": lambda: tunnel("denied.example/.example.com:443"),
    "connect-star": lambda: tunnel("*.wild.example:443"),
    "connect-no-port": lambda: tunnel("example.com"),
    "connect-port-zero": lambda: tunnel("example.com:0"),
    "connect-port-large": lambda: tunnel("example.com:65979"),
    "connect-port-sign": lambda: tunnel("example.com:+443"),
    "connect-port-twice": lambda: tunnel("denied.example:443:443"),
    "connect-host-differs": lambda: tunnel("example.com:443", None, "denied.example:443"),
    "connect-in-connect": lambda: tunnel("example.com:80", b"CONNECT denied.example:80 HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "url-in-connect": lambda: tunnel("example.com:80", b"GET http://denied.example/ HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "long-name": lambda: get("http://" + "a." * 140 + "example.com/"),
    "url-fragment": lambda: raw(b"GET http://denied.example#.example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "url-question": lambda: raw(b"GET http://denied.example?.example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "url-backslash": lambda: raw(b"GET http://denied.example\\.example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "url-other-port": lambda: get("http://example.com:8080/"),
    "url-https": lambda: get("https://example.com/smuggled"),
    "url-file": lambda: raw(b"GET file:///etc/passwd HTTP/1.1\r\nHost: example.com\r\n\r\n"),
    "host-list": lambda: raw(b"GET http://example.com/smuggled HTTP/1.1\r\nHost: example.com, denied.example\r\n\r\n"),
    "host-absent-field": lambda: raw(b"GET http://example.com/smuggled HTTP/1.1\r\n\r\n"),
    "field-blank": lambda: get("http://example.com/smuggled", "Transfer-Encoding : chunked"),
    "field-control": lambda: get("http://example.com/smuggled", "X: a\vb"),
    "field-return": lambda: get("http://example.com/smuggled", "X: a\rY: b"),
    "coding-unknown": lambda: get("http://example.com/smuggled", "Transfer-Encoding: xchunked"),
    "coding-list": lambda: get("http://example.com/smuggled", "Transfer-Encoding: chunked, identity"),
    "coding-control": lambda: get("http://example.com/smuggled", "Transfer-Encoding: \x0bchunked"),
    "length-sign": lambda: get("http://example.com/smuggled", "Content-Length: +5"),
    "length-hex": lambda: get("http://example.com/smuggled", "Content-Length: 0x5"),
    "length-huge": lambda: get("http://example.com/smuggled", "Content-Length: 99999999999999999999"),
    "version-2": lambda: raw(b"GET http://example.com/smuggled HTTP/2.0\r\nHost: example.com\r\n\r\n"),
    "version-none": lambda: raw(b"GET http://example.com/smuggled\r\n\r\n"),
    "connection-names-length": lambda: raw(
        b"POST http://example.com/named HTTP/1.1\r\nHost: example.com\r\nConnection: content-length\r\n"
        b"Content-Length: 48\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: denied.example\r\n\r\n"
    ),
    "nat64": lambda: tunnel("[64:ff9b::a9fe:a9fe]:80"),
    "6to4": lambda: tunnel("[2002:7f00:1::]:443"),
    "nat64-name": lambda: get("http://nat64.example/"),
    "6to4-name": lambda: get("http://6to4.example/"),
    "unspecified-name": lambda: get("http://zero.example/"),
    "link-local-name": lambda: get("http://link.example/"),
    "multicast-name": lambda: get("http://multicast.example/"),
    "own-name": lambda: get("http://own.example/"),
    "sni-longer": lambda: tls("example.com:443", "example.com.denied.example"),
    "sni-below": lambda: tls("example.com:443", "a.example.com"),
    "icmp": lambda: sent(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
    "raw": lambda: sent(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
    "packet": lambda: sent(socket.AF_PACKET, socket.SOCK_RAW, 0),
    "listener": lambda: bound(PROXY),
    "udp": lambda: udp(("198.51.100.1", 53)),
    "udp-6": lambda: udp(("2001:db8::1", 443)),
    "dns": lambda: udp(("8.8.8.8", 53)),
    "tcp": lambda: tcp(("198.51.100.1", 80)),
    "tcp-6": lambda: tcp(("2001:db8::1", 80)),
}

names = sys.argv[1:] or list(ROWS)
for name in names:
    print(name, ROWS[name](), sep="\t", flush=True)
