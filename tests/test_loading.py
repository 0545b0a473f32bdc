from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.running import loading
from bench.running.loading import Loaded
from engines.stages import Progress
from tests.conftest import StartEngine
from tests.servers import Answer, openai, server

LOADING = (503, "application/json", '{"error": {"code": 503, "message": "Loading model"}}')


class Start:
    """A start whose clock a test moves: each pause does the next thing that is to happen."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.log.touch()
        self.now = 0.0
        self.told: list[tuple[str, float, str]] = []
        self.steps: list[Callable[[], None]] = []
        self.death: BenchError | None = None
        self.server: Callable[[str], Answer] = lambda path: LOADING

    def after(self, seconds: float, text: str = "", then: Callable[[], None] | None = None) -> None:
        """Add what happens in one pause."""

        def step() -> None:
            self.now += seconds
            with self.log.open("a") as file:
                file.write(text)
            if then:
                then()

        self.steps.append(step)

    def becomes(self, server: Callable[[str], Answer]) -> Callable[[], None]:
        def change() -> None:
            self.server = server

        return change

    def wait(self, check: Callable[[], None] = lambda: None) -> Loaded:
        def tell(progress: Progress, seconds: float, line: str) -> None:
            self.told.append((progress.stage, seconds, line))

        steps = iter(self.steps)
        with server(lambda path: self.server(path)) as url:
            return loading.wait_ready(
                url, "tiny", {}, engine="vllm", log=self.log, died=lambda: self.death, tell=tell,
                check=check, clock=lambda: self.now, pause=lambda seconds: next(steps)(),
            )  # fmt: skip


@pytest.fixture
def start(tmp_path: Path) -> Start:
    return Start(tmp_path / "run.log")


def test_a_start_tells_its_stages_and_keeps_its_figures(start: Start) -> None:
    start.after(10, "INFO Starting to load model tiny\n")
    start.after(90, "Loading weights took 88.5 seconds\n")
    start.after(5, "GPU KV cache size: 849,942 tokens\n", start.becomes(openai))
    loaded = start.wait()
    assert loaded.seconds == 105
    assert loaded.progress.facts.weights_seconds == 88.5
    assert loaded.progress.facts.kv_tokens == 849_942  # written as it became ready, and not missed
    assert [(stage, seconds) for stage, seconds, _ in start.told] == [
        ("weights", 10),
        ("weights", 100),
        ("cache", 105),
    ]


def test_a_long_start_that_goes_on_is_not_given_up(start: Start) -> None:
    for shard in range(15):
        start.after(500, f"shard {shard}\n")
    start.after(500, "", start.becomes(openai))
    assert start.wait().seconds == 16 * 500


def test_a_bar_without_line_ends_is_progress(start: Start) -> None:
    for share in range(10):
        start.after(500, f"\rloading {share}0%")
    start.after(1, "", start.becomes(openai))
    assert start.wait().seconds == 5001
    assert {stage for stage, _, _ in start.told} == {"starting"}, "its time goes on"


def test_it_is_given_up_for_lack_of_progress_with_the_last_line(start: Start) -> None:
    start.after(5000, "Capturing CUDA graphs\n")
    start.after(599)
    start.after(2)
    start.after(1)
    with pytest.raises(BenchError) as caught:
        start.wait()
    assert caught.value.fault.code == "engine_stuck"
    assert caught.value.fault.fields == {
        "engine": "vllm",
        "minutes": 10,
        "log": "Capturing CUDA graphs",
    }
    assert start.now == 5601


def test_an_engine_that_dies_ends_the_waiting(start: Start) -> None:
    death = BenchError("engine_died", engine="vllm", status=1)

    def die() -> None:
        start.death = death

    start.after(3, "RuntimeError: no\n", die)
    with pytest.raises(BenchError) as caught:
        start.wait()
    assert caught.value is death


def test_a_cancel_ends_the_waiting(start: Start) -> None:
    class Cancelled(Exception):
        pass

    def check() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        start.wait(check)


def test_alive_is_not_ready(start: Start) -> None:
    """Health comes first, then the model's name, then a completion: only then is it ready."""

    def without(*paths: str) -> Callable[[str], Answer]:
        return lambda path: LOADING if path in paths else openai(path)

    chat, models = "/v1/chat/completions", "/v1/models"
    start.after(1, "", start.becomes(without(models, chat)))
    start.after(1, "", start.becomes(without(chat)))
    start.after(1, "", start.becomes(openai))
    assert start.wait().seconds == 3


@pytest.mark.engine
def test_a_real_engine_tells_its_slots(demo_engine: StartEngine) -> None:
    engine = demo_engine("smollm2-135m")
    loaded = loading.wait_ready(
        engine.url, "smollm2-135m", {}, engine="llama.cpp-local", log=engine.log_path,
        died=lambda: None, tell=lambda *_: None, check=lambda: None,
    )  # fmt: skip
    assert (loaded.progress.facts.slots, loaded.progress.facts.context) == (4, 1024)
