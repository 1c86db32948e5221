"""A web server in a box: what its answers say shows what reached it. PORT, and a file that is made once it listens."""

import base64
import hashlib
import http.server
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, text, kind="text/plain"):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self.web_socket()
        elif self.path == "/events":
            self.events()
        elif self.path == "/headers":
            self.answer("".join(f"{name.lower()}: {value}\n" for name, value in self.headers.items()))
        else:
            self.answer(f"GET {self.path}\n")

    def do_POST(self):
        """The digest of a body, in chunks or with a length."""
        digest = hashlib.sha256()
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                digest.update(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
        else:
            digest.update(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(digest.hexdigest())

    def events(self):
        """Server-sent events: the second one comes when the connection has been open for a while, and then it ends."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        self.wfile.flush()
        with open("second", "rb") as fifo:  # until somebody has seen the first
            fifo.read()
        self.wfile.write(b"data: second\n\n")

    def web_socket(self):
        """Echoes frames of less than 126 bytes until the connection ends."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        while head := self.rfile.read(2):
            mask = self.rfile.read(4)
            text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(head[1] & 0x7F)))
            self.wfile.write(bytes([head[0], len(text)]) + text)
        self.close_connection = True

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.daemon_threads = True
with open(sys.argv[2], "w", encoding="ascii") as file:
    file.write("ready")
server.serve_forever()
