"""The mock engine: an OpenAI-compatible server of known timing, in a process of its own.

``python -m bench.mock.engine --port 0 --ttft-ms 200 --token-ms 20`` prints one line of JSON with
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
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from time import perf_counter

import msgspec

from bench.mock.behaviour import Behaviour
from bench.mock.socket import listen
from bench.mock.state import Engine
from bench.mock.stream import Stream


async def serve(how: Behaviour, host: str, port: int) -> None:
    """Serve until cancelled. The port is printed when connections are taken, or to be refused."""
    engine = Engine(how)
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        print_port = partial(print, json.dumps({"port": sock.getsockname()[1]}), flush=True)
        if how.refused_s:
            print_port()
            await asyncio.sleep(how.refused_s)
        engine.ready_at = perf_counter() + how.loading_s
        listen(sock, partial(Stream, engine))
        if not how.refused_s:
            print_port()
        await asyncio.Event().wait()


def options(argv: Sequence[str]) -> tuple[Behaviour, str, int]:
    parser = ArgumentParser(prog="python -m bench.mock.engine", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    for field in msgspec.structs.fields(Behaviour):
        parser.add_argument(f"--{field.name.replace('_', '-')}", default=None)
    given = vars(parser.parse_args(argv))
    changes = {
        field.name: given[field.name]
        for field in msgspec.structs.fields(Behaviour)
        if given[field.name] is not None
    }
    return msgspec.convert(changes, Behaviour, strict=False), given["host"], given["port"]


def main(argv: Sequence[str]) -> int:
    try:
        asyncio.run(serve(*options(argv)))
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
