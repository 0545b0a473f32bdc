"""Whole runs in containers: a real Docker engine, a real worker, llama.cpp's real server.

The Docker engine is one of `spark.py`, so that the catalogue's own launch is used as it is, request
for GPUs included. After each test no container may be left.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import docker as sdk
import msgspec
import psutil
import pytest

from bench import catalogue, config, planning, store, worker
from bench.catalogue import Workload
from bench.config import Config
from bench.errors import Fault
from bench.machine import seen
from bench.plan import Plan
from bench.running import roster
from tests.conftest import until as until_true
from tests.spark import LLAMA_CPP, clear, containers, spark, spark_host  # noqa: F401
from tests.test_worker import LONG, TINY, benches, ended, levels, measuring, until, workers

pytestmark = [pytest.mark.docker, pytest.mark.engine]
GIB = 1024**3


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A stand-in ``/proc`` with 100 GiB available."""
    folder = tmp_path / "proc"
    folder.mkdir()
    memory(folder, 100)
    return folder


def memory(folder: Path, available: float) -> None:
    part = folder / "meminfo.part"
    part.write_text(
        f"MemTotal: {128 * GIB // 1024} kB\nMemFree: {int(available * GIB) // 1024} kB\n"
        f"MemAvailable: {int(available * GIB) // 1024} kB\nCached: 0 kB\nShmem: 0 kB\n"
        "SwapTotal: 0 kB\nSwapFree: 0 kB\n"
    )
    part.replace(folder / "meminfo")


@contextmanager
def installed(
    folder: Path, proc: Path, host: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Config]:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(folder / "var"))
    monkeypatch.setenv("SPARK_COMPARE_IDLE_SECONDS", "0.5")
    monkeypatch.setenv("SPARK_COMPARE_PROC", str(proc))
    monkeypatch.setenv("DOCKER_HOST", host)
    yield config.read()
    for left in workers(folder):
        with suppress(psutil.NoSuchProcess):
            left.terminate()
    psutil.wait_procs(workers(folder), timeout=30)


@pytest.fixture
def settings(
    spark_host: str,  # noqa: F811
    tmp_path: Path,
    proc: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Config]:
    """A store of its own on the stand-in Spark; no worker and no container is left behind."""
    with installed(tmp_path, proc, spark_host, monkeypatch) as made:
        yield made
    assert clear(spark_host) == [], "a container was left"


@pytest.fixture
def own_spark(
    request: pytest.FixtureRequest, tmp_path: Path, proc: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Config, Path]]:
    """The same with a Docker engine that the test may end."""
    cache = Path(request.config.cache.mkdir("rootfs"))
    with tempfile.TemporaryDirectory(prefix="spark-") as name:
        folder = Path(name)
        with (
            spark(folder, cache, "--live-restore") as host,
            installed(tmp_path, proc, host, monkeypatch) as made,
        ):
            yield made, folder


def plan(settings: Config, workload: Workload = TINY, **changes: object) -> Plan:
    """The catalogue's launch of SmolLM2 on llama.cpp in its container."""
    made = planning.plan_for(
        catalogue.load(), settings, engine="llama.cpp", model="smollm2-135m", workload="demo-1",
        seed=7,
    )  # fmt: skip
    return msgspec.structs.replace(made, workload=workload, prompts=(), **changes)


def container(settings: Config, run: str) -> sdk.models.containers.Container:
    with closing(sdk.DockerClient(base_url=settings.docker_host)) as client:
        return client.containers.get(f"spark-compare-{run}")


def events(settings: Config, run: str, kind: str) -> list[dict[str, object]]:
    with store.opened(settings.database) as db:
        return [dict(event.data) for event in store.events(db, run) if event.kind == kind]


def engines(settings: Config) -> list[roster.Engine]:
    with store.opened(settings.database) as db:
        return roster.of(db)


