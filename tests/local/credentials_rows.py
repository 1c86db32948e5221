"""Runs in a box with credentials, and asks their hosts in good and in bad ways. A row a line: NAME, a tab, what came of it."""

import base64
import gzip
import os
import socket
import ssl
import sys

PROXY = ("127.0.0.1", 3128)
KEY = os.environ.get("API_KEY", "none")
TOKEN = os.environ.get("HUB_TOKEN", "none")
SPLIT = "\r\n\r\n"


def receive(connection):
    try:
        return connection.recv(65536)
    except OSError:
        return b""


def tunnel(host, port=443):
    connection = socket.create_connection(PROXY, 60)
    connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    answer = receive(connection)
    return connection, answer.split(b" ")[1].decode() if answer else "closed"


def secure(host, sni=None, protocols=None, lax=False):
    """A connection that trusts whom the box's variables name."""
    connection, status = tunnel(host)
    if status != "200":
        return None, status
    context = ssl.create_default_context()
    if lax:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    if protocols:
        context.set_alpn_protocols(protocols)
    try:
        return context.wrap_socket(connection, server_hostname=sni or host, suppress_ragged_eofs=False), "200"
    except ssl.SSLCertVerificationError:
        return None, "untrusted"
    except OSError:
        return None, "closed"


class Answers:
    """Answers of one connection, one after the other."""

    def __init__(self, connection):
        self.connection = connection
        self.data = b""

    def more(self):
        more = receive(self.connection)
        self.data += more
        return more

    def line(self):
        while b"\r\n" not in self.data and self.more():
            pass
        line, _, self.data = self.data.partition(b"\r\n")
        return line

    def take(self, length):
        while len(self.data) < length and self.more():
            pass
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def next(self):
        """Status, head, and body with what frames it."""
        while b"\r\n\r\n" not in self.data and self.more():
            pass
        if b"\r\n\r\n" not in self.data:
            return "closed", b"", self.data
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        status = head.split(b" ")[1].decode()
        if status.startswith("1"):
            later, _, body = self.next()
            return later, head, body
        fields = {line.split(b":")[0].lower(): line.split(b":", 1)[1].strip() for line in head.split(b"\r\n")[1:]}
        if b"content-length" in fields:
            return status, head, self.take(int(fields[b"content-length"]))
        body = b""
        if fields.get(b"transfer-encoding") == b"chunked":
            self.frames = b""
            while line := self.line():
                self.frames += line + b"|"
                if not (size := int(line.split(b";")[0], 16)):
                    break
                body += self.take(size)
                self.take(2)
            while line := self.line():
                self.frames += line + b"|"
            return status, head, body
        while self.more():
            pass
        body, self.data = self.data, b""
        return status, head, body


def ask(host, path, fields="", body="", method="GET"):
    connection, status = secure(host)
    if not connection:
        return status, b"", b""
    with connection:
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{fields}{length}\r\n{body}".encode())
        return Answers(connection).next()


def text(host, path, fields="", body=""):
    status, _, answer = ask(host, path, fields, body, "POST" if body else "GET")
    return f"{status} {answer.decode('latin-1')}".strip()


def http(host, path, fields="", host_field=None):
    with socket.create_connection(PROXY, 60) as connection:
        connection.sendall(f"GET http://{host}{path} HTTP/1.1\r\nHost: {host_field or host}\r\n{fields}\r\n".encode())
        status, _, body = Answers(connection).next()
        return f"{status} {body.decode('latin-1').strip()}" if status == "200" else status


def raw(request, host="api.example"):
    """The bytes REQUEST within TLS; the status of what comes back."""
    connection, status = secure(host)
    if not connection:
        return status
    with connection:
        try:
            connection.sendall(request.replace(b"\n", b"\r\n") if b"\r" not in request else request)
        except OSError:
            pass
        return Answers(connection).next()[0]


def several(requests, host="api.example"):
    """Requests one after the other on one connection; the statuses and bodies."""
    connection, _ = secure(host)
    results = []
    with connection:
        answers = Answers(connection)
        for request in requests:
            try:
                connection.sendall(request.encode())
            except OSError:
                pass
            status, _, body = answers.next()
            results.append(f"{status}:{body.decode().strip()}" if status == "200" else status)
            if status == "closed":
                break
    return " ".join(results)


def get(path, host="api.example", fields=""):
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n"


def masked(path, host="api.example", fields=""):
    """How the answer looks with letters in the place of what is not masked."""
    status, _, body = ask(host, path, fields)
    shown = body.decode("latin-1")
    stars = shown.count("*")
    return f"{status} {shown.replace('*', '')} {stars}"


