"""Both ends of connections through `sandlot port`: `server` runs in the box, the others are clients on this machine."""

import hashlib
import select
import socket
import sys
import threading

MANY = 64 << 20
CHUNK = 1 << 18


def block(seed):
    """The bytes that one side sends again and again; the sides' differ."""
    return hashlib.sha256(seed).digest() * (CHUNK // 32)


def read_all(connection, total=None):
    """Reads to the end, or TOTAL bytes; returns their digest."""
    digest = hashlib.sha256()
    while total is None or total > 0:
        got = connection.recv(CHUNK if total is None else min(CHUNK, total))
        if not got:
            break
        digest.update(got)
        total = None if total is None else total - len(got)
    return digest.hexdigest()


def expected(seed, count=MANY // CHUNK):
    digest = hashlib.sha256()
    for _ in range(count):
        digest.update(block(seed))
    return digest.hexdigest()


def send_many(connection, seed):
    for _ in range(MANY // CHUNK):
        connection.sendall(block(seed))


def duplex(connection, own, theirs):
    """64 MiB each way at once."""
    sender = threading.Thread(target=send_many, args=(connection, own), daemon=True)
    sender.start()
    answer = read_all(connection, MANY)
    sender.join()
    assert answer == expected(theirs), "other bytes than were sent"


def serve(connection):
    """The first byte says what is wanted."""
    with connection:
        wanted = connection.recv(1)
        if wanted == b"e":  # an echo, until the other side has had enough
            while got := connection.recv(CHUNK):
                connection.sendall(got)
        elif wanted == b"h":  # answers once the other side has closed its half
            connection.sendall(read_all(connection).encode())
        elif wanted == b"d":
            duplex(connection, b"server", b"client")
        elif wanted == b"c":  # closes its half first, and goes on reading
            connection.sendall(b"closing")
            connection.shutdown(socket.SHUT_WR)
            with open("heard", "w", encoding="ascii") as file:
                file.write(read_all(connection))


def server(address, port, ready):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind((address, int(port)))
    listener.listen(512)
    with open(ready, "w", encoding="ascii") as file:
        file.write("ready")
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def dial(host, port):
    return socket.create_connection((host, int(port)), timeout=200)


def echo(host, port):
    with dial(host, port) as connection:
        connection.sendall(b"eabc")
        assert connection.recv(3, socket.MSG_WAITALL) == b"abc"


def half(host, port):
    with dial(host, port) as connection:
        connection.sendall(b"h" + block(b"half"))
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while got := connection.recv(100):
            answer += got
        assert answer.decode() == hashlib.sha256(block(b"half")).hexdigest(), answer


def both(host, port):
    with dial(host, port) as connection:
        connection.sendall(b"d")
        duplex(connection, b"client", b"server")


def ahead(host, port):
    """64 MiB each way, and the client reads nothing before it has sent all."""
    with dial(host, port) as connection:
        connection.sendall(b"d")
        send_many(connection, b"client")
        assert read_all(connection, MANY) == expected(b"server"), "other bytes than were sent"


def through(host, port):
    """64 MiB to an echo and back."""
    with dial(host, port) as connection:
        connection.sendall(b"e")
        duplex(connection, b"client", b"client")


def closing(host, port):
    """The server's half is closed first: that arrives, and what is sent after it does too."""
    with dial(host, port) as connection:
        connection.sendall(b"c")
        assert connection.recv(100, socket.MSG_WAITALL) == b"closing"
        connection.sendall(block(b"late"))
        connection.shutdown(socket.SHUT_WR)
    print(hashlib.sha256(block(b"late")).hexdigest())


def many(host, port):
    """300 at a time: 256 are served, the others wait and are served later."""
    connections = [dial(host, port) for _ in range(300)]
    for connection in connections:
        connection.sendall(b"ex")
    waiting = set(connections)
    while len(waiting) > 44:
        ready, _, _ = select.select(list(waiting), [], [], 200)
        assert ready, f"only {300 - len(waiting)} are served"
        for connection in ready:
            assert connection.recv(1) == b"x"
            waiting.discard(connection)
    assert len(waiting) == 44 and not select.select(list(waiting), [], [], 0)[0], "more than 256 are served"
    for connection in connections:
        if connection not in waiting:
            connection.close()
    for connection in waiting:
        assert connection.recv(1) == b"x"
        connection.close()


def refused(host, port):
    """Nothing listens: the connection is ended, one way or the other."""
    with dial(host, port) as connection:
        try:
            assert connection.recv(1) == b""
        except ConnectionResetError:
            pass


def hold(host, port):
    """Stays connected until the other side ends it."""
    with dial(host, port) as connection:
        connection.sendall(b"ex")
        assert connection.recv(1) == b"x"
        print("held", flush=True)
        try:
            assert connection.recv(1) == b""
        except ConnectionResetError:
            pass


globals()[sys.argv[1]](*sys.argv[2:])
