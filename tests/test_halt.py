import threading

import pytest

from bench.errors import BenchError
from bench.running.halt import Cancelled, Halt, watching


def test_the_first_reason_that_is_found_stays_the_reason() -> None:
    reasons = iter([None, BenchError("memory_floor"), BenchError("engine_died")])
    halt = Halt([lambda: next(reasons)], lambda: False)
    assert not halt.look()
    assert halt.look()
    assert halt.look()
    assert isinstance(halt.reason, BenchError)
    assert halt.reason.fault.code == "memory_floor"
    with pytest.raises(BenchError):
        halt.check()


def test_a_dead_engine_counts_before_a_cancel() -> None:
    halt = Halt([lambda: BenchError("engine_died")], lambda: True)
    with pytest.raises(BenchError):
        halt.check()


def test_a_cancel_ends_a_level_from_beside_it() -> None:
    asked = threading.Event()
    halt = Halt([], asked.is_set)
    with watching(halt):
        halt.check()
        asked.set()
        assert halt.event.wait(10), "seen without anybody asking"
    assert isinstance(halt.reason, Cancelled)


def test_nothing_is_looked_at_after_the_run() -> None:
    looked: list[int] = []
    halt = Halt([lambda: looked.append(1)], lambda: False)
    with watching(halt):
        pass
    assert not [t for t in threading.enumerate() if t.name == "watch"]


def test_a_reason_that_comes_a_moment_after_the_connections_broke_is_waited_for() -> None:
    late = iter([None] * 12 + [BenchError("engine_died")] * 2)
    waited: list[float] = []
    halt = Halt([lambda: next(late)], lambda: False)
    assert halt.settle(pause=waited.append)
    assert 1 <= sum(waited) < 3
    assert not Halt([], lambda: False).settle(pause=waited.append), "and not for ever"