def test_a_run_in_a_container_keeps_all_that_repeating_it_needs(settings: Config) -> None:
    run = worker.submit(settings, plan(settings))
    row = until(settings, run, ended)
    assert (row.state, row.fault) == ("done", None)
    facts = row.facts
    assert facts["image"] == LLAMA_CPP and facts["image_id"].startswith("sha256:")
    assert facts["engine_version"], "asked of the engine itself"
    assert facts["command"].startswith("docker run ") and "--gpus all" in facts["command"]
    assert facts["launch"]["argv"] and facts["launch"]["mounts"][0]["read_only"] is True
    assert facts["host"]["memory"] == 128 * GIB
    assert 0 < facts["round_trip"] < 5
    assert facts["load"]["slots"] == facts["slots"]
    assert "warm" not in facts
    told = events(settings, run, "stage")
    assert told and {"stage", "share", "eta_s", "memory_gib", "text"} <= set(told[-1])
    assert containers(settings.docker_host) == [] and engines(settings) == []
    with store.opened(settings.database) as db:
        assert seen.presence(seen.load(db, "local"), LLAMA_CPP) == "here"
        assert seen.presence(seen.load(db, "local"), "nvcr.io/nvidia/vllm:1") == "missing"
        assert seen.size(db, LLAMA_CPP) == facts["image_bytes"]


def test_a_container_killed_in_mid_sweep_fails_the_run_with_the_reason(settings: Config) -> None:
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    container(settings, run).kill()
    row = until(settings, run, ended)
    assert row.fault and row.fault.code == "diagnosis.exit_killed.cause"
    assert levels(settings, run)[:2] == ["pp32", "tg8"]
    assert engines(settings) == []


def test_a_container_removed_by_hand_fails_the_run_and_says_so(settings: Config) -> None:
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    container(settings, run).remove(force=True)
    row = until(settings, run, ended)
    assert row.fault == Fault(code="docker_gone")
    assert engines(settings) == []


def test_memory_at_its_floor_stops_the_container_and_the_run_says_so(
    settings: Config, proc: Path
) -> None:
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    memory(proc, 3.5)
    row = until(settings, run, ended)
    assert row.fault and row.fault.code == "memory_floor"
    assert row.fault.fields == {"available": "3.5", "floor": "4.0"}
    assert containers(settings.docker_host) == []


def test_two_people_get_their_runs_one_after_the_other(settings: Config) -> None:
    most = [0]
    over = threading.Event()

    def count() -> None:
        while not over.wait(0.05):
            most[0] = max(most[0], len(containers(settings.docker_host)))

    thread = threading.Thread(target=count)
    thread.start()
    runs = [worker.submit(settings, plan(settings, owner=who)) for who in ("ann", "ben")]
    first, second = (until(settings, run, ended) for run in runs)
    over.set()
    thread.join()
    assert (first.state, second.state) == ("done", "done")
    assert first.finished and second.started and first.finished <= second.started
    assert most == [1], "never two containers at once"


def test_what_a_killed_worker_left_is_shown_and_ended_on_request(settings: Config) -> None:
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    (killed,) = benches(settings)
    killed.send_signal(signal.SIGKILL)
    killed.wait(10)
    assert len(containers(settings.docker_host)) == 1
    with store.opened(settings.database) as db:
        (left,) = roster.idle(db, worked=())
        assert (left.run, left.container) == (run, f"spark-compare-{run}")
        assert roster.idle(db, worked=("local",)) == [], "a run that goes on is not offered"
        roster.ask_stop(db, left.run)
    worker.ensure(settings)
    assert until(settings, run, ended).state == "interrupted"
    until_true(lambda: containers(settings.docker_host) == [], limit=60)
    until_true(lambda: engines(settings) == [], limit=30)


def test_an_engine_is_kept_on_request_and_the_next_run_of_the_same_launch_uses_it(
    settings: Config, proc: Path
) -> None:
    first = worker.submit(settings, plan(settings, keep_running=True))
    assert until(settings, first, ended).state == "done"
    until_true(lambda: [one.used_by for one in engines(settings)] == [None], limit=30)
    assert containers(settings.docker_host) == [f"spark-compare-{first}"]
    second = worker.submit(settings, plan(settings, keep_running=True))
    row = until(settings, second, ended)
    assert (row.state, row.facts["warm"]) == ("done", first)
    assert "load_seconds" not in row.facts, "nothing was loaded, so there is no such time"
    assert row.facts["container"] == f"spark-compare-{first}"
    until_true(lambda: [one.used_by for one in engines(settings)] == [None], limit=30)
    memory(proc, 1)  # also when nobody measures, the floor holds
    until_true(lambda: containers(settings.docker_host) == [], limit=30)
    until_true(lambda: {"code": "kept_stopped"} in events(settings, first, "note"), limit=30)


