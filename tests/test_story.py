"""The whole story in a real browser: launch, finish, compare, share, export. Both demo models run
on llama.cpp's real server; nothing is faked."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench import catalogue, config, store
from bench.shown import writing
from bench.text import words
from bench.web import links
from engines.process import free_port, stop_strays
from tests.test_vote import insist

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.timeout(2000)]
LIMIT = 900_000
"""Milliseconds for a run on a busy machine with two cores."""
zh, en = words("zh-TW"), words("en")
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("story")
    yield folder
    stop_strays(folder)


class App:
    """The app as a newcomer starts it, on a port of its own."""

    def __init__(self, var: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (var / f"server-{self.port}.log").open("w")
        self._child = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(self.port)],
            cwd=config.ROOT,
            env=os.environ | {"SPARK_COMPARE_VAR": str(var), "SPARK_COMPARE_IDLE_SECONDS": "2"},
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + 60
        while not self._healthy():
            assert self._child.poll() is None, Path(self._log.name).read_text()
            assert time.monotonic() < deadline, "the app did not start"
            time.sleep(0.1)

    def _healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/_stcore/health").text == "ok"
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        self._child.send_signal(signal.SIGTERM)
        self._child.wait(30)
        self._log.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def app(var: Path) -> Iterator[App]:
    running = App(var)
    yield running
    running.stop()


def fresh(browser: Browser, url: str, locale: str) -> Page:
    """A page in a browser that has never seen the app."""
    page = browser.new_context(locale=locale, accept_downloads=True).new_page()
    page.set_default_timeout(60_000)
    page.goto(url)
    return page


def launch(page: Page, model: str, start: str) -> str:
    """Choose a model, keep what is preselected, start; the run's id."""
    page.get_by_text(model, exact=True).click()
    happens = page.get_by_test_id("stMarkdown").locator("li").filter(has_text=model)
    expect(happens).to_be_visible(timeout=60_000)
    page.get_by_role("button", name=start).click()
    page.wait_for_url(re.compile(r"/run\?run="))
    return page.url.rpartition("=")[2]


def finish(page: Page, done: str) -> None:
    """Wait, without a reload, for the state of the run to be as said."""
    state = page.get_by_test_id("stMain").locator("p").filter(has_text=re.compile(f"{done}$"))
    expect(state.first).to_be_visible(timeout=LIMIT)


@pytest.fixture(scope="module")
def runs(app: App, browser: Browser) -> list[str]:
    """Both demo models, started from the page and watched to their end."""
    first = fresh(browser, app.url, "zh-TW")
    smollm = launch(first, "SmolLM2 135M Instruct", zh("launch.start"))
    second = fresh(browser, app.url, "en-GB")
    gemma = launch(second, "Gemma 3 270M (base)", en("launch.start"))
    finish(first, zh("states.done"))
    first.context.close()  # closing the browser changes nothing
    finish(second, en("states.done"))
    second.context.close()
    return [smollm, gemma]


def test_two_models_are_launched_and_finish_while_the_page_is_watched(
    runs: list[str], var: Path
) -> None:
    with store.opened(var / "bench.db") as db:
        for run in store.load(db, runs):
            assert (run.state, run.fault) == ("done", None)
            levels = store.levels(db, run.id)
            assert [level.name for level in levels] == ["pp128", "pp512", "tg64", "c1", "c2", "c4"]
            assert all(level.failed == 0 for level in levels)
            assert all(answer.sample.ok for answer in store.answers(db, run.id))


def test_a_shared_comparison_opens_in_a_fresh_browser_on_a_fresh_server(
    runs: list[str], var: Path, browser: Browser
) -> None:
    another = App(var)  # its very first request is the link
    try:
        link = f"{another.url}/compare?run={runs[0]}&run={runs[1]}"
        page = fresh(browser, link, "zh-TW")
        expect(page.get_by_role("heading", name=zh("compare.title"))).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_text("SmolLM2 135M").first).to_be_visible()
        expect(page.get_by_text("Gemma 3 270M").first).to_be_visible()
        expect(page.get_by_test_id("stException")).to_have_count(0)
        page.get_by_role("button", name=zh("share.share")).click()
        expect(page.get_by_test_id("stCode").get_by_text(runs[1])).to_be_visible()
        page.context.close()
        english = fresh(browser, link, "en-GB")
        expect(english.get_by_role("heading", name=en("compare.title"))).to_be_visible()
        english.context.close()
    finally:
        another.stop()


