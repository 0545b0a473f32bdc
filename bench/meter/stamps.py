"""When bytes came, by this machine's kernel, as readings of ``time.perf_counter``.

Source: SO_TIMESTAMPNS in socket(7). The stamp is of the last bytes of a reading, taken when they
came in, however late they are read. Where the system gives none, there is none.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

CONTROL = socket.CMSG_SPACE(16)
"""Room for a stamp beside the bytes of ``recvmsg``."""
_TIMESTAMPNS = 35  # SO_TIMESTAMPNS of Linux, which Python does not name
_TIMESPEC = struct.Struct("@qq")


def ask_for(sock: socket.socket) -> None:
    """Have the kernel stamp what comes in on this socket, where it can."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, _TIMESTAMPNS, 1)
    except OSError:
        return


def shift() -> int:
    """The kernel's clock minus ours, in nanoseconds: it changes when the clock is set."""
    return time.time_ns() - time.perf_counter_ns()


def seconds(control: Sequence[Any], shift: int) -> float | None:
    """The stamp in the control messages of one ``recvmsg``, on our clock."""
    if not control:
        return None
    whole, nanoseconds = _TIMESPEC.unpack(control[0][2])
    stamp: float = (whole * 1_000_000_000 + nanoseconds - shift) / 1e9
    return stamp
