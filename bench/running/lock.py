"""One worker on a machine: a lock that the system frees when its holder dies."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path, wait: float = 2.0) -> Iterator[bool]:
    """Hold the lock, when it can be had within ``wait`` seconds; yields whether it is held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    yield False
                    return
                time.sleep(0.05)
            else:
                yield True
                return


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock at this moment."""
    with held(path, wait=0) as mine:
        return mine
