"""Servers of network_open_test.sh: network_open_servers.py NAME FOLDER [dns] [tls]. Whoever asks on port 7777, by TCP or
UDP, hears NAME; in a network namespace of the test's own nobody else has that port. FOLDER/NAME is there once they listen. With "dns" a
resolver listens on 127.0.0.1, for which every name is 203.0.113.2. With "tls" a server of HTTPS, with the certificate FOLDER/server.pem, says on port 443 what the
field Authorization of a request was, from its end to its beginning ("-": there was none), so that nobody masks it."""
import http.server
import os
import selectors
import socket
import ssl
import sys
import threading

name, folder = sys.argv[1:3]
selector = selectors.DefaultSelector()


def bound(family, kind, address, port):
    server = socket.socket(family, kind)
    if family == socket.AF_INET6:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind((address, port))
    return server


def accept(server):
    connection, _ = server.accept()
    with connection:
        connection.settimeout(60)
        try:
            asked = connection.recv(1000)
            http = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(name)
            connection.sendall((http if b"HTTP/1" in asked else b"") + name.encode())
        except OSError:
            pass


def answer(server):
    _, peer = server.recvfrom(1000)
    server.sendto(name.encode(), peer)


def resolve(server):
    query, peer = server.recvfrom(1000)
    end = query.index(b"\0", 12) + 5
    if query[end - 3] == 1:  # an address of version 4
        found = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04" + socket.inet_aton("203.0.113.2")
    else:
        found = b""
    server.sendto(query[:2] + b"\x81\x80\0\x01\0" + (b"\x01" if found else b"\0") + b"\0\0\0\0" + query[12:end] + found, peer)


class Told(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = self.headers.get("Authorization", "-").encode()[::-1]
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


if "tls" in sys.argv:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "server.pem"))
    secure = http.server.ThreadingHTTPServer(("0.0.0.0", 443), Told)
    secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=secure.serve_forever, daemon=True).start()

tcp = bound(socket.AF_INET6, socket.SOCK_STREAM, "::", 7777)
tcp.listen(64)
selector.register(tcp, selectors.EVENT_READ, accept)
selector.register(bound(socket.AF_INET6, socket.SOCK_DGRAM, "::", 7777), selectors.EVENT_READ, answer)
if "dns" in sys.argv:
    selector.register(bound(socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1", 53), selectors.EVENT_READ, resolve)
with open(os.path.join(folder, name), "w", encoding="ascii"):
    pass
while True:
    for key, _ in selector.select():
        key.data(key.fileobj)
