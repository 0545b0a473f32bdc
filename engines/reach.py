"""How an engine's port is reached from here, and its machine's memory watched."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from engines.faraway import Memory
from engines.process import free_port
from engines.tunnel import Tunnel, to_port


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """As it is: an engine on this machine."""

    url: str | None = None
    """Its address from here, with the port that it gets there; None: by SSH, or it is here."""
    bind: str = "127.0.0.1"
    """The address on its machine at which its port is opened."""
    seen: Path | None = None
    """The folder in which its machine's memory is kept up to date; None on this machine."""


def opened(reach: Reach, host: str, port: int, container: Any, closing: ExitStack) -> str:
    """The URL of a started engine; what has to be closed with it is put on ``closing``."""
    url = reach.url or f"http://127.0.0.1:{port}"
    if port and not reach.url and host.startswith("ssh://"):
        here = free_port()
        closing.callback(Tunnel(host, to_port(here, port), here).close)
        url = f"http://127.0.0.1:{here}"
    if reach.seen is not None:
        closing.callback(Memory(container, reach.seen).close)
    return url
