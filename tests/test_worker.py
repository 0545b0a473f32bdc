"""The worker with a real engine: llama.cpp's server and SmolLM2."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from bench import catalogue, config, planning, store, worker
from bench.catalogue import Workload
from bench.config import Config
from bench.errors import Fault
from bench.plan import Plan
from bench.running import lock, perform, upkeep
from bench.store import Run
from bench.text import words
from engines import process

pytestmark = pytest.mark.engine

TINY = Workload(
    id="tiny-1", name={"en": "Tiny", "zh-TW": "極小"}, prefill=(32,), decode=8, warmups=1,
    measured=2, answers=("zh-explain",), answer_tokens=16, levels=(1, 2), prompt_tokens=32,
    output_tokens=8, requests=4,
)  # fmt: skip
LONG = msgspec.structs.replace(TINY, id="long-1", levels=(1, 2), requests=200, output_tokens=64)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Config]:
    """A store of its own; whatever worker a test started is gone afterwards."""
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path / "var"))
    monkeypatch.setenv("SPARK_COMPARE_IDLE_SECONDS", "0.5")
    yield config.read()
    for left in workers(tmp_path):
        with suppress(psutil.NoSuchProcess):
            left.terminate()
    psutil.wait_procs(workers(tmp_path), timeout=30)
    process.stop_strays(tmp_path / "var")


def workers(var: Path) -> list[psutil.Process]:
    """Every process whose environment names this test's folder, engines included."""
    found = []
    for candidate in psutil.process_iter(["cmdline"]):
        try:
            ours = str(var) in candidate.environ().get("SPARK_COMPARE_VAR", "")
        except psutil.Error:
            continue
        if ours and candidate.pid != os.getpid():
            found.append(candidate)
    return found


def plan(settings: Config, workload: Workload = TINY) -> Plan:
    made = planning.plan_for(
        catalogue.load(), settings, engine="llama.cpp-local", model="smollm2-135m",
        workload="demo-1", seed=7,
    )  # fmt: skip
    prompts = tuple(prompt for prompt in made.prompts if prompt.id in workload.answers)
    return msgspec.structs.replace(made, workload=workload, prompts=prompts)