def held():
    """Much, in small pieces, of which each byte may be the beginning of a secret."""
    connection, _ = secure("api.example")
    end = b""
    with connection:
        connection.sendall(b"GET /held HTTP/1.1\r\nHost: api.example\r\n\r\n")
        while not end.endswith(b"\r\n0\r\n\r\n") and (more := receive(connection)):
            end = (end + more)[-16:]
    return "whole" if end.endswith(b"\r\n0\r\n\r\n") else "cut"


def header_masked():
    _, head, _ = ask("api.example", "/echo")
    return head.split(b"X-Echo: ")[1].split(b"\r\n")[0].decode()


def frames_masked():
    connection, _ = secure("api.example")
    with connection:
        connection.sendall(get("/extension").encode())
        answers = Answers(connection)
        _, _, body = answers.next()
        return f"{body.decode().replace('*', '')} {answers.frames.decode()}"


def hints_masked():
    _, head, body = ask("api.example", "/hints")
    return f"{head.split(b'Link: ')[1].decode().replace('*', '')}{body.decode()}"


def pair(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def many():
    _, _, body = ask("api.example", "/many")
    return f"{len(body)} {body.count(b'*')} {len(body.replace(b'*', b'').strip(b'x'))}"


def zipped(path):
    status, _, body = ask("api.example", path, "Accept-Encoding: gzip\r\n")
    return f"{status} {gzip.decompress(body).decode() if body[:2] == bytes((31, 139)) else body.decode().replace('*', '')}"


def protocol(offered):
    connection, status = secure("api.example", protocols=offered)
    if not connection:
        return status
    with connection:
        chosen = connection.selected_alpn_protocol()
        connection.sendall(get("/count").encode())
        return f"{chosen} {Answers(connection).next()[0]}"


def old_version():
    connection, _ = tunnel("api.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        context.wrap_socket(connection, server_hostname="api.example")
        return "agreed"
    except OSError:
        return "closed"


def after_hello(junk):
    """A ClientHello, and then bytes that are no TLS."""
    connection, _ = tunnel("api.example")
    context = ssl.create_default_context()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = context.wrap_bio(incoming, outgoing, server_hostname="api.example")
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        pass
    connection.sendall(outgoing.read())
    incoming.write(receive(connection))
    connection.sendall(junk)
    while receive(connection):
        pass
    return "closed"


def cut():
    connection, _ = secure("api.example")
    with connection:
        connection.sendall(get("/cut").encode())
        data = b""
        try:
            while more := connection.recv(65536):
                data += more
            return "whole"
        except OSError:
            return "broken" if data.endswith(b"cut") else "lost"


HOST = "Host: api.example\r\n"
ROWS = {
    # what is set
    "set": lambda: text("api.example", "/saw"),
    "own-replaced": lambda: text("api.example", "/saw", "Authorization: Bearer of-the-box\r\n"),
    "own-twice": lambda: text("api.example", "/saw", "Authorization: a\r\nauthorization: b\r\n"),
    "own-named-by-connection": lambda: text("api.example", "/saw", "Connection: Authorization, X-Second\r\n"),
    "other-fields-stay": lambda: text("api.example", "/saw", "X-Other: mine\r\nCookie: mine\r\n"),
    "body-stays": lambda: text("api.example", "/saw", "", "a body"),
    "by-http": lambda: http("api.example", "/saw"),
    "by-http-plain": lambda: http("plain.example", "/saw"),
    "by-http-plain-own": lambda: http("plain.example", "/saw", "X-Token: mine\r\n"),
    "by-http-to-443": lambda: http("api.example:443", "/saw", host_field="api.example:443"),
    "by-https-plain": lambda: text("plain.example", "/saw"),
    "other-port": lambda: tunnel("api.example", 8443)[1],
    "http-in-tunnel": lambda: tunnel("api.example", 80)[1],
    "host-above": lambda: tunnel("example")[1],
    "host-below": lambda: tunnel("x.api.example")[1],
    "host-longer": lambda: tunnel("api.example.evil.example")[1],
    "host-like": lambda: tunnel("evilapi.example")[1],
    "not-intercepted": lambda: secure("open.example")[1],
    "compression": lambda: text("api.example", "/fields", "Accept-Encoding: gzip, br\r\n"),
    # placeholders
    "placeholder": lambda: text("key.example", "/saw", f"X-Api-Key: {KEY}\r\n"),
    "placeholder-any-case": lambda: text("key.example", "/saw", f"x-API-key: {KEY}\r\n"),
    "placeholder-other-field": lambda: text("key.example", "/saw", f"X-Other: {KEY}\r\n"),
    "placeholder-cookie": lambda: text("key.example", "/saw", f"Cookie: {KEY}\r\n"),
    "placeholder-absent": lambda: text("key.example", "/saw"),
    "placeholder-own": lambda: text("key.example", "/saw", "X-Api-Key: mine\r\n"),
    "placeholder-part": lambda: text("key.example", "/saw", f"X-Api-Key: {KEY[:-1]}\r\n"),
    "placeholder-url": lambda: str(ask("key.example", "/" + KEY.replace(" ", "-"))[2].decode().split(" ")[1] == "/" + KEY),
    "placeholder-body": lambda: str(text("key.example", "/saw", "", KEY) == f"200  {KEY}"),
    "placeholder-other-host": lambda: text("key.example", "/saw", f"X-Api-Key: {TOKEN}\r\n"),
    "placeholder-many": lambda: raw(get("/saw", "key.example", f"X-Api-Key: {' '.join([KEY] * 900)}\r\n").encode(), "key.example"),
    "placeholder-twice": lambda: masked("/echo", "key.example", f"X-Api-Key: {KEY}{KEY}\r\n"),
    "basic": lambda: text("basic.example", "/saw", f"Authorization: {pair('user', TOKEN)}\r\n"),
    "basic-any-case": lambda: text("basic.example", "/saw", f"Authorization: {pair('user', TOKEN).replace('B', 'b', 1)}\r\n"),
    "basic-own": lambda: text("basic.example", "/saw", f"Authorization: {pair('user', 'mine')}\r\n"),
    "basic-malformed": lambda: text("basic.example", "/saw", "Authorization: Basic !!!!\r\n"),
    "basic-empty": lambda: text("basic.example", "/saw", "Authorization: Basic \r\n"),
    "basic-nul": lambda: text("basic.example", "/saw", f"Authorization: {pair('us' + chr(0) + 'er', TOKEN)}\r\n"),
    "basic-without": lambda: text("basic.example", "/saw", f"Authorization: {TOKEN}\r\n"),
    # what comes back
    "mask-body": lambda: masked("/echo"),
    "mask-field": header_masked,
    "mask-part": lambda: masked("/token"),
    "mask-chunks-1": lambda: masked("/chunks/1"),
    "mask-chunks-3": lambda: masked("/chunks/3"),
    "mask-chunks-16": lambda: masked("/chunks/16"),
    "mask-frames": frames_masked,
    "mask-until-end": lambda: masked("/until-end"),
    "mask-beginnings": lambda: masked("/starts"),
    "mask-held": held,
    "mask-many": many,
    "mask-hints": hints_masked,
    "mask-basic": lambda: masked("/echo", "basic.example", f"Authorization: {pair('user', TOKEN)}\r\n"),
    "mask-pair": lambda: masked("/pair", "basic.example", f"Authorization: {pair('user', TOKEN)}\r\n"),
    "mask-plain": lambda: http("plain.example", "/saw", "X-Other: x\r\n"),
    "zip": lambda: zipped("/zip"),
    "zip-all-the-same": lambda: zipped("/force-zip"),
    # requests that two readers could understand in two ways
    "host-twice": lambda: raw(f"GET /smuggled HTTP/1.1\r\n{HOST}{HOST}\r\n".encode()),
    "host-other": lambda: raw(get("/smuggled", "open.example").encode()),
    "host-none": lambda: raw(b"GET /smuggled HTTP/1.1\r\n\r\n"),
    "host-other-port": lambda: raw(get("/smuggled", "api.example:8443").encode()),
    "host-blank": lambda: raw(b"GET /smuggled HTTP/1.1\r\nHost : api.example\r\n\r\n"),
    "url": lambda: raw(f"GET https://open.example/smuggled HTTP/1.1\r\n{HOST}\r\n".encode()),
    "url-http": lambda: raw(f"GET http://api.example/smuggled HTTP/1.1\r\n{HOST}\r\n".encode()),
    "connect-within": lambda: raw(b"CONNECT open.example:443 HTTP/1.1\r\nHost: open.example:443\r\n\r\n"),
    "star": lambda: raw(f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n".encode()),
    "length-and-chunked": lambda: raw(get("/smuggled", fields="Content-Length: 5\r\nTransfer-Encoding: chunked\r\n").encode()),
    "length-twice": lambda: raw(get("/smuggled", fields="Content-Length: 5\r\nContent-Length: 6\r\n").encode()),
    "length-sign": lambda: raw(get("/smuggled", fields="Content-Length: +5\r\n").encode()),
    "coding-twice": lambda: raw(get("/smuggled", fields="Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n").encode()),
    "coding-unknown": lambda: raw(get("/smuggled", fields="Transfer-Encoding: xchunked\r\n").encode()),
    "bare-feed": lambda: raw(b"GET /smuggled HTTP/1.1\r\nHost: api.example\nX: y\r\n\r\n"),
    "bare-return": lambda: raw(b"GET /smuggled HTTP/1.1\r\nHost: api.example\rX: y\r\n\r\n"),
    "folded": lambda: raw(f"GET /smuggled HTTP/1.1\r\n{HOST}X: y\r\n Authorization: z\r\n\r\n".encode()),
    "nul": lambda: raw(b"GET /smuggled HTTP/1.1\r\nHost: api.example\r\nX: \0\r\n\r\n"),
    "large": lambda: raw(get("/smuggled", fields=f"X: {'x' * 100000}\r\n").encode()),
    "fields": lambda: raw(get("/smuggled", fields="X: y\r\n" * 200).encode()),
    "fields-almost": lambda: raw(get("/smuggled", fields="X: y\r\n" * 127).encode()),
    "version-2": lambda: raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "version-0": lambda: raw(b"GET /smuggled\r\n\r\n"),
    "bad-chunk": lambda: raw((get("/smuggled-late", fields="Transfer-Encoding: chunked\r\n") + "zz\r\nabc\r\n").encode()),
    # one connection, several requests
    "kept": lambda: several([get("/count"), get("/count"), get("/count")]),
    "kept-body": lambda: several([get("/saw", fields="Content-Length: 3\r\n") + "abc", get("/count")]),
    "kept-close": lambda: several([get("/count", fields="Connection: close\r\n"), get("/count")]),
    "kept-old": lambda: several([get("/count").replace("1.1", "1.0"), get("/count")]),
    "kept-host-other": lambda: several([get("/count"), get("/smuggled", "open.example"), get("/smuggled")]),
    "kept-pipelined": lambda: several([get("/count") + get("/count") + get("/count"), "", ""]),
    "kept-server-closes": lambda: several([get("/bye"), get("/count")]),
    "kept-server-adds": lambda: several([get("/extra"), get("/count")]),
    "kept-thousand": lambda: str(several([get("/count")] * 1000).count("200:")),
    # servers that misbehave
    "garbage": lambda: raw(get("/garbage").encode()),
    "switch": lambda: raw(get("/switch").encode()),
    "twice-length": lambda: raw(get("/twice-length").encode()),
    "bad-answer-chunk": lambda: str(ask("api.example", "/bad-chunk")[0]),
    "cut": cut,
    "expired": lambda: text("expired.example", "/saw"),
    "self-signed": lambda: text("self.example", "/saw"),
    "unknown-authority": lambda: text("unknown.example", "/saw"),
    "other-name": lambda: text("other.example", "/saw"),
    "no-tls": lambda: text("notls.example", "/saw").split(" ")[0],
    "hung": lambda: text("mute.example", "/saw").split(" ")[0],
    # TLS of the box
    "sni-other": lambda: secure("api.example", "open.example", lax=True)[1],
    "sni-below": lambda: secure("api.example", "x.api.example", lax=True)[1],
    "protocol-2": lambda: protocol(["h2"]),
    "protocol-both": lambda: protocol(["h2", "http/1.1"]),
    "old-version": old_version,
    "junk-after-hello": lambda: after_hello(b"this is no TLS" * 100),
    "alert-after-hello": lambda: after_hello(b"\x15\x03\x03\x00\x02\x02\x30"),
    "huge-record": lambda: after_hello(b"\x16\x03\x03\xff\xff" + b"x" * 70000),
    "many-records": lambda: after_hello(b"\x14\x03\x03\x00\x01\x01" * 100),
}
LATE = ("hung", "junk-after-hello", "huge-record")  # which the proxy waits for

for row in sys.argv[1:] or [name for name in ROWS if name not in LATE]:
    try:
        print(f"{row}\t{ROWS[row]()}", flush=True)
    except Exception as error:  # a row that breaks is one that differs
        print(f"{row}\t{type(error).__name__} {error}", flush=True)
