"""An engine's output, made into lines and kept in a file that cannot grow without end.

What a container sends is pieces, not lines (A23), and following it can time out or never end (A24).
"""

from __future__ import annotations

import codecs
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

LINE = 64 * 1024
"""Characters of one line that are kept."""
FILE = 64 * 1024**2
"""Bytes of one log that are kept from its beginning; of what follows only the last lines."""
BAR = 30.0
"""Seconds after which the state of a line that does not end, a progress bar, is written down."""
TAIL = 2000
"""Lines kept of what came after ``FILE`` bytes."""
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f]"
)
"""Colours, cursor movements, titles; and single control characters but tab and ``\\r``."""


class Lines:
    """Bytes in any pieces become lines: UTF-8, colours taken out, of ``\\r`` the last state."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""

    def feed(self, piece: bytes) -> list[str]:
        """The lines that this piece completes."""
        *done, rest = (self._line + self._decoder.decode(piece)).split("\n")
        self._line = _present(rest)
        return [_plain(line) for line in done]

    @property
    def present(self) -> str:
        """The line that is not ended yet, as a screen would show it."""
        return _plain(self._line)

    def end(self) -> list[str]:
        """What was left without an end."""
        rest, self._line = self._line + self._decoder.decode(b"", final=True), ""
        return [_plain(rest)] if rest else []


def _present(text: str) -> str:
    """What still counts of a line that is not ended. A last ``\\r`` may be half of an end."""
    ended = text.endswith("\r")
    text = text.removesuffix("\r").rpartition("\r")[2]
    return text[:LINE] + ("\r" if ended else "")


def _plain(line: str) -> str:
    return _CONTROL.sub("", line.rstrip("\r").rpartition("\r")[2])[:LINE]


class LogFile:
    """A log on disk. Safe to write to from one thread while another reads the file."""

    def __init__(
        self, path: Path, limit: int = FILE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file = path.open("ab")
        self._room = limit - self._file.tell()
        self._lines = Lines()
        self._tail: deque[str] = deque(maxlen=TAIL)
        self._beyond = 0
        self._clock = clock
        self._written = clock()
        self._lock = threading.Lock()

    def write(self, piece: bytes) -> None:
        with self._lock:
            if self._file.closed:
                return
            lines = self._lines.feed(piece)
            if not lines and self._clock() - self._written > BAR:
                lines = [self._lines.present]
            if lines:
                self._written = self._clock()
                self._keep(lines)

    def close(self) -> None:
        with self._lock:
            if self._file.closed:
                return
            self._keep(self._lines.end())
            if left_out := self._beyond - len(self._tail):
                self._file.write(f"… {left_out} lines left out …\n".encode())
            self._file.write("".join(f"{line}\n" for line in self._tail).encode())
            self._file.close()

    def __enter__(self) -> LogFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _keep(self, lines: list[str]) -> None:
        data = "".join(f"{line}\n" for line in lines).encode()
        if len(data) <= self._room:
            self._file.write(data)
            self._file.flush()
            self._room -= len(data)
        else:
            self._room = 0
            self._beyond += len(lines)
            self._tail.extend(lines)


Source = Callable[[int | None, bool], Iterator[bytes]]
"""(since second, follow) → records ``<time stamp> <bytes>``, as Docker gives them."""


class Follower:
    """Copies a container's log to a file until the container has ended, come what may.

    ``ended`` says whether there is nothing more to come. A connection that breaks is taken up where
    it stopped; records are told apart by their time stamps, so that none is written twice.
    """

    def __init__(
        self,
        source: Source,
        log: LogFile,
        ended: Callable[[], bool],
        broken: tuple[type[Exception], ...],
        pause: float = 0.5,
    ) -> None:
        self._source = source
        self._log = log
        self._ended = ended
        self._broken = broken
        self._pause = pause
        self._last = b""
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine log", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, patience: float = 2.0) -> None:
        """Take what is left of an ended container's log, though the stream may never end."""
        self._thread.join(patience)
        self._finished.set()
        if self._thread.is_alive():
            self._copy(follow=False)
        self._log.close()

    def leave(self) -> None:
        """Take no more of a log that goes on."""
        self._finished.set()
        self._log.close()

    def _run(self) -> None:
        while not self._finished.is_set():
            self._copy(follow=True)
            if self._ended():
                self._copy(follow=False)
                return
            self._finished.wait(self._pause)

    def _copy(self, *, follow: bool) -> None:
        since = _second(self._last)
        try:
            for record in self._source(since, follow):
                stamp, _, piece = record.partition(b" ")
                if stamp > self._last:
                    self._log.write(piece)
                    self._last = stamp
        except self._broken:
            return


def _second(stamp: bytes) -> int | None:
    """The whole second of ``2026-12-01T03:45:43.411822803Z``."""
    if not stamp:
        return None
    return int(datetime.fromisoformat(stamp[:19].decode()).replace(tzinfo=UTC).timestamp())