def test_another_launch_makes_the_kept_engine_go_first(settings: Config) -> None:
    first = worker.submit(settings, plan(settings, keep_running=True))
    until(settings, first, ended)
    changed = plan(settings)
    changed = msgspec.structs.replace(
        changed, recipe=msgspec.structs.replace(changed.recipe, context=2048)
    )
    second = worker.submit(settings, changed)
    row = until(settings, second, ended)
    assert row.state == "done" and "warm" not in row.facts
    assert containers(settings.docker_host) == []


def test_a_kept_engine_outlives_its_worker_and_is_stopped_from_the_list(settings: Config) -> None:
    run = worker.submit(settings, plan(settings, keep_running=True))
    until(settings, run, ended)
    until_true(lambda: [one.used_by for one in engines(settings)] == [None], limit=30)
    (told,) = benches(settings)
    told.terminate()
    told.wait(30)
    worker.ensure(settings)
    until_true(lambda: len(benches(settings)) == 1, limit=30)
    assert containers(settings.docker_host) == [f"spark-compare-{run}"]
    with store.opened(settings.database) as db:
        (kept,) = roster.idle(db, worked=("local",))
        roster.ask_stop(db, kept.run)
    until_true(lambda: containers(settings.docker_host) == [], limit=60)
    until_true(lambda: benches(settings) == [], limit=30)  # nothing is kept: it may leave


def test_an_image_that_is_missing_is_fetched_only_when_somebody_was_asked(
    settings: Config,
) -> None:
    missing = plan(settings)
    recipe = msgspec.structs.replace(missing.recipe, image="127.0.0.1:1/llama:none")
    missing = msgspec.structs.replace(missing, recipe=recipe)
    unasked = worker.submit(settings, msgspec.structs.replace(missing, fetch_image=False))
    asked = worker.submit(settings, missing)
    row = until(settings, unasked, ended)
    assert row.fault == Fault(code="image_not_asked", fields={"image": "127.0.0.1:1/llama:none"})
    row = until(settings, asked, ended)
    assert row.fault and row.fault.code == "docker_no_network"


def test_a_model_drive_that_is_gone_when_the_engine_starts_is_said_so(
    settings: Config, tmp_path: Path
) -> None:
    drive = tmp_path / "nas"
    drive.mkdir()
    made = plan(settings)
    file = drive / Path(made.recipe.path).name
    shutil.copy(made.recipe.path, file)
    recipe = msgspec.structs.replace(made.recipe, path=str(file), root=str(drive))
    run = worker.submit(settings, msgspec.structs.replace(made, recipe=recipe))
    until(settings, run, lambda row: row.state != "queued")
    shutil.rmtree(drive)
    row = until(settings, run, ended)
    assert row.fault and row.fault.code == "docker_mount_missing"
    assert row.fault.fields["path"] == str(drive)


def test_a_daemon_that_dies_in_mid_run_fails_the_run_and_its_container_goes_later(
    own_spark: tuple[Config, Path], request: pytest.FixtureRequest
) -> None:
    settings, folder = own_spark
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    daemon = psutil.Process(int((folder / "dockerd.pid").read_text()))
    daemon.send_signal(signal.SIGKILL)
    row = until(settings, run, ended)
    assert row.fault and row.fault.code in ("docker_down", "docker_missing")
    assert levels(settings, run)[:2] == ["pp32", "tg8"]
    cache = Path(request.config.cache.mkdir("rootfs"))
    daemon.wait(30)
    (folder / "docker.sock").unlink()
    with spark(folder, cache, "--live-restore") as host:  # somebody starts Docker again
        following = worker.submit(settings, plan(settings))
        row = until(settings, following, ended)
        assert (row.state, row.fault) == ("done", None)
        assert containers(host) == [], "what was left of the first run is gone too"
