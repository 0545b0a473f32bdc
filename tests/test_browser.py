"""The app in Chromium: what only a browser can show."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench import store
from bench.imports import command
from bench.running import lock
from bench.text import words
from tests import examples
from tests.serving import serving
from tests.test_report import size

pytestmark = pytest.mark.browser
EN, ZH = words("en"), words("zh-TW")
PATHS = ("/", "/runs", "/run?run={good}", "/compare?run={good}&run={fast}", "/chinese")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    var = tmp_path_factory.mktemp("browser")
    with store.opened(var / "bench.db") as db:
        return var, {
            "fast": examples.done(db, "smollm2-135m", "SmolLM2 135M", 120, examples.POOR),
            "good": examples.done(db, "gemma3-270m", "Gemma 3 270M", 55, examples.GOOD),
        }


@pytest.fixture(scope="module")
def server(runs: tuple[Path, dict[str, str]]) -> Iterator[str]:
    with serving(runs[0]) as address:
        yield address


@pytest.fixture
def visit(browser: Browser, server: str, runs: tuple[Path, dict[str, str]]) -> Iterator[Visit]:
    visits = Visit(browser, server, runs[1])
    yield visits
    visits.end()


class Visit:
    """Opens pages, each in a browser that has never seen the app."""

    def __init__(self, browser: Browser, server: str, ids: dict[str, str]) -> None:
        self._browser, self._server, self._ids = browser, server, ids
        self._ends: list[object] = []

    def __call__(self, path: str, locale: str = "en-US", width: int = 1280) -> Page:
        context = self._browser.new_context(
            locale=locale, viewport={"width": width, "height": 900}, accept_downloads=True
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self._ends.append(context.close)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.goto(self._server + path.format(**self._ids))
        expect(page.get_by_role("heading").first).to_be_visible(timeout=60_000)
        expect(page.get_by_test_id("stApp")).to_have_attribute(
            "data-test-script-state", "notRunning", timeout=60_000
        )
        assert page.locator("[role=dialog]").count() == 0
        return page

    def end(self) -> None:
        for close in self._ends:
            close()  # type: ignore[operator]


def test_a_deep_link_opens_on_a_fresh_server_in_the_viewers_language(visit: Visit) -> None:
    page = visit("/compare?run={good}&run={fast}", "zh-TW")  # the server's first visitor
    expect(page.get_by_role("heading", name="比較", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="測試紀錄")).to_be_visible()
    expect(page.get_by_text("每個人看到的輸出速度").last).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0


def test_a_shared_link_shows_the_same_in_another_language(visit: Visit) -> None:
    page = visit("/compare?run={fast}&run={good}")
    page.get_by_role("button", name="Share").click()
    link = page.get_by_test_id("stCode").inner_text().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/compare\?run=\w{8}&run=\w{8}", link)
    other = visit("/" + link.split("/", 3)[3], "zh-TW")
    expect(other.get_by_role("heading", name="比較", exact=True)).to_be_visible()
    expect(other.get_by_test_id("stVegaLiteChart")).to_have_count(1)


def test_a_kept_comparison_of_all_three_kinds_opens_by_its_link_in_the_other_language(
    visit: Visit, runs: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(runs[0]))
    file = Path(__file__).parent / "data" / "vllmbench_vllm_c4.json"
    assert command.main([str(file)]) == 0
    with store.opened(runs[0] / "bench.db") as db:
        imported = next(run.id for run in store.runs(db) if run.source == "imported")
    published = "ironman-2026-day9-vllm"
    page = visit(f"/compare?run={{good}}&run={imported}&run={published}")
    page.get_by_role("button", name=EN("kept.keep")).click()
    page.get_by_role("textbox", name=EN("kept.title"), exact=True).fill(
        "gpt-oss <b>against</b> =Gemma"
    )
    page.get_by_role("textbox", name=EN("kept.notes"), exact=True).fill("three kinds")
    page.get_by_role("button", name=EN("kept.save"), exact=True).click()
    heading = page.get_by_role("heading", name="gpt-oss <b>against</b> =Gemma", exact=True)
    expect(heading).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Share").click()
    link = page.get_by_test_id("stCode").inner_text().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/compare\?c=\w{8}", link)
    other = visit("/" + link.split("/", 3)[3], "zh-TW")
    expect(
        other.get_by_role("heading", name="gpt-oss <b>against</b> =Gemma", exact=True)
    ).to_be_visible()
    expect(other.get_by_text("three kinds")).to_be_visible()
    expect(other.get_by_text(ZH("compare.published"))).to_be_visible()
    expect(other.get_by_text(ZH("imports.badge", tool="vllm bench serve"))).to_be_visible()
    expect(other.get_by_test_id("stException")).to_have_count(0)


def test_the_language_can_be_switched_and_stays_on_other_pages(visit: Visit) -> None:
    page = visit("/runs")
    page.get_by_text("繁體中文", exact=True).first.click()
    expect(page.get_by_role("heading", name="測試紀錄", exact=True)).to_be_visible()
    page.get_by_role("link", name="比較").click()
    expect(page.get_by_role("heading", name="比較", exact=True)).to_be_visible()


def test_ticking_two_runs_leads_to_their_comparison(visit: Visit) -> None:
    page = visit("/runs")
    for run in ("SmolLM2 135M", "Gemma 3 270M"):
        page.get_by_role("checkbox", name=run).check(force=True)
    page.get_by_role("button", name="Compare 2 runs").click()
    expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"/compare\?run=\w{8}&run=\w{8}"))


def saved(page: Page, label: str) -> bytes:
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name=label).click()
    return Path(download.value.path()).read_bytes()


def test_a_chart_is_saved_as_image_drawing_and_table_with_its_chinese(visit: Visit) -> None:
    page = visit("/run?run={good}", "zh-TW")
    page.get_by_role("button", name="儲存").first.click()
    assert size(saved(page, "圖片（PNG）"))[0] > 1400
    drawing = saved(page, "向量圖（SVG）").decode()
    assert "每個人看到的輸出速度" in drawing and "Noto Sans CJK TC" in drawing
    table = saved(page, "試算表（CSV）")
    assert table.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"))))
    assert [row["people"] for row in rows] == ["1", "2", "4", "8"]


def test_a_saved_drawing_shows_chinese_and_no_boxes(visit: Visit, browser: Browser) -> None:
    page = visit("/run?run={good}", "zh-TW")
    page.get_by_role("button", name="儲存").first.click()
    drawing = saved(page, "向量圖（SVG）").decode()
    page.set_content(drawing)
    text = page.get_by_text("每個人看到的輸出速度").first.element_handle()
    assert text
    # Were the glyphs boxes, other characters would give the same picture.
    before = text.screenshot()
    text.evaluate("text => { text.textContent = '龜龍鳳鷹鱷鯨鯉鯊鱗麟' }")
    assert text.screenshot() != before


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("locale", ["en-US", "zh-TW"])
def test_a_phone_needs_no_scrolling_sideways(visit: Visit, path: str, locale: str) -> None:
    page = visit(path, locale, width=360)
    wide = page.evaluate(
        """() => [document.documentElement, document.querySelector('[data-testid=stMain]')]
                 .map(part => part.scrollWidth)"""
    )
    assert max(wide) <= 360


def test_a_chart_is_named_for_those_who_cannot_see_it(visit: Visit) -> None:
    page = visit("/run?run={good}")
    chart = page.get_by_test_id("stVegaLiteChart").first
    assert "Writing speed that each person sees" in chart.evaluate("one => one.outerHTML")


def test_a_live_run_moves_on_without_a_reload(
    visit: Visit, runs: tuple[Path, dict[str, str]]
) -> None:
    with lock.held(runs[0] / "worker.lock", wait=60):  # no worker takes it for interrupted
        with store.opened(runs[0] / "bench.db") as db:
            run = examples.live(db)
        page = visit(f"/run?run={run}")
        page.evaluate("() => { window.opened = 'once' }")
        expect(page.get_by_text("Measuring with 4 people at once")).to_be_visible()
        with store.opened(runs[0] / "bench.db") as db:
            store.event(db, run, "answer", {"prompt": "zh-letter", "position": 7, "of": 7})
        expect(page.get_by_text("Writing answers for you to read")).to_be_visible(timeout=30_000)
        with store.opened(runs[0] / "bench.db") as db:
            store.enter(db, run, "done")
        expect(page.get_by_text("people can use it at once")).to_be_visible(timeout=30_000)
        assert page.evaluate("() => window.opened") == "once"
