import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

from verify import is_genuine


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        genuine = is_genuine(os.environ["WEBHOOK_SECRET"], headers, body, time.time())
        print("genuine:" if genuine else "refused:", body.decode(), flush=True)
        self.send_response(204 if genuine else 401)
        self.end_headers()


HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
