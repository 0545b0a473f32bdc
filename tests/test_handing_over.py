"""Results handed to others, in Chromium: a report that opens offline, and a bundle that another
installation imports and shows the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench import store
from bench.text import words
from tests import examples
from tests.serving import serving

pytestmark = pytest.mark.browser
EN = words("en")
PUBLISHED = "ironman-2026-day9-vllm"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    var = tmp_path_factory.mktemp("here")
    with store.opened(var / "bench.db") as db:
        return var, examples.done(db, "gemma3-270m", "Gemma 3 270M", 55, examples.GOOD)


@pytest.fixture(scope="module")
def server(run: tuple[Path, str]) -> Iterator[str]:
    with serving(run[0]) as address:
        yield address


def opened(browser: Browser, address: str) -> Page:
    page = browser.new_context(locale="en-US", accept_downloads=True).new_page()
    page.set_default_timeout(60_000)
    page.goto(address)
    ready(page)
    return page


def ready(page: Page) -> None:
    expect(page.get_by_role("heading").first).to_be_visible(timeout=60_000)
    state = ("data-test-script-state", "notRunning")
    expect(page.get_by_test_id("stApp")).to_have_attribute(*state, timeout=60_000)


def drawn(page: Page) -> None:
    """Wait until every chart is there, so that nothing moves any more."""
    page.wait_for_function(
        """[...document.querySelectorAll('[data-testid=stVegaLiteChart]')]
        .every((one, _, all) => all.length && one.querySelector('svg'))"""
    )


def saved(page: Page, kind: str, folder: Path) -> Path:
    """The file that the block gives for a kind of export."""
    drawn(page)
    page.get_by_text(EN("export.block")).click()
    page.get_by_role("combobox", name=EN("export.what")).click()
    page.keyboard.type(EN(f"export.kind.{kind}"))
    page.keyboard.press("Enter")
    expect(page.get_by_text(EN(f"export.about.{kind}"))).to_be_visible()
    ready(page)
    with page.expect_download() as download:
        page.get_by_role("button", name=EN("export.make")).click()
    target = folder / download.value.suggested_filename
    download.value.save_as(target)
    return target


def test_a_report_opens_offline_and_its_charts_answer_the_mouse(
    browser: Browser, server: str, run: tuple[Path, str], tmp_path: Path
) -> None:
    page = opened(browser, f"{server}/compare?run={run[1]}&run={PUBLISHED}")
    report = saved(page, "report", tmp_path)
    page.context.close()
    assert report.stat().st_size < 3_000_000

    context = browser.new_context(offline=True, color_scheme="dark")
    page = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    charts = page.locator(".chart")
    assert charts.count() >= 4
    for number in range(charts.count()):
        expect(charts.nth(number).locator("svg")).to_be_visible()
    charts.first.locator("svg .mark-symbol path").first.hover(force=True)
    expect(page.locator("#vg-tooltip-element")).to_contain_text("people")
    assert wrong == []
    assert asked == [report.as_uri()]
    context.close()


def test_another_installation_shows_what_the_first_one_shows(
    browser: Browser, server: str, run: tuple[Path, str], tmp_path: Path
) -> None:
    here = opened(browser, f"{server}/run?run={run[1]}")
    bundle = saved(here, "bundle", tmp_path)
    here.reload()
    ready(here)
    empty = tmp_path / "there"
    empty.mkdir()
    with serving(empty) as other:
        there = opened(browser, f"{other}/imports")
        there.get_by_test_id("stFileUploader").locator("input").set_input_files(bundle)
        there.get_by_role("button", name=EN("imports.save", n=1)).click()
        there.get_by_role("link", name="Open Gemma 3 270M").click()
        expect(there.get_by_role("heading", name="Gemma 3 270M · llama.cpp")).to_be_visible()
        ready(there)
        marks = (EN("imports.elsewhere"), EN("imports.elsewhere_note"))
        theirs, ours = shown(there), shown(here)
        more = [line for line in theirs if any(mark in line for mark in marks)]
        assert len(more) == 2, "and that it was measured elsewhere"
        assert [line for line in theirs if line and line not in more] == list(filter(None, ours))
        there.context.close()
    here.context.close()


def shown(page: Page) -> list[str]:
    """What a reader sees of the page but its charts, which test_bundle.py compares."""
    drawn(page)
    page.evaluate("document.querySelectorAll('svg').forEach(one => one.remove())")
    told = page.get_by_test_id("stMain").inner_text().splitlines()
    assert len(told) > 40
    return told
