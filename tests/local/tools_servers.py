"""Hosts that package managers know, on loopback: static files, by HTTPS and by HTTP.

    tools_servers.py FOLDER

Serves FOLDER/hosts/HOST/PATH for requests with that Host, a folder as its file "index", and where there is a file FOLDER/authorization/HOST
only for those with that Authorization. Both listeners have what FOLDER/server.pem says.
Writes "https PORT" and "http PORT" to FOLDER/ports, and "METHOD HOST PATH" of each request to FOLDER/seen. Ends with its standard input.
"""

import http.server
import os
import ssl
import sys
import threading
import urllib.parse

folder = sys.argv[1]


class Host(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def may_read(self, host):
        try:
            with open(os.path.join(folder, "authorization", host)) as wanted:
                return self.headers["Authorization"] == wanted.read()
        except FileNotFoundError:
            return True

    def answer(self, host, place):
        if not self.may_read(host):
            return b"who are you?\n", 401
        try:
            with open(place, "rb") as file:
                return file.read(), 200
        except OSError:
            return b"nothing here\n", 404

    def do_GET(self):
        host = self.headers["Host"].split(":")[0]
        path = urllib.parse.unquote(self.path.split("?")[0])
        with open(os.path.join(folder, "seen"), "a") as seen:
            print(self.command, host, path, file=seen)
        place = os.path.normpath(os.path.join(folder, "hosts", host, path.lstrip("/")))
        if os.path.isdir(place):
            place = os.path.join(place, "index")
        body, code = self.answer(host, place)
        self.send_response(code)
        self.send_header("Content-Type", "text/html" if place.endswith("index") else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        if code == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="private"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def serve(name, context):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Host)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"{name} {server.server_address[1]}\n"


tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(os.path.join(folder, "server.pem"))
ports = serve("https", tls) + serve("http", None)
with open(os.path.join(folder, "ports.new"), "w") as file:
    file.write(ports)
os.rename(os.path.join(folder, "ports.new"), os.path.join(folder, "ports"))
sys.stdin.read()
