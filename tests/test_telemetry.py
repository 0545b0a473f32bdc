import time

import pytest

from bench.config import Config
from bench.machine.gpu import Gpu
from bench.machine.health import Reading, canary
from bench.running.measure import cached_share
from bench.running.telemetry import Telemetry, sampling

pytestmark = pytest.mark.engine


def test_the_machine_and_a_real_engine_are_read_beside_a_run(
    config: Config, llama_url: str
) -> None:
    watched = Telemetry(config, llama_url, {})
    with sampling(watched, period=0.05):
        deadline = time.monotonic() + 30
        rows = watched.take()
        while len(rows) < 3 and time.monotonic() < deadline:
            rows += watched.take()
    assert len(rows) >= 3, "nothing is taken twice, nothing is lost"
    assert [at for at, _ in rows] == sorted({at for at, _ in rows})
    _, told = rows[0]
    assert told["machine"]["available"] > 0  # type: ignore[index]
    assert "llamacpp:requests_processing" in told["engine"]  # type: ignore[operator]


def test_an_engine_that_is_gone_leaves_readings_of_the_machine(config: Config) -> None:
    watched = Telemetry(config, "http://127.0.0.1:9", {})
    watched.read()
    ((_, told),) = watched.take()
    assert told["engine"] == {}
    assert told["machine"]["available"] > 0  # type: ignore[index]


def test_a_stamp_carries_an_even_choice_of_many_readings(config: Config) -> None:
    watched = Telemetry(config, "http://127.0.0.1:9", {})
    for _ in range(3):
        watched.read()
    watched._readings *= 100
    stamp = watched.stamp(canary(50.0, []))
    assert 30 <= len(stamp.during) <= 100
    assert stamp.after is not None
    assert stamp.canary and stamp.canary.value == 50.0


def test_a_levels_power_is_the_mean_of_its_own_readings(config: Config) -> None:
    watched = Telemetry(config, "http://127.0.0.1:9", {})
    for at, watts in ((1.0, 30.0), (3.0, 80.0), (5.0, 90.0), (7.0, None)):
        watched._rows.append((at, {}))
        watched._readings.append(Reading(gpu=Gpu(power=watts)))
    begun = watched._begun
    assert watched.power(begun + 2) == 85.0, "the reading before the level is left out"
    assert watched.power(begun + 6) is None, "N/A is no 0"
    assert watched.power(begun + 8) is None


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        ((100, 10), (200, 60), 0.5),
        ((100, 10), (100, 10), None),
        ((0, 0), (400, 0), 0.0),
    ],
)
def test_the_cached_share_comes_from_vllms_counters(
    before: tuple[float, float], after: tuple[float, float], share: float | None
) -> None:
    names = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total")
    told = [dict(zip(names, values, strict=True)) for values in (before, after)]
    assert cached_share(*told) == share
    assert cached_share({}, {}) is None
