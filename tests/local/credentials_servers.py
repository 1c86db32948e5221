"""Stand-ins for hosts of the internet that know a secret, on loopback.

    credentials_servers.py FOLDER

FOLDER/tokens has lines "NAME VALUE": the secrets that a host may get. For each FOLDER/NAME.pem there is a server of HTTPS with
that certificate, and besides "http" (without TLS), "mute" (which accepts and says nothing), "echo", "git" (git's own daemon, of
FOLDER/git) and "ssh" (no more than a greeting). Writes "NAME PORT" for each
to FOLDER/ports. What heads came stands in FOLDER/seen. /saw says by name which of the secrets a request held. FOLDER/git is
served by git's own program, FOLDER/files as files, to those who hold the secret "basic". Ends with its standard input.
"""

import base64
import glob
import gzip
import os
import re
import socket
import ssl
import subprocess
import sys
import threading

folder = sys.argv[1]
seen = open(os.path.join(folder, "seen"), "ab", buffering=0)
with open(os.path.join(folder, "tokens"), "rb") as file:
    tokens = dict(line.rstrip(b"\n").split(b" ", 1) for line in file)


def read_head(connection, rest):
    while b"\r\n\r\n" not in rest:
        more = connection.recv(65536)
        if not more:
            return None, b""
        rest += more
    return rest.split(b"\r\n\r\n", 1)


def read_body(connection, fields, rest):
    body = b""
    if fields.get(b"transfer-encoding") == b"chunked":
        while True:
            while b"\r\n" not in rest:
                rest += connection.recv(65536)
            line, rest = rest.split(b"\r\n", 1)
            size = int(line, 16)
            while len(rest) < size + 2:
                rest += connection.recv(65536)
            body, rest = body + rest[:size], rest[size + 2:]
            if size == 0:
                return body, rest
    length = int(fields.get(b"content-length", b"0"))
    while len(rest) < length:
        rest += connection.recv(65536)
    return rest[:length], rest[length:]


def name_of(value):
    if value is None:
        return b"none"
    for name, token in tokens.items():
        if value == token:
            return name
    return b"other"


def plain(text, extra=b"", status=b"200 OK"):
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n" % (status, len(text), extra) + text


def chunked(text, size, extension=b"", trailer=b""):
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for at in range(0, len(text), size):
        part = text[at:at + size]
        data += b"%x%s\r\n%s\r\n" % (len(part), extension, part)
    return data + b"0\r\n" + trailer + b"\r\n"


def run_git(path, query, method, fields, body):
    environment = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": os.path.join(folder, "git"), "GIT_HTTP_EXPORT_ALL": "1",
                   "REQUEST_METHOD": method.decode(), "PATH_INFO": path[4:].decode(), "QUERY_STRING": query.decode(),
                   "CONTENT_TYPE": fields.get(b"content-type", b"").decode(), "CONTENT_LENGTH": str(len(body)),
                   "HTTP_CONTENT_ENCODING": fields.get(b"content-encoding", b"").decode(), "HOME": folder}
    printed = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE, check=False).stdout
    head, text = printed.split(b"\r\n\r\n", 1)
    return plain(text, b"".join(line + b"\r\n" for line in head.split(b"\r\n") if not line.startswith(b"Status")))


def serve_file(path):
    name = os.path.normpath(os.path.join(folder, "files", path.decode().lstrip("/")))
    if os.path.isdir(name):
        name = os.path.join(name, "index")
    if not os.path.isfile(name):
        return plain(b"", status=b"404 Not Found")
    kind = b"application/octet-stream"
    with open(name, "rb") as opened:
        text = opened.read()
    if text.startswith(b"<"):
        kind = b"text/html"
    if text.startswith(b"{"):
        kind = b"application/json"
    return plain(text, b"Content-Type: %s\r\n" % kind)


