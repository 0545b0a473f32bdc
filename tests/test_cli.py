"""``python -m bench`` as a person types it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import config, store
from tests import examples


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    examples.fill(folder / "bench.db")
    return folder


def bench(
    var: Path, *words: str, language: str = "en_GB.UTF-8"
) -> subprocess.CompletedProcess[str]:
    env = {"SPARK_COMPARE_VAR": str(var), "SPARK_COMPARE_START_WORKER": "0", "LANG": language}
    return subprocess.run(
        [sys.executable, "-m", "bench", *words],
        cwd=config.ROOT, env=os.environ | env, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def ids(var: Path, state: str) -> list[str]:
    with store.opened(var / "bench.db") as db:
        return [run.id for run in store.runs(db) if run.state == state]


def test_list_has_every_run_with_its_state(var: Path) -> None:
    told = bench(var, "list")
    assert told.returncode == 0, told.stderr
    assert len(told.stdout.splitlines()) == 6
    assert f"{ids(var, 'failed')[0]}  failed" in told.stdout


def test_show_prints_the_headline_and_the_numbers_in_the_readers_language(var: Path) -> None:
    run = ids(var, "done")[0]
    english, chinese = bench(var, "show", run), bench(var, "show", run, language="zh_TW.UTF-8")
    assert english.returncode == 0, english.stderr
    assert "people" in english.stdout
    assert "人" in chinese.stdout
    assert "| --- |" in english.stdout


def test_show_json_is_everything_that_is_stored(var: Path) -> None:
    run = ids(var, "done")[0]
    told = json.loads(bench(var, "show", run, "--json").stdout)
    with store.opened(var / "bench.db") as db:
        levels, answers = store.levels(db, run), store.answers(db, run)
        samples = store.samples(db, run, 0)
    assert [level["name"] for level in told["levels"]] == [level.name for level in levels]
    assert len(told["levels"][0]["samples"]) == len(samples)
    assert [answer["prompt"] for answer in told["answers"]] == [a.prompt for a in answers]
    assert told["plan"]["workload"]["id"] == "demo-1"


def test_a_failed_run_shows_why(var: Path) -> None:
    told = bench(var, "show", ids(var, "failed")[0])
    assert told.returncode == 0
    assert len(told.stdout.splitlines()[0]) > 20


@pytest.mark.parametrize("command", ["show", "cancel"])
def test_an_unknown_run_is_a_sentence_and_not_a_traceback(var: Path, command: str) -> None:
    told = bench(var, command, "nothere")
    assert told.returncode == 1
    assert "no run with the id" in told.stderr
    assert "Traceback" not in told.stderr


def test_cancel_ends_a_queued_run(var: Path) -> None:
    (run,) = ids(var, "queued")
    assert bench(var, "cancel", run).returncode == 0
    assert run in ids(var, "cancelled")


def test_a_run_that_cannot_start_is_refused_before_it_is_queued(var: Path) -> None:
    before = ids(var, "queued")
    told = bench(var, "run", "--engine", "vllm", "--model", "gpt-oss-120b")
    assert told.returncode == 1
    assert told.stderr
    assert "Traceback" not in told.stderr
    assert ids(var, "queued") == before


@pytest.mark.engine
def test_run_queues_a_run_and_prints_its_id(tmp_path: Path) -> None:
    told = bench(
        tmp_path, "run", "--model", "smollm2-135m", "--engine", "llama.cpp-local",
        "--workload", "demo-1", "--no-wait",
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert ids(tmp_path, "queued") == [told.stdout.strip()]


def test_a_backup_opens_like_the_store(var: Path, tmp_path: Path) -> None:
    assert bench(var, "backup", str(tmp_path / "copy.db")).returncode == 0
    with store.opened(tmp_path / "copy.db") as db:
        assert len(store.runs(db)) == 6


def test_every_command_says_what_it_does(var: Path) -> None:
    told = bench(var, "--help")
    for command in ("run", "list", "show", "cancel", "worker", "backup", "plan", "diagnose"):
        assert f"\n    {command} " in told.stdout
