"""In a box: asks each of the destinations that its arguments name, "tcp ADDRESS", "udp ADDRESS" and so on, on port 7777, and prints a line
for each: the words and what came, or "closed"."""
import concurrent.futures
import ctypes
import errno
import os
import socket
import struct
import sys

LIMIT = float(os.environ.get("LIMIT", "60"))  # seconds, after which nothing comes any more
DEVICE = b"outside"
IP_PKTINFO = 8


def address_of(text):
    found = socket.getaddrinfo(text, 7777, proto=socket.IPPROTO_TCP)[0]
    return found[0], found[4]


def tcp(text, device=b""):
    family, address = address_of(text)
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
        client.settimeout(LIMIT)
        client.connect(address)
        client.sendall(b"?")
        return client.recv(100).decode()


def udp(text, device=b"", ancillary=()):
    family, address = address_of(text)
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        client.settimeout(LIMIT)
        client.sendmsg([b"?"], ancillary, 0, address)
        return client.recv(100).decode()


# Past the routes: a socket of the device, a datagram that names it.
def device_tcp(text):
    return tcp(text, DEVICE)


def device_udp(text):
    return udp(text, DEVICE)


def named_udp(text):
    where = struct.pack("=i8x", socket.if_nametoindex(DEVICE.decode()))
    return udp(text, b"", [(socket.IPPROTO_IP, IP_PKTINFO, where)])


def raw(text):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP) as client:
        client.sendto(b"?", (text, 0))
        return "sent"


def routes(_):
    """Takes the first route away that keeps something closed: a message of rtnetlink."""
    delete = bytes([2, 32, 0, 0, 254, 0, 0, 0]) + bytes(4) + bytes([8, 0, 1, 0]) + socket.inet_aton("169.254.169.254")
    head = (16 + len(delete)).to_bytes(4, sys.byteorder) + (25).to_bytes(2, sys.byteorder) + (5).to_bytes(2, sys.byteorder) + bytes(8)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.send(head + delete)
        code = int.from_bytes(link.recv(1000)[16:20], sys.byteorder, signed=True)
    return "changed" if code == 0 else os.strerror(-code)


def namespaces(_):
    """Into a user namespace with all rights, from where the network could be changed."""
    libc = ctypes.CDLL(None, use_errno=True)
    return "made" if libc.unshare(0x10000000) == 0 and libc.unshare(0x40000000) == 0 else errno.errorcode[ctypes.get_errno()]


def grant(wish):
    way, target = wish.split()
    try:
        return f"{wish}: {globals()[way](target)}"
    except OSError:
        return f"{wish}: closed"


with concurrent.futures.ThreadPoolExecutor(64) as pool:
    print(*pool.map(grant, sys.argv[1:]), sep="\n")
