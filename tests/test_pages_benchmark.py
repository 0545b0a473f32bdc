"""The benchmark of the pages: its full store, its large file, and a small run of the real thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import crowded, imports, pages_benchmark, store
from bench.catalogue import Catalogue
from bench.kept import shelf
from bench.kept.shelf import Wanted


def test_a_crowded_store_holds_what_was_asked_for(tmp_path: Path, known: Catalogue) -> None:
    ids = crowded.fill(tmp_path / "bench.db", known, runs=20, samples=20 * 5 * 10)
    with store.opened(tmp_path / "bench.db") as db:
        assert shelf.listed(db, Wanted()).total == 20
        assert [run.id for run in shelf.listed(db, Wanted()).runs] == list(ids), "newest first"
        assert db.execute("select count(*) from samples").fetchone() == (1000,)
        assert len({run.model for run in store.runs(db)}) == 8
        assert len(store.levels(db, ids[0])) == 5 and len(store.answers(db, ids[0])) == 12


def test_the_large_file_is_one_that_guidellm_could_have_made(tmp_path: Path) -> None:
    file = tmp_path / "guidellm.json"
    crowded.guidellm(file, 2_000_000)
    assert 2_000_000 <= file.stat().st_size < 2_200_000
    found = imports.read(file, file.name)
    assert found.tool == "guidellm"
    (part,) = found.results[0].parts
    assert (part.concurrency, part.ok) == (8, 64)
    assert {number.metric: number.value for number in part.numbers if number.stat == "mean"}[
        "ttft"
    ] == pytest.approx(0.4)


def test_pages_are_set_beside_one_that_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--runs", "16", "--samples", "800", "--file-mb", "1", "--no-browser"]
    code = pages_benchmark.main(asked)
    told = capsys.readouterr().out
    assert code == ("All goals met." not in told)
    for page in ("Runs", "Run", "Compare, 8 runs"):
        assert f"server: {page} " in told
    assert told.count(" ×") == 3 and "one PNG" in told and "import of 1 MB" in told


def test_a_missed_goal_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = {"nothing": 0.01, "Runs": 0.5, "Run": 0.1}
    assert pages_benchmark._told("server", seconds, 0.3) == ["server: Runs 0.50 s"]
    assert "50.0 ×" in capsys.readouterr().out
