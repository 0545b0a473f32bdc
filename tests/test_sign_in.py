"""Signing in with a real identity provider on this machine, in Chromium."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from bench import store
from bench.people import audit
from bench.running import lock
from bench.text import words
from engines.process import free_port
from tests import examples
from tests.serving import serving

pytestmark = pytest.mark.browser
LIMIT = 60_000
en, zh = words("en"), words("zh-TW")
PEOPLE = {
    "mei": {"email": "mei@example.com", "email_verified": True},
    "an": {"email": "an@example.com", "email_verified": True},
    "guest": {"email": "guest@elsewhere.example", "email_verified": True},
    "pretender": {"email": "mei@example.com", "email_verified": False},
}
SETTINGS = {
    "SPARK_COMPARE_START_WORKER": "0",
    "SPARK_COMPARE_OPERATORS": "mei@example.com",
    "SPARK_COMPARE_VIEWERS": "@example.com",
}


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An OpenID Connect provider that asks who one wants to be; yields its address."""
    port = free_port()
    people = [json.dumps({"sub": sub} | claims) for sub, claims in PEOPLE.items()]
    given = [word for person in people for word in ("--user-claims", person)]
    log = (tmp_path_factory.mktemp("provider") / "log").open("w")
    child = subprocess.Popen(
        [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *given],
        env=os.environ | {"AUTHLIB_INSECURE_TRANSPORT": "1"},
        stdout=log,
        stderr=log,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 60
        while not answers(f"{address}/.well-known/openid-configuration"):
            assert child.poll() is None and time.monotonic() < deadline, Path(log.name).read_text()
            time.sleep(0.1)
        yield address
    finally:
        child.terminate()
        child.wait(30)
        log.close()


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.TransportError:
        return False


class Place:
    """One installation: its folder, its address, and a run that goes on."""

    def __init__(self, var: Path, provider: str) -> None:
        self.var, self.port = var, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        with store.opened(var / "bench.db") as db:
            self.run = examples.live(db)
        self.page = f"{self.address}/run?run={self.run}"
        self.secrets = var / "secrets.toml"
        self.secrets.write_text(
            f"""[auth]
            redirect_uri = "{self.address}/oauth2callback"
            cookie_secret = "a secret of this test and of nothing else"
            client_id = "spark-compare"
            client_secret = "between the test and its provider"
            server_metadata_url = "{provider}/.well-known/openid-configuration"
            """
        )

    @contextmanager
    def open(self, **more: str) -> Iterator[None]:
        flag = f"--secrets.files={self.secrets}"
        settings = SETTINGS | {"AUTHLIB_INSECURE_TRANSPORT": "1"} | more
        with serving(self.var, flag, port=self.port, **settings):
            yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, provider: str) -> Iterator[Place]:
    found = Place(tmp_path_factory.mktemp("signin"), provider)
    with found.open():
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser that has never seen the app."""
    context = chromium.new_context(locale="en-US")
    context.set_default_timeout(LIMIT)
    yield context
    context.close()


def opened(browser: BrowserContext, url: str) -> Page:
    page = browser.new_page()
    page.goto(url)
    expect(page.get_by_role("heading").first).to_be_visible(timeout=LIMIT)
    return page


def sign_in(page: Page, who: str) -> None:
    page.get_by_role("button", name=en("access.sign_in")).click()
    page.get_by_role("button", name=who, exact=True).click()
    page.wait_for_url(re.compile(r"http://127\.0\.0\.1:\d+/run"))
    expect(page.get_by_role("heading").first).to_be_visible(timeout=LIMIT)


def told(page: Page, text: str) -> None:
    expect(page.get_by_text(text).first).to_be_visible(timeout=LIMIT)


def test_nobody_sees_a_result_before_signing_in(browser: BrowserContext, place: Place) -> None:
    page = opened(browser, place.page)
    told(page, en("access.sign_in_title"))
    assert page.get_by_text("SmolLM2").count() == 0
    assert page.get_by_role("link", name=en("nav.runs")).count() == 0
    for path in ("/api/runs", f"/api/runs/{place.run}", "/api/compare?run=a&run=b"):
        answer = httpx.get(place.address + path)
        assert (answer.status_code, answer.json()["error"]) == (401, "sign_in")
        assert "SmolLM2" not in answer.text


def test_an_operator_comes_back_to_the_link_and_may_stop_the_run(
    browser: BrowserContext, place: Place
) -> None:
    page = opened(browser, place.page)
    sign_in(page, "mei")
    assert page.url == place.page  # and not the first page
    told(page, en("access.role.operator"))
    told(page, "mei@example.com")
    assert page.request.get(f"{place.address}/api/runs/{place.run}").status == 200
    with lock.held(place.var / "worker.lock"):
        page.get_by_role("button", name=en("runs.cancel")).click()
        told(page, en("live.cancelling"))
    with store.opened(place.var / "bench.db") as db:
        (entry,) = [one for one in audit.entries(db) if one.action == "cancel"]
    assert (entry.who, entry.run) == ("mei@example.com", place.run)


def test_a_viewer_looks_and_cannot_start(browser: BrowserContext, place: Place) -> None:
    page = opened(browser, place.page)
    sign_in(page, "an")
    told(page, en("access.role.viewer"))
    expect(page.get_by_role("button", name=en("runs.cancel"))).to_be_disabled(timeout=LIMIT)
    page.get_by_role("link", name=en("nav.launch")).click()
    told(page, en("access.why.viewer"))
    expect(page.get_by_role("button", name=en("launch.start"))).to_be_disabled(timeout=LIMIT)
    assert page.get_by_role("link", name=en("nav.audit")).count() == 0
    assert page.request.get(f"{place.address}/api/runs").status == 200


def test_an_address_that_the_provider_did_not_verify_makes_nobody_an_operator(
    browser: BrowserContext, place: Place
) -> None:
    page = opened(browser, place.page)
    sign_in(page, "pretender")
    told(page, en("access.why.refused"))
    assert page.get_by_text("SmolLM2").count() == 0
    assert page.request.get(f"{place.address}/api/runs").status == 403


def test_a_stranger_is_refused_and_may_try_another_account(
    browser: BrowserContext, place: Place
) -> None:
    page = opened(browser, place.page)
    sign_in(page, "guest")
    told(page, en("access.why.refused"))
    page.get_by_role("button", name=en("access.sign_in_other")).click()
    page.get_by_role("button", name="an", exact=True).click()
    told(page, en("access.role.viewer"))


def test_who_is_refused_by_the_provider_stays_outside(
    browser: BrowserContext, place: Place
) -> None:
    page = opened(browser, place.page)
    page.get_by_role("button", name=en("access.sign_in")).click()
    page.get_by_role("button", name="Deny").click()
    told(page, en("access.sign_in_title"))
    assert page.request.get(f"{place.address}/api/runs").status == 401


def test_after_signing_out_neither_this_tab_nor_another_nor_a_copied_cookie_opens_anything(
    browser: BrowserContext, chromium: Browser, place: Place
) -> None:
    page = opened(browser, place.page)
    sign_in(page, "mei")
    told(page, "mei@example.com")
    other = opened(browser, place.page)
    told(other, "mei@example.com")
    copied = browser.cookies()
    assert any(one["name"] == "_streamlit_user" for one in copied)
    page.get_by_role("button", name=en("access.sign_out")).click()
    page.get_by_role("button", name="End session").click()
    told(page, en("access.sign_in_title"))
    other.get_by_text("繁體中文", exact=True).first.click()  # the tab that was open draws anew
    told(other, zh("access.sign_in_title"))
    thief = chromium.new_context(locale="en-US")
    thief.add_cookies([{**one} for one in copied])  # type: ignore[typeddict-item]
    told(opened(thief, place.page), en("access.sign_in_title"))
    assert thief.request.get(f"{place.address}/api/runs").status == 401
    thief.close()


def test_a_changed_cookie_is_none(browser: BrowserContext, place: Place) -> None:
    page = opened(browser, place.page)
    sign_in(page, "an")
    told(page, "an@example.com")
    cookies = browser.cookies()
    for one in cookies:
        if one["name"] == "_streamlit_user":
            one["value"] = one["value"][:-4] + "AAAA"
    browser.clear_cookies()
    browser.add_cookies([{**one} for one in cookies])  # type: ignore[typeddict-item]
    told(opened(browser, place.page), en("access.sign_in_title"))
    assert browser.request.get(f"{place.address}/api/runs").status == 401


def test_a_sign_in_ends_after_its_hours(
    browser: BrowserContext, tmp_path: Path, provider: str
) -> None:
    place = Place(tmp_path, provider)
    with place.open():
        page = opened(browser, place.page)
        sign_in(page, "mei")
        told(page, "mei@example.com")
    with place.open(SPARK_COMPARE_SIGN_IN_HOURS="0"):  # hours later
        page = opened(browser, place.page)
        told(page, en("access.why.expired"))
        assert page.get_by_text("SmolLM2").count() == 0
        answer = page.request.get(f"{place.address}/api/runs")
        assert (answer.status, answer.json()["error"]) == (401, "expired")
        page.get_by_role("button", name=en("access.sign_in_other")).click()
        expect(page.get_by_role("button", name="mei", exact=True)).to_be_visible(timeout=LIMIT)
