"""Small servers on 127.0.0.1 that give each path its answer."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, str, str]
"""Status, content type, body."""


@contextmanager
def server(answer: Callable[[str], Answer], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server on 127.0.0.1 that gives each path its answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, kind, body = answer(self.path)
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        if tls:
            httpd.socket = tls.wrap_socket(httpd.socket, server_side=True)
        threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()


def openai(path: str) -> Answer:
    """A server of vLLM's kind with one model."""
    bodies: dict[str, object] = {
        "/health": {},
        "/v1/models": {"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": 2048}]},
        "/version": {"version": "0.32.0"},
        "/tokenize": {"count": 3, "tokens": [1, 2, 3]},
        "/v1/chat/completions": {"choices": [{"message": {"content": "1"}}]},
    }
    if path in bodies:
        return 200, "application/json", json.dumps(bodies[path])
    return 404, "application/json", "{}"
