"""The mock engine: an OpenAI-compatible server of known timing, in a process of its own.

``python -m bench.mock_engine --port 0 --ttft-ms 200 --token-ms 20`` prints one line of JSON with
its port. Any OpenAI client can be pointed at it. Each field of `Behaviour` is an option; a request
changes it for itself with a ``mock`` object in its body or in its model's name. ``/truth/stats``
tells what really happened, in readings of CLOCK_MONOTONIC, which is Python's ``perf_counter`` on
Linux; ``/truth/reset`` forgets it. It is both the truth that the meter is held against and the
engine of the tests.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from time import perf_counter

import msgspec

from bench.mock_behaviour import Behaviour
from bench.mock_state import Engine
from bench.mock_stream import Stream


async def serve(how: Behaviour, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
    """Serve until cancelled. The port is printed when connections are taken, or are to be refused."""
    engine = Engine(how)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    port_line = json.dumps({"port": sock.getsockname()[1]})
    if how.refused_s:
        print(port_line, flush=True)
        await asyncio.sleep(how.refused_s)
    engine.ready_at = perf_counter() + how.loading_s
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stream(engine), sock=sock, backlog=1024, ssl=tls)
    if not how.refused_s:
        print(port_line, flush=True)
    async with server:
        await server.serve_forever()


def options(argv: Sequence[str]) -> tuple[Behaviour, str, int, ssl.SSLContext | None]:
    parser = ArgumentParser(prog="python -m bench.mock_engine", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--tls", metavar="FILE", help="serve https with this certificate and key")
    for field in msgspec.structs.fields(Behaviour):
        parser.add_argument(f"--{field.name.replace('_', '-')}", default=None)
    given = vars(parser.parse_args(argv))
    changes = {
        field.name: given[field.name]
        for field in msgspec.structs.fields(Behaviour)
        if given[field.name] is not None
    }
    tls = None
    if given["tls"]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(given["tls"])
    return msgspec.convert(changes, Behaviour, strict=False), given["host"], given["port"], tls


def main(argv: Sequence[str]) -> int:
    try:
        asyncio.run(serve(*options(argv)))
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
