"""Run bundles: made in one installation, taken into another, empty one."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from bench import catalogue, charts, store
from bench.config import Config
from bench.errors import BenchError, Fault
from bench.export import bundle, unbundle
from bench.export import table as report
from bench.kept import labels
from bench.people import access
from bench.shown import sentences, tables, views
from bench.text import LANGUAGES, words
from bench.web import links
from tests import examples

ANNA = access.shell("anna")
VIEWER = access.Actor(who="", role="viewer", why="passcode")


@pytest.fixture
def there(config: Config) -> Config:
    """A second, empty installation."""
    return replace(config, var=config.var / "there")


@pytest.fixture
def ids(config: Config) -> list[str]:
    """Runs of the first installation that have ended, a failed one among them."""
    named = examples.fill(config.database)
    with store.opened(config.database) as db:
        secret = {
            "command": "docker run -v /home/wanda/models:/models img",
            "docker_host": "spark-7.office.example",
            "holders": ["wanda: python3 train.py"],
        }
        store.learn(db, named["good"], secret)
        store.save_telemetry(db, named["good"], [(0.5, {"power_w": 31.25}), (1.0, {"gpu": 0.5})])
        db.execute("update runs set owner = 'wanda' where id = ?", [named["good"]])
    return [named[name] for name in ("good", "fast", "failed", "interrupted")]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The JSON of a bundle of one run."""
    path = tmp_path_factory.mktemp("one") / "bench.db"
    with store.opened(path) as db:
        run = examples.done(db, "gemma3-270m", "Gemma", 70, examples.GOOD)
        return gzip.decompress(bundle.write(db, [run]))


def made(config: Config, ids: list[str], redact: bool = True) -> bytes:
    with store.opened(config.database) as db:
        return bundle.write(db, ids, redact=redact)


def taken(config: Config, content: bytes) -> list[tuple[str, bool]]:
    kept = unbundle.save(config, ANNA, unbundle.read(io.BytesIO(content)))
    return [(one.run, one.new) for one in kept]


def shown(config: Config, ids: list[str]) -> bytes:
    """Everything that the pages and the files of an installation make of these runs, in both
    languages."""
    known, parts = catalogue.load(), []
    with store.opened(config.database) as db:
        for t in map(words, LANGUAGES):
            results = links.load(db, ids, known, t)
            parts.append(report.table_markdown(tables.overview(results, t)).encode())
            parts.append(report.table_csv(tables.measurements(results, t)))
            for result in results:
                assert result.run
                said = [sentences.outcome(result, t), sentences.headline(result, t)]
                said += sentences.reasons(result, t) + sentences.warnings(result, t)
                parts += [msgspec.json.encode(said), msgspec.json.encode(views.numbers(result, t))]
                drawn = [one for group in charts.of_run(result, t).values() for one in group]
                parts += [json.dumps(one.chart.to_dict()).encode() for one in drawn if one]
                parts.append(
                    json.dumps(
                        tables.timeline(store.events(db, result.id), t, "Asia/Taipei")
                    ).encode()
                )
                parts.append(json.dumps(tables.settings(result.run, t)).encode())
                parts.append(msgspec.json.encode(result.answers))
                parts.append(views.subtitle(result.run, t, "Asia/Taipei").encode())
        for run in ids:
            every = store.everything(db, run)
            every["events"] = [{**event, "id": 0} for event in every["events"]]
            parts.append(msgspec.json.encode(every | {"source": "", "owner": ""}))
    return b"\n".join(parts)


def test_a_second_installation_shows_the_same_byte_by_byte(
    config: Config, there: Config, ids: list[str]
) -> None:
    both = [ids[0], ids[2]]
    assert taken(there, made(config, both, redact=False)) == [(run, True) for run in both]
    theirs = shown(there, both)
    assert theirs == shown(config, both)
    assert len(theirs) > 50_000


def test_every_number_survives_the_redaction(config: Config, there: Config, ids: list[str]) -> None:
    taken(there, made(config, ids))
    with store.opened(config.database) as ours, store.opened(there.database) as theirs:
        for table in ("levels", "samples", "telemetry", "answers"):
            columns = set(ours.table(table).columns_dict) - {"id"}
            query = f"select {', '.join(sorted(columns))} from {table} where run in (?, ?, ?, ?)"
            assert list(ours.query(query, ids)) == list(theirs.query(query, ids)), table


def test_a_bundle_of_a_bundle_is_the_same_bundle(
    config: Config, there: Config, ids: list[str]
) -> None:
    first = made(config, ids)
    taken(there, first)
    second = made(there, ids)
    parts = [json.loads(gzip.decompress(one))["parts"] for one in (first, second)]
    assert parts[0] == parts[1]


