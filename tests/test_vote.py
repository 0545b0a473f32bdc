"""Reading and voting in Chromium: what only a browser can show. All answers are test data."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from bench import store
from bench.text import words
from bench.votes import ballots
from tests import chinese_examples as made
from tests.serving import serving

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
zh, en = words("zh-TW"), words("en")
PROMPTS = made.SHORT[:3]
HOSTILE = (
    "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
    "![pixel](http://127.0.0.1:9/x.png) 這是软件。"
)
expect.set_options(timeout=30_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vote")


@pytest.fixture(scope="module")
def runs(var: Path) -> dict[str, str]:
    with store.opened(var / "bench.db") as db:
        return {
            "good": made.run(db, "good", prompts=PROMPTS),
            "poor": made.run(db, "poor", prompts=PROMPTS),
            "hostile": made.run(db, "hostile", {PROMPTS[0].id: HOSTILE}, PROMPTS),
        }


@pytest.fixture(scope="module")
def server(var: Path, runs: dict[str, str]) -> Iterator[str]:
    with serving(var, SPARK_COMPARE_START_WORKER="0") as address:
        yield address


def person(browser: Browser, url: str, locale: str = "en-GB", width: int = 1280) -> Page:
    """A page in a browser that has never seen the app."""
    context = browser.new_context(locale=locale, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(url)
    expect(page.get_by_role("heading").first).to_be_visible(timeout=60_000)
    return page


def test_a_findings_reason_is_shown_to_the_mouse_and_to_the_tab_key(
    browser: Browser, server: str, runs: dict[str, str]
) -> None:
    page = person(browser, f"{server}/chinese?run={runs['poor']}&prompt={PROMPTS[0].id}")
    marks = page.locator(".answer mark")
    why = marks.nth(0).locator(".why")
    expect(marks.first).to_be_visible()
    expect(why).to_be_hidden()
    marks.nth(0).hover()
    expect(why).to_be_visible()
    expect(why).to_contain_text("Simplified character")
    page.mouse.move(0, 0)
    expect(why).to_be_hidden()
    marks.nth(0).focus()
    expect(why).to_be_visible()
    page.keyboard.press("Tab")
    expect(why).to_be_hidden()
    expect(marks.nth(1).locator(".why")).to_be_visible()
    described = marks.nth(1).get_attribute("aria-describedby")
    expect(page.locator(f"#{described}")).to_have_count(1)
    page.context.close()


def test_a_reason_stays_within_a_narrow_screen(
    browser: Browser, server: str, runs: dict[str, str]
) -> None:
    link = f"{server}/chinese?run={runs['poor']}&prompt={PROMPTS[0].id}"
    page = person(browser, link, width=400)
    marks = page.locator(".answer mark")
    expect(marks.first).to_be_visible()
    for number in range(marks.count()):
        marks.nth(number).focus()
        box = marks.nth(number).locator(".why").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 400
    page.context.close()


def test_what_a_model_wrote_is_text_and_nothing_of_it_runs_or_is_fetched(
    browser: Browser, server: str, runs: dict[str, str]
) -> None:
    asked: list[str] = []
    context = browser.new_context(locale="en-GB")
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto(f"{server}/chinese?run={runs['hostile']}")
    answer = page.locator(".answer").first
    expect(answer).to_contain_text("<script>document.title='hacked'</script>")
    expect(answer.locator("img, script")).to_have_count(0)
    assert page.title() != "hacked"
    assert not any(":9/" in url for url in asked)
    context.close()


def vote(page: Page, use_keys: bool) -> None:
    """Choose the answer in Traditional characters until all pairs are done. A click that came
    sooner than anybody reads is refused, and is made again."""
    for number in range(1, len(PROMPTS) + 1):
        here = page.get_by_text(f"Pair {number} of {len(PROMPTS)}")
        expect(here).to_be_visible()
        idle = ("data-test-script-state", "notRunning")
        expect(page.get_by_test_id("stApp")).to_have_attribute(*idle)  # no answer of before is left
        texts = page.locator(".answer")
        expect(texts).to_have_count(2)
        good = (
            made.texts("good")[PROMPTS[0].id][:8],
            *(made.texts("good")[one.id].splitlines()[0][:8] for one in PROMPTS[1:]),
        )
        left = any(start in texts.nth(0).inner_text() for start in good)
        side = "left" if left else "right"
        button = page.get_by_role("button", name=en(f"vote.choice.{side}"))
        press = partial(page.keyboard.press, "1" if left else "2")
        insist(page, press if use_keys else button.click, here)


def insist(page: Page, choose: Callable[[], None], pair: Locator) -> None:
    """Choose until the next pair is shown: a choice that comes sooner than anybody reads is
    refused, and made again as soon as a person would."""
    deadline = time.monotonic() + 120
    idle = ("data-test-script-state", "notRunning")
    while pair.is_visible() and time.monotonic() < deadline:
        choose()
        with suppress(AssertionError):
            expect(pair).to_be_hidden(timeout=1_000)
        expect(page.get_by_test_id("stApp")).to_have_attribute(*idle)  # it may come back till then
    expect(pair).to_be_hidden()


def test_two_colleagues_vote_and_a_fresh_link_shows_the_result(
    browser: Browser, server: str, var: Path, runs: dict[str, str]
) -> None:
    link = f"{server}/chinese?run={runs['good']}&run={runs['poor']}"
    operator = person(browser, link)
    operator.get_by_role("button", name=en("vote.make")).click()
    operator.get_by_role("button", name=en("vote.make_button")).click()
    code = operator.get_by_test_id("stCode").filter(has_text="vote?ballot=")
    expect(code.first).to_be_visible()
    ballot_link = code.first.inner_text().strip()
    operator.context.close()

    one = person(browser, ballot_link)
    assert "Example" not in one.get_by_test_id("stMain").inner_text()
    page_source = one.content()
    assert not any(run in page_source for run in runs.values()), "blind in the markup as well"
    reason = one.get_by_role("textbox", name=en("vote.reason"))
    reason.press_sequentially("1 reads better")
    expect(one.get_by_text("Pair 1 of 3")).to_be_visible()  # typing a digit is no vote
    reason.press("Tab")
    one.get_by_role("heading").first.click()
    vote(one, use_keys=True)
    expect(one.get_by_text(en("vote.thanks", of=3))).to_be_visible()
    expect(one.get_by_text("not enough votes yet")).to_be_visible()

    two = person(browser, ballot_link)
    vote(two, use_keys=False)
    won = "Example A is preferred to Example C: it won 6 of 6 decided votes"
    expect(two.get_by_text(won)).to_be_visible()

    one.reload()
    expect(one.get_by_text(en("vote.thanks", of=3))).to_be_visible()  # once for each pair
    fresh = person(browser, link, "zh-TW")
    expect(fresh.get_by_text(zh("vote.results"))).to_be_visible()
    expect(fresh.get_by_text(re.compile("大家比較喜歡 Example A"))).to_be_visible()
    for page in (one, two, fresh):
        page.context.close()
    with store.opened(var / "bench.db") as db:
        cast = ballots.votes_of(db, ballot_link.rpartition("=")[2])
    assert len({vote.voter for vote in cast}) == 2
    assert any(vote.reason == "1 reads better" for vote in cast)
