"""A run in llama-benchy's form: read back by the reader of llama-benchy's own files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from bench import imports, store
from bench.catalogue import Catalogue
from bench.export import benchy
from bench.imports.values import Import
from bench.text import words
from bench.web import links
from tests import examples

DATA = Path(__file__).parent / "data"
Made = tuple[dict[str, Any], Path, str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, known: Catalogue) -> Made:
    path = tmp_path_factory.mktemp("benchy") / "bench.db"
    with store.opened(path) as db:
        run = examples.done(db, "gemma3-270m", "Gemma 3 270M", 70, examples.GOOD)
        (result,) = links.load(db, [run], known, words("en"))
        return benchy.document(db, result), path, run


def read(content: bytes) -> Import:
    return imports.read(io.BytesIO(content), "x")


def numbers(found: Import) -> dict[tuple[str, str, str, str], float | None]:
    return {
        (part.kind, part.name, one.metric, one.stat): one.value
        for result in found.results
        for part in result.parts
        for one in part.numbers
        if one.doubt is None
    }


def test_it_has_the_keys_of_a_real_file(made: Made) -> None:
    real = json.loads((DATA / "llamabenchy_llama_c4.json").read_text())
    document = json.loads(benchy.as_json([made[0]]))
    assert set(document) == set(real)
    for one in document["benchmarks"]:
        assert set(one) == set(real["benchmarks"][0])


def test_the_reader_of_llama_benchy_finds_our_numbers(made: Made) -> None:
    document, path, run = made
    found = numbers(read(benchy.as_json([document])))
    with store.opened(path) as db:
        levels = store.levels(db, run)
        for level in levels:
            if level.kind in ("decode", "sweep"):
                assert level.decode_speed
                key = (level.kind, level.name, "decode_speed", "mean")
                assert found[key] == pytest.approx(level.decode_speed.mean), level.name
            if level.kind == "sweep":
                samples = store.samples(db, run, levels.index(level))
                waits = [one.first_token for one in samples if one.first_token]
                assert found[("sweep", level.name, "ttft", "mean")] == pytest.approx(fmean(waits))
                sd = found[("sweep", level.name, "ttft", "sd")]
                assert sd == pytest.approx(pstdev(waits)), "divided by n"


def test_the_speed_of_all_together_is_not_claimed(made: Made) -> None:
    together = [one for one in made[0]["benchmarks"] if one["concurrency"] > 1]
    assert together
    assert all(one["tg_throughput"] is None and one["tg_req_throughput"] for one in together)


def test_the_table_says_the_same_as_the_file(made: Made) -> None:
    table = benchy.as_markdown([made[0]])
    assert "| model | test | t/s (total) | t/s (req) | ttfr (ms) |" in table
    assert f"llama-benchy ({benchy.VERSION})" in table
    found = read(table.encode())
    assert (found.tool, found.form, found.version) == ("llama-benchy", "md", benchy.VERSION)
    first = numbers(read(benchy.as_json([made[0]])))
    second = {key: value for key, value in numbers(found).items() if key[3] == "mean"}
    assert len(second) > 8
    for key, value in second.items():
        assert value == pytest.approx(first[key], rel=0.01), key


def test_several_runs_are_several_results(made: Made) -> None:
    both = [made[0], made[0] | {"model": "another"}]
    for content in (benchy.as_json(both), benchy.as_markdown(both).encode()):
        assert {one.model for one in read(content).results} == {"gemma3-270m", "another"}


def test_a_failed_request_is_in_no_number(made: Made, known: Catalogue, tmp_path: Path) -> None:
    with store.opened(tmp_path / "bench.db") as db:
        run = examples.done(db, "gemma3-270m", "Gemma 3 270M", 70, examples.GOOD)
        text = '{"id":"x","sent":0.0,"first_event":900.0,"error":"gone","error_kind":"http"}'
        db.execute("update samples set sample = ? where run = ? and position = 0", [text, run])
        (result,) = links.load(db, [run], known, words("en"))
        document = benchy.document(db, result)
    assert all(one["ttfr"]["mean"] < 100_000 for one in document["benchmarks"])