def test_names_of_people_machines_and_folders_stay_at_home_and_the_bundle_says_so(
    config: Config, ids: list[str]
) -> None:
    text = gzip.decompress(made(config, ids)).decode()
    for secret in ("wanda", "/home", "/models/", "train.py"):
        assert secret not in text, secret
    about = json.loads(text)["about"]
    assert about["redacted"] is True
    assert set(about["left_out"]) >= {"owners", "paths"}
    assert "wanda" in gzip.decompress(made(config, ids, redact=False)).decode()


def test_the_same_bundle_twice_is_recognised(config: Config, there: Config, ids: list[str]) -> None:
    content = made(config, ids)
    taken(there, content)
    assert taken(there, content) == [(run, False) for run in ids]
    assert taken(config, content) == [(run, False) for run in ids], "nor where it was made"
    with store.opened(there.database) as db:
        assert len(store.runs(db)) == len(ids)
        assert unbundle.before(db, unbundle.read(io.BytesIO(content))) == tuple(ids)


def test_a_run_that_was_renamed_meanwhile_is_the_same_run(
    config: Config, there: Config, ids: list[str]
) -> None:
    taken(there, made(config, ids[:1]))
    with store.opened(config.database) as db:
        db.execute("update runs set title = 'the best one' where id = ?", [ids[0]])
    assert taken(there, made(config, ids[:1])) == [(ids[0], False)]


def test_a_run_that_was_deleted_comes_back_with_its_bundle(
    config: Config, there: Config, ids: list[str]
) -> None:
    content = made(config, ids[:1])
    taken(there, content)
    for settings in (config, there):
        with store.opened(settings.database) as db:
            labels.delete(db, ids[0])
            assert unbundle.before(db, unbundle.read(io.BytesIO(content))) == ()
        assert taken(settings, content) == [(ids[0], False)]
        with store.opened(settings.database) as db:
            assert [run.id for run in store.load(db, ids[:1])] == ids[:1]


def test_the_id_of_a_deleted_run_is_taken(config: Config, there: Config, ids: list[str]) -> None:
    content = made(config, ids[:1])
    with store.opened(config.database) as db:
        db.execute("delete from levels where run = ?", [ids[0]])
        labels.delete(db, ids[0])
    ((name, new),) = taken(config, content)
    assert new and name != ids[0]


def test_an_id_that_another_run_has_becomes_a_new_one(
    config: Config, there: Config, ids: list[str]
) -> None:
    with store.opened(there.database) as db:
        other = examples.done(db, "gemma3-270m", "Gemma", 70, examples.GOOD)
        db.execute("pragma foreign_keys = off")
        for table, column in [("runs", "id")] + [(name, "run") for name in list(bundle.TABLES)[1:]]:
            db.execute(f"update {table} set {column} = ? where {column} = ?", [ids[0], other])
    ((name, new),) = taken(there, made(config, ids[:1]))
    assert new
    assert name != ids[0]
    with store.opened(there.database) as db:
        assert len(store.levels(db, name)) == 7


def test_an_imported_run_is_no_measurement_of_this_machine(
    config: Config, there: Config, ids: list[str]
) -> None:
    taken(there, made(config, ids[:1]))
    with store.opened(there.database) as db:
        (run,) = store.load(db, ids[:1])
        assert run.source == "imported"
        assert store.facts_of(db, run) == []
        for t in map(words, LANGUAGES):
            (ours,) = links.load(db, ids[:1], catalogue.load(), t)
            assert t("imports.elsewhere").lower() in views.source(ours, t).lower()


def test_a_viewer_imports_nothing(config: Config, there: Config, ids: list[str]) -> None:
    content = unbundle.read(io.BytesIO(made(config, ids)))
    with pytest.raises(BenchError):
        unbundle.save(there, VIEWER, content)
    with store.opened(there.database) as db:
        assert store.runs(db) == []


def test_a_run_that_goes_on_is_in_no_bundle(config: Config, ids: list[str]) -> None:
    with store.opened(config.database) as db:
        live = examples.live(db)
    for run, code in ((live, "bundle_live"), ("zzzzzzzz", "unknown_run")):
        with pytest.raises(BenchError) as caught:
            made(config, [run])
        assert caught.value.fault.code == code


def test_a_bundle_is_not_made_larger_than_one_may_be_read(
    config: Config, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "LIMIT", 1000)
    with pytest.raises(BenchError) as caught:
        made(config, ids)
    assert caught.value.fault == Fault(code="bundle_too_big", fields={"limit": 0})


# Files that are not what they claim --------------------------------------------------------------

Document = dict[str, Any]


def signed(document: Document) -> Document:
    """With checksums that are right again."""
    parts = {"about": document["about"], **document["parts"]}
    document["checksums"] = {
        name: hashlib.sha256(msgspec.json.encode(part)).hexdigest() for name, part in parts.items()
    }
    return document


