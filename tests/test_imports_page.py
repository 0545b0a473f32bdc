"""The Import page: what a reader sees of a file before and after it is saved."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from bench import store
from bench.config import read
from bench.export import bundle
from bench.export import table as report
from bench.imports import keep
from bench.kept import labels
from bench.people import access, audit
from bench.text import LANGUAGES, words
from pages.elements import who
from tests import examples
from tests.test_pages import text as told
from tests.test_pages import unescaped, visit

DATA = Path(__file__).parent / "data"
SAMPLE = "vllmbench_llama_c4.json"


@pytest.fixture(autouse=True)
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return tmp_path


def text(at: AppTest) -> str:
    return told(at) + unescaped(" ".join(str(one.value) for one in at.success))


def given(content: bytes, name: str = "result.json", language: str = "en") -> AppTest:
    at = visit("imports.py", language)
    at.file_uploader[0].set_value((name, content, "application/json")).run()
    assert not at.exception, at.exception
    return at


def saved(at: AppTest) -> AppTest:
    at.button(key="import-save").click().run()
    assert not at.exception, at.exception
    return at


def runs() -> list[store.Run]:
    with store.opened(read().database) as db:
        return store.runs(db)


def can_save(at: AppTest) -> bool:
    return "import-save" in [one.key for one in at.button]


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_file_the_page_says_what_can_be_read(language: str) -> None:
    at = visit("imports.py", language)
    assert at.title[0].value == words(language)("imports.title")
    assert "llama-benchy" in text(at)
    assert not can_save(at)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_file_is_shown_before_anything_is_saved(language: str) -> None:
    at = given((DATA / SAMPLE).read_bytes(), language=language)
    t = words(language)
    assert t("imports.what", file="result.json", tool="vllm bench serve") in text(at)
    table = at.dataframe[0].value
    assert len(table) > 10
    uses = list(table[t("imports.column.use")])
    assert t("imports.doubt.few", n=16, name="P99") in uses
    values = " ".join(table[t("imports.column.value")])
    assert "3.181" in values, "milliseconds are shown as seconds"
    assert runs() == []


def test_a_saved_file_is_a_run_with_a_link_and_the_file_is_kept_as_it_came(var: Path) -> None:
    content = (DATA / SAMPLE).read_bytes()
    at = given(content)
    at.text_input[0].set_value("=1+1 <b>ours</b>").run()
    (run,) = (saved(at), runs())[1]
    assert run.title == "=1+1 <b>ours</b>"
    assert "Open =1+1 <b>ours</b>" in text(at), "shown as it is: no HTML, no formula"
    assert run.source == "imported"
    (packed,) = (var / "imports").iterdir()
    assert gzip.decompress(packed.read_bytes()) == content
    with store.opened(read().database) as db:
        (entry,) = audit.entries(db)
    assert (entry.action, entry.who, entry.run) == ("import", "local", run.id)


def test_the_title_of_an_import_is_no_formula_in_a_spreadsheet() -> None:
    at = given((DATA / SAMPLE).read_bytes())
    at.text_input[0].set_value("=HYPERLINK(1)").run()
    (run,) = (saved(at), runs())[1]
    rows = [{"title": run.title}]
    assert b"'=HYPERLINK(1)" in report.table_csv(rows)


def test_a_file_that_was_imported_before_is_recognised_under_another_name() -> None:
    content = (DATA / SAMPLE).read_bytes()
    saved(given(content))
    at = given(gzip.compress(content), "renamed.json.gz")
    assert words("en")("imports.already") in text(at)
    assert not can_save(at)
    assert "Open" in text(at)
    assert len(runs()) == 1


def test_an_import_that_was_deleted_comes_back_when_it_is_imported_again() -> None:
    content = (DATA / SAMPLE).read_bytes()
    (run,) = (saved(given(content)), runs())[1]
    with store.opened(read().database) as db:
        labels.delete(db, run.id)
    assert runs() == []
    saved(given(content))
    assert [one.id for one in runs()] == [run.id]


def test_what_the_reader_knows_goes_with_the_run() -> None:
    at = given((DATA / SAMPLE).read_bytes())
    model, engine = at.selectbox
    model.set_value("gpt-oss-120b")
    engine.set_value("vllm").run()
    (run,) = (saved(at), runs())[1]
    assert (run.model, run.engine) == ("gpt-oss-120b", "vllm")
    assert run.model_name == "gpt-oss-120b"


def test_a_model_is_found_in_the_catalogue_by_its_published_name() -> None:
    document = json.loads((DATA / SAMPLE).read_text()) | {"model_id": "openai/gpt-oss-120b"}
    at = given(json.dumps(document).encode())
    assert at.selectbox[0].value == "gpt-oss-120b"


def test_a_speed_above_what_a_spark_can_do_turns_grey_when_it_was_measured_on_one() -> None:
    at = given((DATA / "vllmbench_llama_c1.json").read_bytes())
    at.selectbox[0].set_value("qwen3.8-27b").run()
    assert "DGX Spark" not in " ".join(at.dataframe[0].value["Used?"])
    at.checkbox[0].check().run()
    assert "memory of a DGX Spark allows" in " ".join(at.dataframe[0].value["Used?"])


# Bad files ---------------------------------------------------------------------------------------


def changed(**changes: Any) -> bytes:
    return json.dumps(json.loads((DATA / SAMPLE).read_text()) | changes).encode()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "import_no_text"),
        (b"<html><body>Sign in first</body></html>", "import_unknown"),
        (b'{"hello": "world"}', "import_unknown"),
        (b"", "import_empty"),
        (gzip.compress(bytes(60 << 20)), "import_packed_trap"),
        (gzip.compress((DATA / SAMPLE).read_bytes())[:400], "import_packed_broken"),
        ((DATA / SAMPLE).read_bytes()[:-40], "import_broken"),
        (b'[{"n_prompt": 512, "avg_ts": 1}]' * 2, "import_unknown"),
        (b"[" * 100_000, "import_too_deep"),
    ],
    ids=["picture", "page", "other", "empty", "bomb", "cut gz", "cut", "rows", "deep"],
)
def test_what_is_no_result_is_a_sentence_and_no_run(
    content: bytes, code: str, language: str
) -> None:
    at = given(content, language=language)
    begin = words(language)(f"errors.{code}", line=1, problem="", limit=1, times=250, most=1)[:8]
    assert any(one.value.startswith(begin) for one in at.error), [one.value for one in at.error]
    assert not can_save(at)
    assert runs() == []


def test_a_million_rows_are_refused_before_they_fill_the_memory() -> None:
    row = '{"build_commit":"0","n_prompt":512,"n_gen":0,"n_depth":0,"avg_ts":1.0,"avg_ns":9}\n'
    at = given(gzip.compress((row * 1_000_000).encode()), "rows.jsonl.gz")
    assert at.error
    assert runs() == []


def test_numbers_that_cannot_be_are_grey_with_their_reason_and_in_no_level() -> None:
    at = given(changed(mean_ttft_ms=-5.0, mean_tpot_ms=float("nan")))
    uses = " ".join(at.dataframe[0].value["Used?"])
    assert "negative" in uses
    assert "no value" in uses
    saved(at)
    with store.opened(read().database) as db:
        (level,) = store.levels(db, runs()[0].id)
    assert level.tpot.p50 == pytest.approx(0.0237, rel=0.01)
    assert level.ttft.p50 == pytest.approx(3.181, rel=0.001)


def test_a_key_that_stands_twice_is_told_before_saving() -> None:
    content = changed().replace(b'"duration": ', b'"duration": 1.0, "duration": ', 1)
    assert "duration" in text(given(content))


def test_a_name_with_html_stays_text_on_every_page() -> None:
    name = "<img src=x onerror=alert(1)> $x$ :red[y]"
    at = saved(given(changed(model_id=name)))
    assert name in text(at)
    (run,) = runs()
    assert name in text(visit("run.py", run=run.id))


def test_a_result_in_utf_16_is_shown_like_any_other() -> None:
    at = given((DATA / SAMPLE).read_text().encode("utf-16"))
    assert can_save(at)


def test_a_file_of_many_results_asks_once() -> None:
    rows = "\n".join(
        json.dumps(
            {"build_commit": "0", "model_filename": f"/m/{n}.gguf", "model_type": f"m{n}"}
            | {"n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": 100.0 + n, "avg_ns": 5120000000}
        )
        for n in range(20)
    )
    at = given(rows.encode(), "rows.jsonl")
    assert len(at.selectbox) == 2
    assert "8 more results" in text(at)
    saved(at)
    assert len(runs()) == 20


# Bundles and roles -------------------------------------------------------------------------------


@pytest.fixture
def packed(tmp_path: Path) -> tuple[str, bytes]:
    """A run of another installation as a bundle."""
    with store.opened(tmp_path / "elsewhere.db") as db:
        run = examples.done(db, "gemma3-270m", "Gemma 3 270M", 70, examples.GOOD)
        return run, bundle.write(db, [run])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bundle_is_listed_then_saved_then_recognised(
    packed: tuple[str, bytes], language: str
) -> None:
    run, content = packed
    at = given(content, "two.json.gz", language)
    t = words(language)
    assert t("imports.left.paths") in text(at)
    assert list(at.dataframe[0].value[t("imports.bundle.run")]) == ["Gemma 3 270M · llama.cpp"]
    saved(at)
    assert [one.id for one in runs()] == [run]
    assert t("imports.already") in text(given(content, "two.json.gz", language))


def test_a_viewer_finds_no_import_page_and_no_crafted_click_saves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = given((DATA / SAMPLE).read_bytes())
    monkeypatch.setattr(who, "here", lambda: False)
    at.button(key="import-save").click().run()
    assert words("en")("access.why.no_passcode")[:30] in text(at)
    assert runs() == []


def test_saving_asks_who_does_it(var: Path) -> None:
    from bench import catalogue, imports
    from bench.errors import BenchError

    found = imports.read(DATA / SAMPLE, SAMPLE)
    viewer = access.Actor(who="", role="viewer", why="passcode")
    with pytest.raises(BenchError):
        keep.save(read(), viewer, found, DATA / SAMPLE, catalogue.load())
    assert runs() == []
    assert not (var / "imports").exists()
