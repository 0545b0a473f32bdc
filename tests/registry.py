"""An image registry on 127.0.0.1 that offers one small image. Docker really pulls from it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@contextmanager
def registry(architecture: str = "amd64", layers: int = 2, size: int = 400_000) -> Iterator[str]:
    """Yields ``127.0.0.1:<port>/test/image``; the tag is ``1``."""
    blobs: dict[str, bytes] = {}

    def put(data: bytes) -> dict[str, object]:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        blobs[digest] = data
        return {"digest": digest, "size": len(data)}

    plain = [layer(number, size) for number in range(layers)]
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {},
        "rootfs": {
            "type": "layers",
            "diff_ids": [f"sha256:{hashlib.sha256(data).hexdigest()}" for data in plain],
        },
    }
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": "application/vnd.docker.container.image.v1+json",
                **put(json.dumps(config).encode()),
            },
            "layers": [
                {
                    "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                    **put(gzip.compress(data)),
                }
                for data in plain
            ],
        }
    ).encode()
    digest = f"sha256:{hashlib.sha256(manifest).hexdigest()}"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            *_, kind, name = self.path.split("/")
            if self.path == "/v2/":
                self.answer(b"{}", "application/json")
            elif kind == "manifests" and name in ("1", digest):
                self.answer(manifest, MANIFEST)
            elif kind == "blobs" and name in blobs:
                self.answer(blobs[name], "application/octet-stream")
            else:
                body = b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
                self.answer(body, "application/json", 404)

        do_HEAD = do_GET

        def answer(self, body: bytes, kind: str, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.send_header("docker-content-digest", digest)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{httpd.server_address[1]}/test/image"
        httpd.shutdown()


def layer(number: int, size: int) -> bytes:
    """One file of bytes that do not compress."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo(f"file{number}")
        entry.size = size
        tar.addfile(entry, io.BytesIO(random.Random(number).randbytes(size)))
    return packed.getvalue()