def answer(method, path, query, fields, body, count):
    secret = fields.get(b"authorization", fields.get(b"x-api-key", b"none"))
    number = int(re.sub(rb"\D", b"", path) or 0)

    if path == b"/saw":
        names = (b"authorization", b"x-second", b"x-api-key", b"x-token", b"x-other", b"cookie")
        return plain(b" ".join(b"%s=%s" % (name, name_of(fields[name])) for name in names if name in fields) + b" " + body)
    if path == b"/fields":
        return plain(b"%s %s" % (fields.get(b"accept-encoding", b"none"), fields.get(b"connection", b"none")))
    if path == b"/echo":
        return plain(b"value=" + secret, b"X-Echo: %s\r\n" % secret)
    if path == b"/token":
        return plain(b"token=" + secret.split(b" ")[-1])
    if path == b"/pair":
        return plain(base64.b64decode(secret.split(b" ")[-1]))
    if path.startswith(b"/chunks/"):
        return chunked(b"before " + secret + b" after", number)
    if path == b"/extension":
        return chunked(b"before " + secret + b" after", 9, b";a=" + re.sub(rb"\W", b"", secret), b"X-Trailer: %s\r\n" % secret)
    if path == b"/until-end":
        return b"HTTP/1.1 200 OK\r\n\r\nvalue=" + secret
    if path == b"/starts":
        return plain(secret[:12] * 50 + secret + secret[:-1])
    if path == b"/many":
        return plain((b"x" * 997 + secret) * 400)
    if path == b"/zip":
        text = b"value=" + secret
        return plain(gzip.compress(text), b"Content-Encoding: gzip\r\n") if b"gzip" in fields.get(b"accept-encoding", b"") \
            else plain(text)
    if path == b"/force-zip":
        return plain(gzip.compress(b"value=hidden"), b"Content-Encoding: gzip\r\n")
    if path.startswith(b"/redirect/"):
        return plain(b"", b"Location: https://%s/saw\r\n" % path[10:], b"302 Found")
    if path == b"/switch":
        return b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nfree bytes"
    if path == b"/garbage":
        return b"this is no HTTP\n\n"
    if path == b"/extra":
        return plain(b"first") + plain(b"second, which nobody has asked for")
    if path == b"/twice-length":
        return b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
    if path == b"/bad-chunk":
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"
    if path == b"/count":
        return plain(b"%d" % count)
    if path == b"/hints":
        return b"HTTP/1.1 103 Early Hints\r\nLink: %s\r\n\r\n" % secret + plain(b"after hints")
    if path.startswith(b"/big/"):
        return plain(b"x" * number)
    if path.startswith((b"/git/", b"/files/")) and name_of(fields.get(b"authorization")) != b"basic":
        return plain(b"", b'WWW-Authenticate: Basic realm="files"\r\n', b"401 Unauthorized")
    if path.startswith(b"/git/"):
        return run_git(path, query, method, fields, body)
    if path.startswith(b"/files/"):
        return serve_file(path[6:])
    return plain(b"hello %s %d\n" % (path, len(body)))


def serve_http(connection):
    rest = b""
    count = 0
    try:
        while True:
            head, rest = read_head(connection, rest)
            if head is None:
                break
            seen.write(head + b"\n\n")
            lines = head.split(b"\r\n")
            fields = {name.strip().lower(): value.strip() for name, value in (line.split(b":", 1) for line in lines[1:])}
            body, rest = read_body(connection, fields, rest)
            method, target, _ = lines[0].split(b" ")
            path, _, query = target.partition(b"?")
            count += 1
            if path == b"/silent":
                connection.recv(1)
            if path == b"/cut":
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nan answer that is cut")
                os.close(connection.detach())  # without TLS's farewell
                return
            if path == b"/held":  # in many small pieces, each byte of which may be the beginning of the secret
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in range(30000):
                    connection.sendall(b"1\r\n%s\r\n" % fields[b"authorization"][:1] * 20)
                connection.sendall(b"0\r\n\r\n")
                continue
            connection.sendall(answer(method, path, query, fields, body, count))
            if path in (b"/until-end", b"/bye") or fields.get(b"connection") == b"close":
                break
        if isinstance(connection, ssl.SSLSocket):
            connection.unwrap()
    except (OSError, ValueError):
        pass
    finally:
        connection.close()


def serve_tls(context):
    def serve(connection):
        try:
            wrapped = context.wrap_socket(connection, server_side=True)
        except (OSError, ssl.SSLError):
            connection.close()
            return
        serve_http(wrapped)

    return serve


def serve_mute(connection):
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass
    connection.close()


def serve_echo(connection):
    try:
        while data := connection.recv(65536):
            connection.sendall(data)
    except OSError:
        pass
    connection.close()


def serve_git(connection):
    with connection:
        subprocess.run(["git", "daemon", "--inetd", "--export-all", "--base-path=" + os.path.join(folder, "git")], stdin=connection,
                       stdout=connection, stderr=subprocess.DEVNULL, check=False)


def serve_ssh(connection):
    with connection:
        connection.sendall(b"SSH-2.0-Stand-in\r\n")


def accept(listener, serve):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


servers = [("http", serve_http), ("mute", serve_mute), ("echo", serve_echo), ("git", serve_git), ("ssh", serve_ssh)]
for certificate in sorted(glob.glob(os.path.join(glob.escape(folder), "*.pem"))):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate)
    servers.append((os.path.basename(certificate)[:-4], serve_tls(made)))
with open(os.path.join(folder, "ports.new"), "w", encoding="ascii") as ports:
    for server, handler in servers:
        socket_of_it = socket.create_server(("127.0.0.1", 0), backlog=1024)
        threading.Thread(target=accept, args=(socket_of_it, handler), daemon=True).start()
        ports.write(f"{server} {socket_of_it.getsockname()[1]}\n")
os.rename(os.path.join(folder, "ports.new"), os.path.join(folder, "ports"))
sys.stdin.read()
