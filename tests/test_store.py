import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlite_utils import Database

from bench import store
from bench.catalogue import Workload
from bench.config import ROOT
from bench.errors import BenchError, Fault
from bench.plan import Plan
from bench.sample import Sample
from bench.store import Answer
from bench.summary import LevelSummary, Quantiles
from engines import Recipe

WORKLOAD = Workload(
    id="tiny-1", name={"en": "Tiny", "zh-TW": "極小"}, prefill=(32,), decode=8, warmups=1,
    measured=2, answers=(), answer_tokens=16, levels=(1, 2), prompt_tokens=32, output_tokens=8,
    requests=4,
)  # fmt: skip
PLAN = Plan(
    title="m · e", model="m", model_name="M", artifact=None, engine="endpoint",
    recipe=Recipe(engine="endpoint", model="m"), workload=WORKLOAD, prompts=(), seed=1,
)  # fmt: skip
NOTHING = Quantiles(n=0)
LEVEL = LevelSummary(
    kind="sweep", name="c2", concurrency=2, asked=4, ok=3, failed=1, duration=2.5,
    peak_concurrency=2, ttfr=NOTHING, ttft=Quantiles(n=3, p50=0.25, worst=0.5), ttfa=NOTHING,
    e2e=NOTHING, tpot=NOTHING, gap=NOTHING, queued=NOTHING, throughput=12.5,
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bench.db"


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    with store.opened(path) as db:
        yield db


def test_a_plan_comes_back_as_it_was_submitted(db: Database) -> None:
    run = store.submit(db, PLAN)
    (loaded,) = store.load(db, [run])
    assert loaded.plan == PLAN
    assert loaded.state == "queued"
    assert loaded.live


def test_start_pressed_twice_is_one_run(db: Database) -> None:
    assert store.submit(db, PLAN, "form-1") == store.submit(db, PLAN, "form-1")
    assert store.submit(db, PLAN, "form-2") != store.submit(db, PLAN, "form-1")
    assert len(store.runs(db)) == 2


def test_runs_are_claimed_in_the_order_of_submitting_and_once_each(db: Database) -> None:
    first, second = store.submit(db, PLAN), store.submit(db, PLAN)
    claimed = [store.claim(db), store.claim(db), store.claim(db)]
    assert [run and run.id for run in claimed] == [first, second, None]


def test_two_processes_never_claim_the_same_run(db: Database, path: Path) -> None:
    submitted = {store.submit(db, PLAN) for _ in range(40)}
    code = (
        "import sys; from pathlib import Path; from bench import store\n"
        "with store.opened(Path(sys.argv[1])) as db:\n"
        "    while run := store.claim(db): print(run.id)"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    claimed = [child.communicate(timeout=60)[0].split() for child in children]
    assert sorted(claimed[0] + claimed[1]) == sorted(submitted)


def test_a_link_gives_its_runs_in_its_order_without_unknown_ids_or_repeats(db: Database) -> None:
    first, second = store.submit(db, PLAN), store.submit(db, PLAN)
    loaded = store.load(db, [second, "nothere", first, second, "'; drop table runs"])
    assert [run.id for run in loaded] == [second, first]
    assert store.load(db, []) == []


def test_cancel_ends_a_queued_run_and_asks_a_running_one(db: Database) -> None:
    queued, running = store.submit(db, PLAN), store.submit(db, PLAN)
    claimed = store.claim(db)
    assert claimed and claimed.id == queued
    store.cancel(db, running)
    store.cancel(db, queued)
    assert [run.state for run in store.load(db, [queued, running])] == ["preparing", "cancelled"]
    assert store.cancelling(db, queued)
    assert not store.cancelling(db, running)


def test_cancel_of_a_run_that_has_ended_changes_nothing(db: Database) -> None:
    run = store.submit(db, PLAN)
    store.enter(db, run, "done")
    store.cancel(db, run)
    assert store.load(db, [run])[0].state == "done"


def test_running_runs_become_interrupted_and_keep_their_levels(db: Database) -> None:
    run, waiting = store.submit(db, PLAN), store.submit(db, PLAN)
    store.claim(db)
    store.enter(db, run, "measuring")
    store.save_level(db, run, LEVEL, [Sample(id="1", sent=0.0)])
    assert store.interrupt(db) == [run]
    assert store.load(db, [run])[0].state == "interrupted"
    assert store.load(db, [waiting])[0].state == "queued"
    assert store.levels(db, run) == [LEVEL]


def test_levels_samples_answers_and_telemetry_come_back_as_saved(db: Database) -> None:
    run = store.submit(db, PLAN)
    samples = [
        Sample(id="a", sent=0.0, text="繁體", output_tokens=2),
        Sample(id="b", sent=1.5, error="HTTP 500", error_kind="http"),
    ]
    store.save_level(db, run, LEVEL, samples)
    store.save_level(db, run, LEVEL)
    answer = Answer(prompt="zh", repeat=1, language="zh-TW", question="？", sample=samples[0])
    store.save_answer(db, run, answer)
    store.save_answer(db, run, answer)
    store.save_telemetry(db, run, [(1.0, {"available": 5}), (0.5, {"available": 6})])
    assert store.levels(db, run) == [LEVEL, LEVEL]
    assert store.samples(db, run, 0) == samples
    assert store.samples(db, run, 1) == []
    assert store.answers(db, run) == [answer]
    assert store.telemetry(db, run) == [(0.5, {"available": 6}), (1.0, {"available": 5})]


def test_facts_are_added_and_learnt_again(db: Database) -> None:
    run = store.submit(db, PLAN)
    store.learn(db, run, {"slots": 4, "version": "1"})
    store.learn(db, run, {"version": "2"})
    assert store.load(db, [run])[0].facts == {"slots": 4, "version": "2"}


def test_a_failed_run_says_why_and_each_change_of_state_is_an_event(db: Database) -> None:
    run = store.submit(db, PLAN)
    store.claim(db)
    fault = Fault(code="disk_full")
    store.fail(db, run, fault)
    assert store.load(db, [run])[0].fault == fault
    events = store.events(db, run)
    assert [event.data["state"] for event in events] == ["queued", "preparing", "failed"]
    assert store.events(db, run, after=events[-1].id) == []


def test_a_database_from_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    with store.opened(path) as db:
        db.execute(
            "insert into _sqlite_migrations (migration_set, name, applied_at) "
            "values ('spark-compare', 'm999_future', 'then')"
        )
    before = path.read_bytes()
    with pytest.raises(BenchError) as caught, store.opened(path):
        pass
    assert caught.value.fault == Fault(
        code="database_newer", fields={"path": "bench.db", "change": "m999_future"}
    )
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"these are somebody's holiday notes\n" * 100)
    before = path.read_bytes()
    with pytest.raises(BenchError) as caught, store.opened(path):
        pass
    assert caught.value.fault.code == "database_broken"
    assert path.read_bytes() == before


def test_a_write_that_fails_half_way_leaves_nothing(db: Database) -> None:
    run = store.submit(db, PLAN)
    db.execute(f"pragma max_page_count = {db.execute('pragma page_count').fetchone()[0] + 2}")
    many = [Sample(id=str(n), sent=0.0, text="很長的回答" * 50) for n in range(200)]
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.save_level(db, run, LEVEL, many)
    assert store.levels(db, run) == []


def test_a_backup_is_whole_while_the_store_is_open(db: Database, tmp_path: Path) -> None:
    run = store.submit(db, PLAN)
    store.backup(db, tmp_path / "copy.db")
    with store.opened(tmp_path / "copy.db") as copy:
        assert [found.id for found in store.runs(copy)] == [run]


def test_any_sqlite_tool_reads_the_views_with_units_in_their_columns(path: Path) -> None:
    with store.opened(path) as db:
        run = store.submit(db, PLAN)
        store.save_level(db, run, LEVEL)
    plain = sqlite3.connect(path)
    row = plain.execute(
        "select run, ttft_p50_s, ttft_worst_s, throughput_tokens_per_s, requests_failed "
        "from v_levels join v_runs on v_runs.id = run"
    ).fetchone()
    plain.close()
    assert row == (run, 0.25, 0.5, 12.5, 1)


def test_writers_in_two_processes_lose_no_row(db: Database, path: Path) -> None:
    run = store.submit(db, PLAN)
    code = (
        "import sys; from pathlib import Path; from bench import store\n"
        "for n in range(150):\n"
        "    with store.opened(Path(sys.argv[1])) as db:\n"
        "        store.event(db, sys.argv[2], 'n', {'n': n})"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path), run], cwd=ROOT)
    for n in range(150):
        store.event(db, run, "n", {"n": n})
        store.events(db, run)
    assert child.wait(60) == 0
    assert len(store.events(db, run)) == 301
