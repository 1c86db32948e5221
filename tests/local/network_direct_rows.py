"""Runs in a box with a list, and goes past its proxy: names by messages of its own making, and connections to what they say.

A row a line: NAME, a tab, what came of it. Of a connection that is what the other side sent ("closed": nothing); of a name the code
of the answer and how many addresses there are in it.
"""

import socket
import ssl
import struct
import sys

RESOLVER = ("192.0.0.3", 53)
TEXT, ADDRESS, ADDRESS_6, ANY = 16, 1, 28, 255


def labels(name):
    return b"".join(bytes([len(part)]) + part for part in name.encode().split(b".")) + b"\0"


def question(name, kind=ADDRESS, kind_class=1, flags=0x0100, count=1):
    name = labels(name) if isinstance(name, str) else name
    return struct.pack(">HHHHHH", 0x5a5a, flags, count, 0, 0, 0) + name + struct.pack(">HH", kind, kind_class)


def told(answer, asked):
    if answer is None:
        return "no answer"
    number, flags, _, count = struct.unpack(">HHHH", answer[:8])
    if number != 0x5a5a or not flags & 0x8000 or (count and asked[12:] != answer[12:len(asked)]):
        return "not an answer"
    return f"{flags & 15} {count}"


def ask(message, limit=60):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(RESOLVER)
        one.settimeout(limit)
        one.send(message)
        try:
            return one.recv(4096)
        except OSError:
            return None


def name(*arguments, **named):
    extra = named.pop("extra", b"")
    message = question(*arguments, **named)
    return told(ask(message + extra), message)


def without_answer(message):
    """Nothing comes of it, and what is asked next has its answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(RESOLVER)
        one.settimeout(60)
        one.send(message)
        one.send(question("example.com"))
        return told(one.recv(4096), question("example.com"))


def by_tcp():
    """Two questions at once, in pieces, by TCP."""
    messages = [question("example.com"), question("denied.example")]
    data = b"".join(struct.pack(">H", len(message)) + message for message in messages)
    found = []
    with socket.create_connection(RESOLVER, 60) as one, one.makefile("rb") as reader:
        one.sendall(data[:7])
        one.sendall(data[7:])
        for message in messages:
            found.append(told(reader.read(struct.unpack(">H", reader.read(2))[0]), message))
    return " + ".join(found)


def by_tcp_garbage():
    with socket.create_connection(RESOLVER, 60) as one:
        one.sendall(struct.pack(">H", 3) + b"abc")
        return one.recv(99) or "closed"


def address_of(host):
    try:
        return socket.gethostbyname(host)
    except OSError:
        return None


def dial(host, port, first=b"ping", wrapped_for=None, literal=False):
    place = host if literal else address_of(host)
    if place is None:
        return "unknown"
    try:
        with socket.create_connection((place, port), 60) as one:
            if wrapped_for is not None:
                context = ssl.create_default_context()
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
                one = context.wrap_socket(one, server_hostname=wrapped_for or None)
            one.sendall(first)
            data = one.recv(65536)
            return data.split(b" ", 2)[1].decode() if data.startswith(b"HTTP/") else data.decode() or "closed"
    except ConnectionRefusedError:
        return "refused"
    except OSError as error:
        return "unreachable" if error.errno in (101, 113) else "closed"


def http(host, port=80, said=None, **named):
    return dial(host, port, f"GET /direct HTTP/1.1\r\nHost: {said or host}\r\nConnection: close\r\n\r\n".encode(), **named)


def flood():
    """More names than are remembered: each has an address of its own, and that of the first stands for nothing at last."""
    first = address_of("first.wild.example")
    addresses = {address_of(f"n{i}.wild.example") for i in range(1500)}
    forgotten = http(first, literal=True)
    return f"{len(addresses)} {first in addresses} {forgotten} {http('example.com')}"


def own_server():
    """A server of the box's own on a port that is on the list."""
    with socket.create_server(("0.0.0.0", 2222)) as listener:
        with socket.create_connection(("127.0.0.1", 2222), 60) as one:
            listener.accept()[0].sendall(b"mine")
            return one.recv(9).decode() + " " + dial("tcp.example", 2222)


