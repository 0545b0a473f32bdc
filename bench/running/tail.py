"""The end of a log, whatever its size: only its last bytes are read."""

from __future__ import annotations

from pathlib import Path

from engines.logs import Lines

BYTES = 64 * 1024
LINES = 40
WIDTH = 400
"""Characters of a line that a page shows."""


def of(path: Path, most: int = LINES) -> list[str]:
    """The last lines, without colours and control characters; empty when there is no log."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - BYTES))
            piece = file.read(BYTES)
    except OSError:
        return []
    lines = Lines()
    found = [*lines.feed(piece), *lines.end()]
    whole = found[1:] if size > BYTES else found  # the first is cut somewhere
    return [line[:WIDTH] for line in whole[-most:]]
