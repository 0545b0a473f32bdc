"""From the page in Chromium to a container and back: launch, measure, stop, and all that goes wrong
in between. After each test no container is left."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench import catalogue, config, planning, store, worker
from bench.config import Config
from bench.text import Words, words
from tests.conftest import until
from tests.serving import serving
from tests.spark import clear, containers, spark_host  # noqa: F401
from tests.test_docker_runs import container, memory
from tests.test_worker import TINY, benches, ended, workers
from tests.test_worker import until as until_run

pytestmark = [pytest.mark.browser, pytest.mark.docker, pytest.mark.engine, pytest.mark.timeout(600)]
LIMIT = 240_000
"""Milliseconds until a busy machine has started an engine or noticed its end."""
MODEL = "SmolLM2 135M Instruct"
en, zh = words("en"), words("zh-TW")


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docker-story")
    (folder / "proc").mkdir()
    memory(folder / "proc", 100)
    return folder


@pytest.fixture(scope="module")
def environment(var: Path, spark_host: str) -> dict[str, str]:  # noqa: F811
    """What makes the app the app of a stand-in Spark."""
    return {
        "SPARK_COMPARE_VAR": str(var),
        "SPARK_COMPARE_PROC": str(var / "proc"),
        "SPARK_COMPARE_IDLE_SECONDS": "0.5",
        "DOCKER_HOST": spark_host,
    }


@pytest.fixture(scope="module")
def server(var: Path, environment: dict[str, str]) -> Iterator[str]:
    try:
        with serving(var, **environment) as address:
            yield address
    finally:
        left = workers(var)
        for one in left:
            one.terminate()
        psutil.wait_procs(left, timeout=30)


@pytest.fixture
def settings(
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Config]:
    """The app's own settings; no container may be left."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    made = config.read()
    yield made
    with store.opened(made.database) as db:  # of a test that failed
        left = [run.id for run in store.runs(db) if run.live]
        for run in left:
            store.cancel(db, run)
    if left:
        worker.ensure(made)
    for run in left:
        until_run(made, run, ended)
    assert clear(made.docker_host) == [], "a container was left"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@contextmanager
def person(browser: Browser, url: str, locale: str = "en-GB") -> Iterator[Page]:
    """A page in a browser of one's own; it must show no exception."""
    context = browser.new_context(locale=locale)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(url)
    yield page
    expect(page.get_by_test_id("stException")).to_have_count(0)
    context.close()


def chosen(page: Page, t: Words) -> None:
    """SmolLM2 on llama.cpp in a container. Each choice draws the page anew, so it is waited for."""
    happens = page.get_by_test_id("stMarkdown").locator("li")
    page.get_by_text(MODEL, exact=True).click()
    expect(happens.filter(has_text=MODEL).first).to_be_visible(timeout=60_000)
    page.get_by_role("radiogroup").get_by_text("llama.cpp", exact=True).click()
    started = t("launch.step_start", model=MODEL, engine="llama.cpp")
    expect(happens.get_by_text(started, exact=True)).to_be_visible(timeout=60_000)


def launched(page: Page, t: Words) -> str:
    """The id of the run that a click on the Start page began."""
    page.get_by_role("button", name=t("launch.start")).click()
    page.wait_for_url(re.compile(r"/run\?run="))
    return page.url.rpartition("=")[2]


def measuring(page: Page, t: Words) -> None:
    state(page, t("states.measuring"))


def state(page: Page, said: str) -> None:
    badge = page.get_by_test_id("stMain").locator("p").filter(has_text=re.compile(f"{said}$"))
    expect(badge.first).to_be_visible(timeout=LIMIT)
    expect(page.get_by_test_id("stApp")).to_have_attribute(  # what is opened before stays closed
        "data-test-script-state", "notRunning"
    )


def name(run: str) -> str:
    return f"spark-compare-{run}"


def test_two_people_queue_and_stop_and_a_killed_container_says_why(
    browser: Browser, server: str, settings: Config
) -> None:
    host = settings.docker_host
    with person(browser, server, "zh-TW") as ann, person(browser, server) as ben:
        chosen(ann, zh)
        ann.get_by_text(zh("launch.command")).click()
        shown = ann.get_by_test_id("stCode").filter(has_text="docker run").first
        expect(shown).to_contain_text("--gpus all")
        first = launched(ann, zh)
        measuring(ann, zh)
        assert containers(host) == [name(first)]

        chosen(ben, en)
        expect(ben.get_by_text(en("launch.busy"))).to_be_visible()
        second = launched(ben, en)
        expect(ben.get_by_text(en("live.queued_one"))).to_be_visible()
        assert containers(host) == [name(first)], "one at a time"

        ann.get_by_role("button", name=zh("runs.cancel")).click()
        state(ann, zh("states.cancelled"))

        measuring(ben, en)
        assert containers(host) == [name(second)]
        container(settings, second).kill()
        state(ben, en("states.failed"))
        why = ben.get_by_test_id("stAlert")
        expect(why).to_contain_text(en("diagnosis.exit_killed.cause")[:20])
        until(lambda: containers(host) == [], limit=30)


def test_memory_at_its_floor_stops_the_engine_and_the_page_says_so(
    browser: Browser, server: str, settings: Config, var: Path
) -> None:
    with person(browser, server, "zh-TW") as page:
        chosen(page, zh)
        launched(page, zh)
        measuring(page, zh)
        memory(var / "proc", 3.5)
        try:
            state(page, zh("states.failed"))
        finally:
            memory(var / "proc", 100)
        expect(page.get_by_test_id("stAlert")).to_contain_text("3.5 GiB")
        until(lambda: containers(settings.docker_host) == [], limit=30)


def test_what_a_killed_worker_left_is_stopped_from_the_list(
    browser: Browser, server: str, settings: Config
) -> None:
    with person(browser, server) as page:
        chosen(page, en)
        run = launched(page, en)
        measuring(page, en)
        (killed,) = benches(settings)
        killed.send_signal(signal.SIGKILL)
        killed.wait(10)
        assert containers(settings.docker_host) == [name(run)]
        stopped_from_the_list(page, server)
        until(lambda: containers(settings.docker_host) == [], limit=60)
        page.goto(f"{server}/run?run={run}")
        state(page, en("states.interrupted"))


def test_a_kept_engine_is_stopped_from_the_list(
    browser: Browser, server: str, settings: Config
) -> None:
    plan = planning.plan_for(
        catalogue.load(), settings, engine="llama.cpp", model="smollm2-135m", workload="demo-1",
        keep_running=True,
    )  # fmt: skip
    run = worker.submit(settings, msgspec.structs.replace(plan, workload=TINY, prompts=()))
    with person(browser, f"{server}/run?run={run}") as page:
        state(page, en("states.done"))
        with store.opened(settings.database) as db:
            (row,) = store.load(db, [run])
        assert row.facts["image_id"] and row.facts["engine_version"]
        assert containers(settings.docker_host) == [name(run)]
        stopped_from_the_list(page, server)
        until(lambda: containers(settings.docker_host) == [], limit=60)


def stopped_from_the_list(page: Page, server: str) -> None:
    page.goto(f"{server}/runs")
    title = page.get_by_role("heading", name=en("engines.title"))
    expect(title).to_be_visible(timeout=60_000)
    main = page.get_by_test_id("stMain")  # Streamlit has a "Stop" of its own above it
    main.get_by_role("button", name=en("engines.stop"), exact=True).click()
    expect(title).to_have_count(0, timeout=60_000)