def test_a_chart_is_saved_as_an_image_and_the_numbers_as_a_table(
    runs: list[str], app: App, browser: Browser, tmp_path: Path
) -> None:
    page = fresh(browser, f"{app.url}/compare?run={runs[0]}&run={runs[1]}", "zh-TW")
    page.get_by_role("button", name=zh("export.save")).first.click()
    with page.expect_download() as png:
        page.get_by_role("button", name=zh("export.png")).click()
    assert Path(png.value.path()).read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as svg:
        page.get_by_role("button", name=zh("export.svg")).click()
    assert "SmolLM2" in Path(svg.value.path()).read_text()
    page.keyboard.press("Escape")
    page.get_by_test_id("stExpander").get_by_text(zh("compare.table"), exact=True).click()
    with page.expect_download() as table:
        page.get_by_role("button", name=zh("export.csv")).last.click()
    assert Path(table.value.path()).read_bytes().startswith(b"\xef\xbb\xbf")
    assert page.url.count("run=") == 2, "a download changes nothing"
    page.context.close()


def test_the_runs_page_shows_both_and_sets_them_side_by_side(
    runs: list[str], app: App, browser: Browser
) -> None:
    page = fresh(browser, f"{app.url}/runs", "en-GB")
    boxes = page.get_by_test_id("stCheckbox")
    expect(boxes).to_have_count(2)
    for number in range(2):
        boxes.nth(number).locator("label").click()
    page.get_by_role("button", name=en("runs.compare", n=2)).click()
    page.wait_for_url(re.compile(r"/compare\?run=.*&run="))
    assert all(run in page.url for run in runs)
    page.context.close()


def test_the_answers_in_chinese_are_read_side_by_side(
    runs: list[str], app: App, browser: Browser
) -> None:
    page = fresh(browser, f"{app.url}/chinese?run={runs[0]}&run={runs[1]}", "zh-TW")
    expect(page.get_by_role("heading", name=zh("zh.title")).first).to_be_visible()
    for model in ("SmolLM2 135M", "Gemma 3 270M"):
        told = page.get_by_test_id("stAlert").filter(has_text=model)
        expect(told).to_contain_text(re.compile("不會寫中文|不一定會寫中文"))
    expect(page.get_by_test_id("stException")).to_have_count(0)
    page.context.close()


def test_every_finding_in_the_models_answers_is_right_as_looked_up_by_hand(
    runs: list[str], var: Path
) -> None:
    """Both models echo, loop and stop at the limit; neither writes a word of the Mainland."""
    with store.opened(var / "bench.db") as db:
        results = links.load(db, runs, catalogue.load(), en)
    for one in (one for result in results for one in writing.readings(result)):
        said, sample = one.answer.sample.text, one.answer.sample
        for found in one.counted:
            assert found.rule in (
                "special_token", "truncated", "too_long", "item_too_long", "wrong_items",
                "wrong_lines", "term_missing", "loop", "empty", "not_chinese", "english_sentence",
            ), (found, said)  # fmt: skip
            if found.rule == "special_token":
                assert found.text.startswith("<|") and found.text.endswith("|>")
            if found.rule == "truncated":
                assert sample.finish == "length"
            if found.rule == "term_missing":
                assert str(found.fields["term"]) not in said
    assert all(writing.literacy(writing.readings(result)).level != "yes" for result in results)


def test_two_people_vote_on_the_models_answers_and_a_fresh_link_shows_it(
    runs: list[str], app: App, browser: Browser, var: Path
) -> None:
    link = f"{app.url}/chinese?run={runs[0]}&run={runs[1]}"
    operator = fresh(browser, link, "en-GB")
    operator.get_by_role("button", name=en("vote.make")).click()
    operator.get_by_role("button", name=en("vote.make_button")).click()
    code = operator.get_by_test_id("stCode").filter(has_text="vote?ballot=").first
    expect(code).to_be_visible()
    ballot = code.inner_text().strip()
    operator.context.close()
    for _ in range(2):
        person = fresh(browser, ballot, "zh-TW")
        first = person.get_by_text(zh("vote.progress", number=1, of=3))
        expect(first).to_be_visible()
        expect(person.locator(".answer")).to_have_count(2)
        insist(person, partial(person.keyboard.press, "4"), first)
        expect(person.get_by_text(zh("vote.progress", number=2, of=3))).to_be_visible()
        person.context.close()
    page = fresh(browser, link, "en-GB")
    expect(page.get_by_text(en("vote.results"))).to_be_visible()
    expect(page.get_by_text("2 votes of 2 voters count.")).to_be_visible()
    expect(page.get_by_text("not enough votes yet")).to_be_visible()
    page.context.close()


def test_no_engine_is_left(runs: list[str], var: Path) -> None:
    assert not list((var / "engines").glob("*.json"))
