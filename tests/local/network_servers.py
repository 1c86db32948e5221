"""Stand-ins for hosts of the internet, on loopback.

    network_servers.py FOLDER

Listens on free ports for HTTP, HTTPS (with FOLDER/certificate.pem), and plain TCP that sends back what it gets; writes
"http PORT", "https PORT", "echo PORT" and "closed PORT" to FOLDER/ports. What HTTP requests came stands in FOLDER/seen, a
head after the other. Ends with its standard input.
"""

import os
import socket
import ssl
import sys
import threading
import time

folder = sys.argv[1]
seen = open(os.path.join(folder, "seen"), "ab", buffering=0)


def listen():
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    return listener, listener.getsockname()[1]


def read_head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None, b""
        data += more
    head, rest = data.split(b"\r\n\r\n", 1)
    return head, rest


def body(connection, head, rest):
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
        if name.lower() == b"transfer-encoding":
            while not rest.endswith(b"0\r\n\r\n"):
                rest += connection.recv(65536)
            return rest
    while len(rest) < length:
        rest += connection.recv(65536)
    return rest


def swallow(connection, head, got):
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    block = bytearray(1 << 20)
    while got < length and (more := connection.recv_into(block, min(length - got, len(block)))):
        got += more
    text = b"swallowed %d" % got
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)


def answer(connection, path, sent):
    def plain(text, extra=b"", status=b"200 OK"):
        connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n" % (status, len(text), extra) + text)

    if path == b"/redirect":
        plain(b"", b"Location: http://denied.example/\r\n", b"302 Found")
    elif path == b"/chunked":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n")
    elif path == b"/until-end":
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
    elif path == b"/continue":
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        plain(b"after hints")
    elif path == b"/garbage":
        connection.sendall(b"this is no HTTP\n\n")
    elif path == b"/switch":
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nfree bytes")
    elif path == b"/silent":
        time.sleep(600)
    elif path.startswith(b"/drip"):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        for _ in range(100000):
            connection.sendall(b".")
            time.sleep(0.02)
    elif path.startswith(b"/big/"):
        left = int(path[5:])
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % left)
        block = b"x" * 262144
        while left:
            connection.sendall(block[:left] if left < len(block) else block)
            left -= min(left, len(block))
    else:
        plain(b"hello %s %d\n" % (path, len(sent)))


def serve_http(connection):
    try:
        while True:
            head, rest = read_head(connection)
            if head is None:
                return
            seen.write(head + b"\n\n")
            if b"/early " in head:
                connection.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
                while connection.recv(65536):
                    pass
                return
            if b"/swallow " in head:
                swallow(connection, head, len(rest))
                continue
            sent = body(connection, head, rest)
            answer(connection, head.split(b" ")[1], sent)
            if b"connection: close" in head.lower():
                return
    except OSError:
        pass
    finally:
        connection.close()


def serve_https(connection):
    try:
        wrapped = context.wrap_socket(connection, server_side=True)
    except (OSError, ssl.SSLError):
        connection.close()
        return
    serve_http(wrapped)


def serve_echo(connection):
    try:
        while data := connection.recv(65536):
            connection.sendall(data)
    except OSError:
        pass
    connection.close()


def accept(listener, serve):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(os.path.join(folder, "certificate.pem"))
lines = []
for name, serve in (("http", serve_http), ("https", serve_https), ("echo", serve_echo)):
    listener, port = listen()
    threading.Thread(target=accept, args=(listener, serve), daemon=True).start()
    lines.append(f"{name} {port}\n")
closed, port = listen()
closed.close()
lines.append(f"closed {port}\n")
with open(os.path.join(folder, "ports.new"), "w") as ports:
    ports.writelines(lines)
os.rename(os.path.join(folder, "ports.new"), os.path.join(folder, "ports"))
sys.stdin.read()