def until(settings: Config, run: str, wanted: Callable[[Run], bool], seconds: float = 120) -> Run:
    """Wait for a run to be as wanted; a dead end says what it was."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with store.opened(settings.database) as db:
            (row,) = store.load(db, [run])
        if wanted(row):
            return row
        time.sleep(0.05)
    raise AssertionError(f"still {row.state}: {row.fault}\n{_log(settings)}")


def _log(settings: Config) -> str:
    return "\n".join(path.read_text()[-3000:] for path in settings.logs.glob("*.log"))


def ended(run: Run) -> bool:
    return not run.live


def measuring(settings: Config, level: str) -> Callable[[Run], bool]:
    """Whether this level is being measured."""

    def now(run: Run) -> bool:
        with store.opened(settings.database) as db:
            events = [e.data["name"] for e in store.events(db, run.id) if e.kind == "level"]
        return level in events[-1:]

    return now


def levels(settings: Config, run: str) -> list[str]:
    with store.opened(settings.database) as db:
        return [level.name for level in store.levels(db, run)]


def engines_of(settings: Config) -> list[psutil.Process]:
    return [p for p in workers(settings.var) if "engines.llama_cpp_local" in command(p)]


def benches(settings: Config) -> list[psutil.Process]:
    return [p for p in workers(settings.var) if "bench.worker" in command(p)]


def command(found: psutil.Process) -> list[str]:
    try:
        return found.cmdline()
    except psutil.Error:
        return []


def test_a_run_goes_from_queued_to_done_and_leaves_no_process(settings: Config) -> None:
    run = worker.submit(settings, plan(settings))
    row = until(settings, run, ended)
    assert (row.state, row.fault) == ("done", None)
    with store.opened(settings.database) as db:
        kept = store.levels(db, run)
        (answer,) = store.answers(db, run)
        states = [e.data["state"] for e in store.events(db, run) if e.kind == "state"]
        samples = store.samples(db, run, 3)
    assert [level.name for level in kept] == ["pp32", "tg8", "c1", "c2"]
    assert [(level.ok, level.failed) for level in kept] == [(2, 0), (2, 0), (4, 0), (4, 0)]
    assert [level.prompt_tokens and level.prompt_tokens.mean for level in kept] == [32, 64, 32, 32]
    assert all(sample.output_tokens == 8 for sample in samples)
    assert len({sample.id for sample in samples}) == 4
    assert answer.sample.ok
    assert states == ["queued", "preparing", "loading", "measuring", "judging", "done"]
    assert row.facts["slots"] == plan(settings).recipe.slots
    assert row.facts["tokenizer"] == "engine"
    assert row.facts["load_seconds"] > 0
    until(settings, run, lambda _: not workers(settings.var))


def test_two_runs_at_once_are_done_one_after_the_other(settings: Config) -> None:
    first = worker.submit(settings, plan(settings))
    second = worker.submit(settings, plan(settings))
    one, two = until(settings, first, ended), until(settings, second, ended)
    assert (one.state, two.state) == ("done", "done")
    assert one.finished and two.started and one.finished <= two.started


def test_cancel_in_mid_sweep_keeps_what_was_finished(settings: Config) -> None:
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    with store.opened(settings.database) as db:
        store.cancel(db, run)
    row = until(settings, run, ended)
    assert row.state == "cancelled"
    assert levels(settings, run)[:2] == ["pp32", "tg8"]
    assert not engines_of(settings)


def test_an_engine_that_dies_in_mid_sweep_fails_the_run_and_says_so(settings: Config) -> None:
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    (engine,) = engines_of(settings)
    engine.send_signal(signal.SIGKILL)
    row = until(settings, run, ended)
    assert row.state == "failed"
    assert row.fault and row.fault.code == "diagnosis.exit_killed.cause"
    assert "dmesg" in words("en").fault(row.fault), "and what to do"
    assert levels(settings, run)[:2] == ["pp32", "tg8"]


def test_a_killed_worker_leaves_an_interrupted_run_and_the_next_one_cleans_up(
    settings: Config,
) -> None:
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    (engine,) = engines_of(settings)
    (killed,) = benches(settings)
    killed.send_signal(signal.SIGKILL)
    killed.wait(10)
    following = worker.submit(settings, plan(settings))
    assert until(settings, following, ended).state == "done"
    row = until(settings, run, ended)
    assert row.state == "interrupted"
    assert levels(settings, run) == ["pp32", "tg8"]
    assert not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE


def test_a_worker_that_is_told_to_leave_stops_its_engine(settings: Config) -> None:
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, measuring(settings, "c1"))
    (told,) = benches(settings)
    told.terminate()
    told.wait(30)
    assert until(settings, run, ended).state == "interrupted"
    assert not engines_of(settings)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 4 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_full_disk_fails_the_run_and_keeps_what_was_finished(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(small_disk))
    settings = config.read()
    with store.opened(settings.database) as db:
        run = store.submit(db, plan(settings, LONG))
        claimed = store.claim(db)
    upkeep.begin(settings)
    rest = small_disk / "somebody-elses-file"
    between = store.save_level

    def fill(*args: Any) -> None:
        between(*args)
        with suppress(OSError), rest.open("wb") as file:
            while True:
                file.write(bytes(4096))

    monkeypatch.setattr(store, "save_level", fill)  # the disk fills up once a level is stored
    assert claimed
    perform.perform(settings, claimed)
    with store.opened(settings.database) as db:
        (row,) = store.load(db, [run])
        kept = store.levels(db, run)
    assert (row.state, row.fault) == ("failed", Fault(code="disk_full"))
    assert [level.name for level in kept] == ["pp32"]
    assert not list((settings.var / "engines").glob("*.json"))


def test_eight_calls_for_a_worker_give_one(settings: Config) -> None:
    for _ in range(8):
        worker.ensure(settings)
    run = worker.submit(settings, plan(settings, LONG))
    until(settings, run, lambda row: row.state == "measuring" and len(benches(settings)) == 1)


def test_the_lock_is_free_when_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "worker.lock"
    code = (
        "import sys, time; from pathlib import Path; from bench.running import lock\n"
        "with lock.held(Path(sys.argv[1])) as mine: print(mine, flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, cwd=config.ROOT
    )
    assert holder.stdout and holder.stdout.readline() == "True\n"
    assert not lock.is_free(path)
    holder.kill()
    holder.communicate(timeout=10)
    assert lock.is_free(path)
