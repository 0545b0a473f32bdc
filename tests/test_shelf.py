"""The list of runs: searched and cut by SQLite; labels; deleted and brought back; over time."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from sqlite_utils import Database

from bench import store
from bench.catalogue import Catalogue
from bench.errors import BenchError
from bench.kept import labels, shelf, trend
from bench.kept.labels import Label
from bench.kept.shelf import Wanted
from bench.results import of_run
from bench.text import words
from bench.web import links
from tests import examples

EN = words("en")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bench.db"


def ended(db: Database, model: str, title: str, day: int, **facts: object) -> str:
    run = store.submit(db, examples.plan(model, title))
    store.learn(db, run, facts)
    store.enter(db, run, "done")
    db.execute(
        "update runs set created = ? where id = ?", (f"2026-11-{day:02}T08:00:00+00:00", run)
    )
    return run


def found(db: Database, **asked: str) -> list[str]:
    return [run.id for run in shelf.listed(db, Wanted(**asked)).runs]


def code(fault: pytest.ExceptionInfo[BenchError]) -> str:
    return fault.value.fault.code


def test_the_list_is_narrowed_searched_and_sorted(path: Path) -> None:
    with store.opened(path) as db:
        a, b, c = (ended(db, f"m{n}", f"Model {n}", n) for n in (1, 2, 3))
        live = store.submit(db, examples.plan("m1", "Model 1"))
        assert found(db) == [c, b, a] and live not in found(db)
        assert found(db, sort="oldest") == [a, b, c]
        assert found(db, model="m2") == [b]
        assert found(db, since="2026-11-02", until="2026-11-02") == [b]
        assert found(db, text="odel 3") == [c]
        assert found(db, text=f"{a}") == [a]
        assert found(db, text="100%_") == []
        labels.describe(db, a, "Model 1", "the old driver", ["driver", "blog"])
        labels.star(db, b, True)
        assert found(db, text="driver") == [a] == found(db, tag="blog")
        assert found(db, starred="1") == [b]
        assert labels.tags(db) == ["blog", "driver"]
        assert found(db, text="[") == [], "tags are words, not JSON"


def test_a_page_of_many_has_its_number_of_runs_and_knows_the_total(path: Path) -> None:
    with store.opened(path) as db:
        for number in range(25):
            ended(db, "m", f"Run {number:02}", number + 1)
        first, second = (shelf.listed(db, Wanted(), page) for page in (1, 2))
        assert (len(first.runs), len(second.runs), first.total) == (20, 5, 25)
        assert not {run.id for run in first.runs} & {run.id for run in second.runs}
        assert shelf.listed(db, Wanted(), page=99).runs == ()


def test_what_is_in_a_link_narrows_the_list_and_nonsense_does_not() -> None:
    asked = Wanted(text="smol", engine="vllm", sort="name")
    assert shelf.wanted(shelf.query(asked)) == asked
    assert shelf.wanted({"sort": "; drop table runs", "nothing": "x"}) == Wanted()
    assert len(shelf.wanted({"text": "x" * 10_000}).text) == 200
    assert shelf.day("2026-13-99") is None
    assert shelf.wanted({"since": "zzz", "until": "0"}) == Wanted()
    assert asked.narrowed == 1


def test_a_quote_in_a_filter_is_only_a_quote(path: Path) -> None:
    with store.opened(path) as db:
        ended(db, "m", "It's a 'run'", 1)
        assert len(found(db, text="'run'")) == 1
        assert found(db, model="' or 1=1 --") == []


def test_a_deleted_run_is_hidden_everywhere_and_comes_back(path: Path, known: Catalogue) -> None:
    with store.opened(path) as db:
        gone, stays = ended(db, "m1", "Gone", 1), ended(db, "m2", "Stays", 2)
        labels.delete(db, gone)
        assert found(db) == [stays]
        assert [run.id for run in store.runs(db)] == [stays]
        assert store.load(db, [gone]) == []
        assert links.newest(db) == [stays]
        assert gone not in links.selectable(db, known, EN, None)
        assert labels.of(db, [gone])[gone].deleted is not None
        assert set(shelf.options(db)["model"]) == {"m2"}
        labels.restore(db, gone)
        assert found(db) == [stays, gone]


def test_what_was_deleted_long_ago_is_removed_with_all_that_belongs_to_it(path: Path) -> None:
    ids = examples.fill(path)
    with store.opened(path) as db:
        labels.delete(db, ids["fast"])
        assert labels.purge(db) == []
        db.execute("update labels set deleted = '2026-01-01T00:00:00.000+00:00'")
        assert labels.purge(db) == [ids["fast"]]
        for table in ("runs", "levels", "samples", "answers", "events", "labels"):
            name = "id" if table == "runs" else "run"
            left = db.execute(f"select count(*) from {table} where {name} = ?", [ids["fast"]])
            assert left.fetchone() == (0,), table
        with pytest.raises(BenchError) as fault:
            labels.restore(db, ids["fast"])
        assert code(fault) == "run_gone"


def test_a_run_that_is_not_over_is_not_deleted(path: Path) -> None:
    with store.opened(path) as db:
        run = store.submit(db, examples.plan("m", "Live"))
        with pytest.raises(BenchError) as fault:
            labels.delete(db, run)
        assert code(fault) == "run_live"
        assert [live.id for live in store.live(db)] == [run]


def test_a_run_that_was_set_aside_is_found_when_asked_for(path: Path) -> None:
    with store.opened(path) as db:
        run = ended(db, "m", "Old", 1)
        labels.archive(db, run, True)
        assert found(db) == [] and found(db, archived="1") == [run]
        assert store.load(db, [run]), "its link works"
        labels.archive(db, run, False)
        assert found(db) == [run]


@pytest.mark.parametrize(
    ("title", "note", "tags", "fault"),
    [
        ("x" * 121, "", [], "run_title"),
        (" ", "", [], "run_title"),
        ("x", "n" * 2001, [], "run_note"),
        ("x", "", ["t" * 41], "run_tags"),
        ("x", "", [str(n) for n in range(13)], "run_tags"),
    ],
)
def test_what_is_too_long_is_refused_and_nothing_is_changed(
    path: Path, title: str, note: str, tags: list[str], fault: str
) -> None:
    with store.opened(path) as db:
        run = ended(db, "m", "As it was", 1)
        with pytest.raises(BenchError) as raised:
            labels.describe(db, run, title, note, tags)
        assert code(raised) == fault
        assert store.load(db, [run])[0].title.startswith("As it was") and labels.of(db, [run]) == {}


def test_two_people_who_label_one_run_both_count(path: Path) -> None:
    with store.opened(path) as one, store.opened(path) as other:
        run = ended(one, "m", "Shared", 1)
        labels.star(one, run, True)
        labels.describe(other, run, "Shared", "", [" a  b ", "a b", ""])
        assert labels.of(one, [run])[run] == Label(star=True, tags=("a b",))


def test_what_somebody_wrote_meanwhile_is_not_overwritten(path: Path) -> None:
    with store.opened(path) as db:
        run = ended(db, "m", "Shared", 1)
        opened = (store.load(db, [run])[0].title, labels.PLAIN)
        labels.describe(db, run, "Shared", "first", [], opened)
        for title, seen in (("Mine", opened), ("Shared", ("As it was", Label(note="first")))):
            with pytest.raises(BenchError) as fault:
                labels.describe(db, run, title, "second", [], seen)
            assert code(fault) == "run_changed"
        assert labels.of(db, [run])[run].note == "first"
        labels.star(db, run, True)
        labels.describe(db, run, "Mine", "third", [], ("Shared", Label(note="first")))
        assert store.load(db, [run])[0].title == "Mine"


def test_a_series_is_the_same_measured_again_and_a_change_of_version_is_drawn(
    path: Path, known: Catalogue
) -> None:
    with store.opened(path) as db:
        runs = [
            ended(db, "m", "M", day, engine_version=version)
            for day, version in ((1, "b1"), (2, "b1"), (3, "b2"))
        ]
        ended(db, "other", "O", 4)
        for run, speed in zip(runs, (50, 52, 70), strict=True):
            examples.measure(db, run, speed, 1000, levels=1)
        (last,) = store.load(db, runs[2:])
        series = trend.series(db, last)
        assert [moment.run for moment in series] == runs
        assert [moment.version for moment in series] == ["b1", "b1", "b2"]
        assert all(moment.alone and moment.together for moment in series)
        assert trend.before(series, runs[2]) == runs[1]
        assert trend.before(series, runs[0]) is None
        drawn = trend.drawn(series, of_run(last, known), EN)
        assert drawn is not None and len(drawn.rows) == 6
        told = str(drawn.chart.to_dict())
        assert told.count("'version': 'b2'") == 1 and "'version': 'b1'" not in told
        labels.delete(db, runs[1])
        assert trend.before(trend.series(db, last), runs[2]) == runs[0]
        assert trend.drawn(series[:1], of_run(last, known), EN) is None


def test_labels_travel_as_values() -> None:
    label = Label(star=True, tags=("a",), note="n")
    assert msgspec.json.decode(msgspec.json.encode(label), type=Label) == label
