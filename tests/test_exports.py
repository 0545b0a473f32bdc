"""What is taken away of a run or a comparison: each file opened again."""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace
from streamlit.testing.v1 import AppTest

from bench import catalogue, imports, store
from bench.config import Config
from bench.errors import BenchError, Fault
from bench.export import files as exports
from bench.export import picture, post, standalone
from bench.export.files import Asked, Kind
from bench.export.picture import Look
from bench.text import LANGUAGES, words
from bench.web import links
from tests import examples
from tests.conftest import config_in
from tests.test_pages import text, visit

PUBLISHED = "ironman-2026-day9-vllm"
HOSTILE = "</script><img src=x onerror=alert(1)> [a](b) `x` | # 測試"


Place = tuple[Config, tuple[str, ...]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A store with two runs and their ids, with a published result beside them."""
    settings = config_in(tmp_path_factory.mktemp("exports"))
    named = examples.fill(settings.database)
    with store.opened(settings.database) as db:
        secret = {"command": "docker run -v /home/wanda/models:/m img"}
        store.learn(db, named["good"], secret)
        db.execute("update runs set owner = 'wanda' where id = ?", [named["good"]])
        db.execute("update runs set model_name = ? where id = ?", [HOSTILE, named["fast"]])
    return settings, (named["good"], named["fast"], PUBLISHED)


def made(place: Place, kind: Kind, language: str = "zh-TW") -> bytes:
    settings, ids = place
    look = Look(shape="blog", scale=1)
    return exports.make(settings, Asked(kind=kind, ids=ids, language=language, look=look))


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="module")
def written(place: Place) -> dict[str, bytes]:
    """The files of a post in Chinese, with its real pictures."""
    return unpacked(made(place, "post"))


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are made in test_report.py; here it is enough that they were asked for."""
    monkeypatch.setattr(picture, "png", lambda *asked: b"a picture")
    fakes = dict.fromkeys(exports.DRAW, lambda *asked: b"a picture")
    monkeypatch.setattr(exports, "DRAW", fakes)


def test_every_kind_has_its_words_and_its_file(place: Place, no_pictures: None) -> None:
    assert set(exports.ENDS) == set(get_args(Kind))
    for kind in exports.ENDS:
        for t in map(words, LANGUAGES):
            assert t(f"export.kind.{kind}") and t(f"export.about.{kind}")
        assert made(place, kind), kind


def test_a_post_has_its_pictures_where_its_text_says(written: dict[str, bytes]) -> None:
    said = written["post.md"].decode()
    shown = re.findall(r"\]\((pictures/[^)]+)\)", said)
    assert len(shown) >= 4
    assert sorted(shown) == sorted(name for name in written if name.startswith("pictures/"))
    for name in shown:
        assert struct.unpack(">II", written[name][16:24]) == (1200, 675), name
    assert "公開數據" in said
    assert "| --- |" in said
    assert {"tables/overview.html", "tables/results.csv", "tables/results.json"} <= set(written)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_post_is_in_the_language_that_was_asked_for(
    place: Place, no_pictures: None, language: str
) -> None:
    said = unpacked(made(place, "post", language))["post.md"].decode()
    assert words(language)("post.how") in said


def test_what_somebody_wrote_cannot_format_a_post(written: dict[str, bytes]) -> None:
    said = written["post.md"].decode()
    assert "onerror" in said, "shown as it is"
    outside = re.sub(r"^!\[.*$", "", said, flags=re.MULTILINE)
    assert not re.search(r"(?<!\\)<img", outside)
    assert not re.search(r"(?<!\\)\[a", outside)


def test_the_same_files_are_the_same_zip() -> None:
    files = {"a.txt": b"one", "pictures/b.png": b"two"}
    assert post.packed(files) == post.packed(files)
    assert unpacked(post.packed(files)) == files


@pytest.mark.parametrize("kind", list(exports.DRAW))
def test_every_chart_is_there_in_every_form(place: Place, no_pictures: None, kind: Kind) -> None:
    names = set(unpacked(made(place, kind)))
    assert {f"{name}.{kind}" for name in ("speed", "throughput", "prefill")} <= names


def test_llama_benchys_file_holds_our_runs_and_not_the_published_one(
    place: Place,
) -> None:
    found = imports.read(io.BytesIO(made(place, "benchy_json")), "x")
    assert {one.model for one in found.results} == {"gemma3-270m", "smollm2-135m"}


def test_a_bundle_of_a_comparison_has_its_runs_without_names(
    place: Place,
) -> None:
    told = json.loads(gzip.decompress(made(place, "bundle")))
    assert told["about"]["runs"] == list(place[1][:2])
    assert "wanda" not in json.dumps(told)


def test_a_files_name_holds_ids_only(place: Place) -> None:
    asked = Asked(kind="csv", ids=place[1], language="en")
    assert asked.name == f"spark-compare-{'-'.join(place[1])}.csv"
    assert re.fullmatch(r"[\w.-]{1,120}", replace(asked, ids=place[1] * 9, kind="post").name)


# The report --------------------------------------------------------------------------------------


class Parts(HTMLParser):
    """The elements of a page and the text that a reader sees."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside, self.text = "", ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside not in ("script", "style"):
            self.text += data


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_report_is_whole_small_and_says_what_it_leaves_out(place: Place, language: str) -> None:
    content = made(place, "report", language)
    t, parts = words(language), Parts(content.decode())
    assert len(content) < standalone.LIMIT
    assert t("imports.left.paths") in parts.text
    assert t("post.left_requests") in parts.text
    assert "docker run -v …/models:/m img" in parts.text
    for secret in ("wanda", "/home/"):
        assert secret not in parts.text
    assert HOSTILE in parts.text, "shown as it is"


def test_a_report_fetches_nothing(place: Place) -> None:
    parts = Parts(made(place, "report").decode())
    assert not [tag for tag, _ in parts.tags if tag in ("img", "link", "iframe", "object")]
    assert not [a for _, a in parts.tags if a.get("src") or a.get("href") or a.get("onerror")]
    policies = [a["content"] for _, a in parts.tags if a.get("http-equiv")]
    assert policies == [standalone.POLICY]


def test_a_report_that_would_be_too_large_leaves_the_answers_out_and_says_so(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Parts(made(place, "report", "en").decode()).text
    assert examples.GOOD["en-explain"] in whole
    monkeypatch.setattr(standalone, "LIMIT", 1000)
    monkeypatch.setattr(standalone, "MANY", 1)
    small = made(place, "report", "en").decode()
    assert examples.GOOD["en-explain"] not in Parts(small).text
    assert 'class="chart"' not in small
    for kind in ("answers", "dots"):
        assert words("en")(f"post.left_{kind}") in Parts(small).text


# On the pages ------------------------------------------------------------------------------------


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return examples.fill(tmp_path / "bench.db")


def kinds(at: AppTest) -> list[str]:
    return list(at.selectbox(key="export-kind").options)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pages_offer_a_post_first(ids: dict[str, str], language: str) -> None:
    t = words(language)
    pages = (
        visit("run.py", language, run=ids["good"]),
        visit("compare.py", language, run=[ids["good"], PUBLISHED]),
    )
    for at in pages:
        assert t("export.block") in text(at)
        assert kinds(at)[0] == t("export.kind.post")
        assert t("export.about.post") in text(at)


def test_every_choice_of_a_kind_is_shown_with_what_it_is(ids: dict[str, str]) -> None:
    at = visit("run.py", run=ids["good"])
    for kind in ("report", "bundle", "csv"):
        at.selectbox(key="export-kind").set_value(kind).run()
        assert not at.exception
        assert words("en")(f"export.about.{kind}") in text(at)


def test_what_cannot_be_made_is_not_offered(ids: dict[str, str]) -> None:
    t = words("en")
    failed = visit("run.py", run=ids["failed"])
    assert kinds(failed) == [t("export.kind.bundle")]
    assert t("export.block") not in text(visit("run.py", run=ids["queued"]))
    assert t("export.kind.bundle") not in kinds(visit("run.py", run=ids["live"]))
    published = visit("compare.py", run=[PUBLISHED, "ironman-2026-day9-sglang"])
    if published.selectbox:
        assert t("export.kind.bundle") not in kinds(published)


def test_without_a_chinese_font_the_page_says_so_and_offers_no_picture(
    ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise BenchError("fonts_missing", font=picture.FONT)

    monkeypatch.setattr(picture, "check_fonts", missing)
    at = visit("run.py", run=ids["good"])
    said = words("en").fault(Fault(code="fonts_missing", fields={"font": picture.FONT}))
    assert said in text(at)
    assert "export-make" not in [one.key for one in at.get("download_button")]


def test_the_parts_of_a_post_are_those_of_its_page(place: Place) -> None:
    settings, ids = place
    with store.opened(settings.database) as db:
        results = links.load(db, ids, catalogue.load(), words("en"))
    assert len(post.figures(results, words("en"))) > len(post.figures(results[2:], words("en")))
