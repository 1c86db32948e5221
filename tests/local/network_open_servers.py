"""Servers of network_open_test.sh: network_open_servers.py NAME FOLDER [dns]. Whoever asks on port 7777, by TCP or
UDP, hears NAME; in a network namespace of the test's own nobody else has that port. FOLDER/NAME is there once they listen. With "dns" a
resolver listens on 127.0.0.1, for which every name is 203.0.113.2."""
import os
import selectors
import socket
import sys

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
