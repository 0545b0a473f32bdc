from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.logs import LINE, Follower, Lines, LogFile
from tests.conftest import until


def lines(*pieces: bytes) -> list[str]:
    assembler = Lines()
    found = [line for piece in pieces for line in assembler.feed(piece)]
    return found + assembler.end()


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_a_progress_bar_leaves_its_last_state(size: int) -> None:
    data = b"Loading 10%\rLoading 55%\rLoading 100%\nnext\n"
    assert lines(*cut(data, size)) == ["Loading 100%", "next"]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_windows_line_ends_leave_nothing_behind(size: int) -> None:
    assert lines(*cut(b"one\r\ntwo\r\n", size)) == ["one", "two"]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_chinese_character_may_be_cut_in_two(size: int) -> None:
    assert lines(*cut("載入模型\n".encode(), size)) == ["載入模型"]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_colours_and_backspaces_are_taken_out(size: int) -> None:
    data = b"\x1b[32mINFO\x1b[0m a\b\bb \x1b]0;title\x07c\x1b[2K\n"
    assert lines(*cut(data, size)) == ["INFO ab c"]


def test_broken_bytes_are_replaced_and_lose_no_line() -> None:
    assert lines(b"a\xffb\nc\n") == ["a\ufffdb", "c"]


def test_an_endless_line_is_cut() -> None:
    assert lines(*cut(b"x" * 200_000 + b"\nnext\n", 1000)) == ["x" * LINE, "next"]


def test_what_has_no_end_is_kept_at_the_end() -> None:
    assert lines(b"one\ntw", b"o") == ["one", "two"]


def test_a_huge_log_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    with LogFile(tmp_path / "run.log", limit=1000) as log:
        for number in range(100_000):
            log.write(b"line %d\n" % number)
    kept = (tmp_path / "run.log").read_text().splitlines()
    assert kept[0] == "line 0"
    assert kept[-1] == "line 99999"
    assert len(kept) < 2200
    assert [line for line in kept if "left out" in line]


def test_a_log_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    with LogFile(tmp_path / "run.log") as log:
        log.write(b"loading\n")
        assert (tmp_path / "run.log").read_text() == "loading\n"


def test_a_bar_that_never_ends_is_written_down_now_and_then(tmp_path: Path) -> None:
    ticks = iter([0.0, 1.0, 31.0, 31.0, 32.0])
    with LogFile(tmp_path / "run.log", clock=ticks.__next__) as log:
        for share in (1, 50, 51):
            log.write(b"pulling %d%%\r" % share)
        assert log.path.read_text() == "pulling 50%\n"


class Broken(Exception):
    pass


def record(second: int, text: str) -> bytes:
    return f"2026-12-01T03:45:{second:02}.000000000Z {text}\n".encode()


def test_a_broken_connection_is_taken_up_without_doubling_a_line(tmp_path: Path) -> None:
    asked: list[tuple[int | None, bool]] = []

    def source(since: int | None, follow: bool) -> Iterator[bytes]:
        asked.append((since, follow))
        yield record(1, "one")
        yield record(2, "two")
        if len(asked) == 1:
            raise Broken("read timed out")
        yield record(3, "three")

    log = LogFile(tmp_path / "run.log")
    follower = Follower(source, log, lambda: len(asked) > 1, (Broken,), pause=0)
    follower.start()
    follower.finish(patience=10)
    assert log.path.read_text() == "one\ntwo\nthree\n"
    assert asked == [(None, True), (1796096702, True), (1796096703, False)]


def test_a_stream_that_never_ends_is_left_when_the_engine_has_ended(tmp_path: Path) -> None:
    never = threading.Event()

    def source(since: int | None, follow: bool) -> Iterator[bytes]:
        yield record(1, "one")
        if follow:
            never.wait(60)
        else:
            yield record(2, "the last words")

    log = LogFile(tmp_path / "run.log")
    follower = Follower(source, log, lambda: True, (Broken,))
    follower.start()
    until(lambda: log.path.read_text() == "one\n")
    follower.finish(patience=0.05)
    assert log.path.read_text() == "one\nthe last words\n"
    never.set()