def newer_version(document: Document) -> Document:
    return document | {"version": bundle.VERSION + 1, "parts": ["in another form"]}


def newer_store(document: Document) -> Document:
    document["about"]["migrations"].append("m999_later")
    return signed(document)


def newer_column(document: Document) -> Document:
    for name, rows in document["parts"].items():
        if name.endswith("/levels"):
            for row in rows:
                row["joules"] = 3
    return signed(document)


def newer_table(document: Document) -> Document:
    run = document["about"]["runs"][0]
    document["parts"][f"{run}/energy"] = []
    return signed(document)


def altered(document: Document) -> Document:
    for name, rows in document["parts"].items():
        if name.endswith("/levels"):
            rows[0]["throughput_tokens_per_s"] = 9000.0
    return document


def unlisted(document: Document) -> Document:
    document["checksums"].pop("about")
    return document


def live(document: Document) -> Document:
    document["parts"][f"{document['about']['runs'][0]}/runs"][0]["state"] = "queued"
    return signed(document)


def no_plan(document: Document) -> Document:
    document["parts"][f"{document['about']['runs'][0]}/runs"][0]["plan"] = {"title": 3}
    return signed(document)


def odd_facts(document: Document) -> Document:
    """Facts are free in form: what no page could show is refused."""
    document["parts"][f"{document['about']['runs'][0]}/runs"][0]["facts"] = {"argv": 5}
    return signed(document)


def huge_number(document: Document) -> Document:
    document["parts"][f"{document['about']['runs'][0]}/levels"][0]["ok"] = 10**30
    return signed(document)


def no_time(document: Document) -> Document:
    document["parts"][f"{document['about']['runs'][0]}/runs"][0]["created"] = "yesterday"
    return signed(document)


def path_for_id(document: Document) -> Document:
    run = document["about"]["runs"][0]
    document["about"]["runs"] = ["../../etc"]
    parts = document["parts"].items()
    document["parts"] = {name.replace(run, "../../etc"): rows for name, rows in parts}
    return signed(document)


def other_format(document: Document) -> Document:
    return document | {"format": "something else"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (newer_version, "bundle_newer"),
        (newer_store, "bundle_newer"),
        (newer_column, "bundle_newer"),
        (newer_table, "bundle_newer"),
        (altered, "bundle_altered"),
        (unlisted, "bundle_altered"),
        (live, "bundle_odd"),
        (no_plan, "bundle_odd"),
        (odd_facts, "bundle_odd"),
        (huge_number, "bundle_odd"),
        (no_time, "bundle_odd"),
        (path_for_id, "bundle_odd"),
        (other_format, "import_unknown"),
    ],
)
def test_a_bundle_that_is_not_what_it_says_is_refused_and_nothing_of_it_kept(
    there: Config, one: bytes, change: Callable[[Document], Document], code: str
) -> None:
    document = change(json.loads(one))
    with pytest.raises(BenchError) as caught:
        taken(there, gzip.compress(msgspec.json.encode(document)))
    assert caught.value.fault.code == code
    assert str(caught.value), "the sentence is there, with all its fields"
    with store.opened(there.database) as db:
        assert store.runs(db) == []


def test_a_bundle_that_was_cut_short_is_refused(one: bytes) -> None:
    packed = gzip.compress(one)
    for part, code in (
        (packed[: len(packed) // 2], "import_packed_broken"),
        (one[:-9], "bundle_odd"),
        (gzip.compress(b" " * (bundle.LIMIT + 1)), "import_packed_trap"),
    ):
        with pytest.raises(BenchError) as caught:
            unbundle.read(io.BytesIO(part))
        assert caught.value.fault.code == code


def test_every_table_of_a_run_is_in_a_bundle_or_left_out_on_purpose(config: Config) -> None:
    with store.opened(config.database) as db:
        found = {
            name
            for name in db.table_names()
            if "run" in db.table(name).columns_dict or name == "runs"
        }
    assert found == set(bundle.TABLES) | bundle.LEFT


def test_a_shell_makes_and_takes_bundles(
    config: Config,
    there: Config,
    ids: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from bench.__main__ import main

    file = tmp_path / "two.json.gz"
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(config.var))
    assert main(["bundle", *ids[:2], "-o", str(file)]) == 0
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(there.var))
    assert main(["import", str(file), "--look"]) == 0
    with store.opened(there.database) as db:
        assert store.runs(db) == []
    capsys.readouterr()
    assert main(["import", str(file)]) == 0
    assert capsys.readouterr().out.split() == ids[:2]
    assert main(["import", str(Path(__file__))]) == 1
    assert "not a result that can be read" in capsys.readouterr().err