def udp(place, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        try:
            one.connect(place)
            one.settimeout(60)
            one.send(b"x")
            return one.recv(9)
        except OSError as error:
            return "refused" if error.errno in (101, 111) else "nothing"


def added():
    """Whether the box can give itself a route."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as one:
        route = struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack("HHI", 8, 4, socket.if_nametoindex("listed"))
        one.send(struct.pack("IHHII", 16 + len(route), 24, 0x605, 1, 0) + route)
        return struct.unpack("i", one.recv(4096)[16:20])[0]


ROWS = {
    "name": lambda: name("example.com"),
    "name-upper": lambda: name("EXAMPLE.com"),
    "name-below": lambda: name("a.b.wild.example"),
    "name-bare": lambda: name("wild.example"),
    "name-evil": lambda: name("evilwild.example"),
    "name-absent": lambda: name("denied.example"),
    "name-carrying": lambda: name("c2VjcmV0.denied.example"),
    "name-6": lambda: name("example.com", ADDRESS_6),
    "name-6-absent": lambda: name("denied.example", ADDRESS_6),
    "name-text": lambda: name("example.com", TEXT),
    "name-any": lambda: name("example.com", ANY),
    "name-class": lambda: name("version.bind", TEXT, 3),
    "name-root": lambda: name(b"\0"),
    "name-address": lambda: name("10.0.0.5"),
    "name-reverse": lambda: name("1.0.18.198.in-addr.arpa", 12),
    "name-dot-within": lambda: name(b"\x0bexample.com\0"),
    "name-nul-within": lambda: name(b"\x0bexample\0com\0"),
    "name-extended": lambda: name("example.com", extra=b"\0\0\x29\x10\0\0\0\0\0\0\0"),
    "name-tcp": by_tcp,
    "dns-pointer": lambda: name(b"\xc0\x0c"),
    "dns-long-label": lambda: name(b"\x40" + b"a" * 64 + b"\0"),
    "dns-long-name": lambda: name(b"".join(b"\x3f" + b"a" * 63 for _ in range(5)) + b"\0"),
    "dns-cut-name": lambda: told(ask(question("example.com")[:20]), b""),
    "dns-two-questions": lambda: name("example.com", count=2),
    "dns-no-question": lambda: name("example.com", count=0),
    "dns-update": lambda: name("example.com", flags=0x2800),
    "dns-short": lambda: without_answer(b"\x5a\x5a\x01"),
    "dns-answer": lambda: without_answer(question("denied.example", flags=0x8180)),
    "dns-tcp-garbage": by_tcp_garbage,
    "http": lambda: http("example.com"),
    "http-other-host": lambda: http("example.com", said="denied.example"),
    "https": lambda: http("example.com", 443, wrapped_for="example.com"),
    "https-other-name": lambda: http("example.com", 443, wrapped_for="denied.example"),
    "https-no-name": lambda: http("example.com", 443, wrapped_for=""),
    "https-no-tls": lambda: http("raw.example", 443),
    "ssh-on-443": lambda: dial("raw.example", 443, b"SSH-2.0-x\r\n"),
    "port": lambda: dial("tcp.example", 2222),
    "port-other": lambda: http("tcp.example", 443, wrapped_for="tcp.example"),
    "port-of-another": lambda: dial("example.com", 2222),
    "port-unlisted": lambda: dial("tcp.example", 2223),
    "address": lambda: dial("10.0.0.5", 5432, literal=True),
    "address-port": lambda: http("10.0.0.5", 80, literal=True),
    "address-other": lambda: dial("10.0.0.6", 5432, literal=True),
    "address-public": lambda: http("198.51.100.1", literal=True),
    "metadata": lambda: http("169.254.169.254", literal=True),
    "loopback": lambda: http("127.0.0.1", literal=True),
    "stands-for-nothing": lambda: http("198.18.200.7", literal=True),
    "gate": lambda: http("192.0.0.1", literal=True),
    "gate-other": lambda: dial("192.0.0.1", 3128, literal=True),
    "loopback-name": lambda: http("loop.example"),
    "private-name": lambda: http("private.example"),
    "metadata-name": lambda: http("metadata.example"),
    "own-name": lambda: http("own.example"),
    "no-such-name": lambda: http("nowhere.example"),
    "unknown-name": lambda: http("denied.example"),
    "udp": lambda: udp((address_of("example.com"), 443)),
    "udp-gate": lambda: udp(("192.0.0.1", 53)),
    "route": added,
    "own-server": own_server,
    "flood": flood,
}
ROWS_6 = {
    "network-6": lambda: dial("fd00:5::7", 5432, literal=True),
    "address-6": lambda: dial("2600:5::7", 5432, literal=True),
    "port-6": lambda: http("fd00:5::7", literal=True),
    "beside-6": lambda: dial("2600:5::8", 5432, literal=True),
    "other-6": lambda: dial("fd00:6::7", 5432, literal=True),
    "metadata-6": lambda: http("fd00:ec2::254", literal=True),
    "translated-6": lambda: http("64:ff9b::7f00:1", literal=True),
    "loopback-6": lambda: http("::1", literal=True),
    "gate-6": lambda: http("fd73:616e:646c::1", literal=True),
    "link-6": lambda: dial("fe80::1%listed", 5432, literal=True),
    "udp-6": lambda: udp(("fd00:5::7", 53), socket.AF_INET6),
}

names = sys.argv[1:] or list(ROWS)
for one_name in names:
    print(one_name, (ROWS | ROWS_6)[one_name](), sep="\t", flush=True)
