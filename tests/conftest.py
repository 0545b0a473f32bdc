"""What several tests use. Real engines are started once a session and always ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import catalogue, probe
from bench.catalogue import Catalogue
from bench.config import Config
from bench.planning import plan_for
from engines import process
from engines.launches import launch_for
from engines.process import Process

StartEngine = Callable[[str], Process]


def config_in(folder: Path) -> Config:
    """Settings of a machine with nothing on it but the demo packages."""
    return Config(
        var=folder / "var",
        model_roots=(folder / "models", folder / "var" / "models"),
        llama_server=None,
        floor_gib=0.1,
        idle_seconds=1,
        proc=Path("/proc"),
        docker_host=f"unix://{folder}/docker.sock",
    )


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return config_in(tmp_path)


@pytest.fixture(scope="session")
def known() -> Catalogue:
    return catalogue.load()


@pytest.fixture(scope="session")
def demo_engine(
    known: Catalogue, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartEngine]:
    """``demo_engine("smollm2-135m")`` is llama.cpp's real server with that model, ready."""
    config = config_in(tmp_path_factory.mktemp("engines"))
    running: dict[str, Process] = {}

    def start(model: str) -> Process:
        if model not in running:
            plan = plan_for(known, config, engine="llama.cpp-local", model=model, workload="demo-1")
            engine = process.start(launch_for(plan.recipe), model, config.var)
            running[model] = engine
            until(lambda: probe.ready(engine.url, model), engine)
        return running[model]

    yield start
    for engine in running.values():
        engine.stop()


@pytest.fixture(scope="session")
def llama_url(demo_engine: StartEngine) -> str:
    """The base URL of a real llama.cpp server with SmolLM2 and four slots of 1024 tokens."""
    return demo_engine("smollm2-135m").url


def until(true: Callable[[], bool], engine: Process | None = None, limit: float = 120) -> None:
    """Wait for something to become true; fail when it does not or the engine has died."""
    deadline = time.monotonic() + limit
    while not true():
        if engine and engine.poll():
            pytest.fail(f"the engine ended:\n{engine.log_path.read_text()}")
        if time.monotonic() > deadline:
            pytest.fail("it did not become true in time")
        time.sleep(0.05)
