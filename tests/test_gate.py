"""What stands before the server: foreign names and sites, also on the WebSocket, and clicks that
no browser of ours sends."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from bench import store
from bench.people import audit, gate
from bench.running import lock
from tests import examples
from tests.serving import serving

POLICY = "Content Security Policy"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """The folder, the address, and a run that goes on."""
    var = tmp_path_factory.mktemp("gate")
    with serving(var, SPARK_COMPARE_START_WORKER="0") as server, lock.held(var / "worker.lock"):
        with store.opened(var / "bench.db") as db:
            run = examples.live(db)
        yield var, server, run


@contextmanager
def talking(server: str, host: str | None = None, **headers: str) -> Iterator[ClientConnection]:
    """The WebSocket of a page, opened by a client that may say what it likes."""
    port = urlsplit(server).port or 0
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as wire,
        connect(
            f"ws://{host or '127.0.0.1'}:{port}/_stcore/stream",
            sock=wire,
            subprotocols=["streamlit"],  # type: ignore[list-item]
            additional_headers=headers,
            max_size=None,
            open_timeout=60,
        ) as page,
    ):
        yield page


@pytest.mark.parametrize(
    ("host", "headers"),
    [
        ("rebound.example", {}),
        (None, {"origin": "http://evil.example"}),
        (None, {"origin": "null"}),
        (None, {"origin": "http://localhost:3000"}),  # another program on this machine
        ("rebound.example", {"origin": "http://rebound.example"}),  # a page's own name, led here
    ],
)
def test_a_foreign_name_or_site_gets_no_websocket(
    live: tuple[Path, str, str], host: str | None, headers: dict[str, str]
) -> None:
    with pytest.raises(InvalidStatus) as refused, talking(live[1], host, **headers):
        pass
    assert refused.value.response.status_code == 403


def test_a_page_of_ours_gets_its_websocket(live: tuple[Path, str, str]) -> None:
    with talking(live[1], origin=live[1]) as page:
        assert shown(page, opening("runs"))


def opening(page: str, query: str = "") -> BackMsg:
    message = BackMsg()
    message.rerun_script.page_name = page
    message.rerun_script.query_string = query
    return message


def shown(page: ClientConnection, message: BackMsg) -> list[ForwardMsg]:
    """Everything that the page says until its script has ended."""
    page.send(message.SerializeToString())
    said: list[ForwardMsg] = []
    while not said or said[-1].WhichOneof("type") != "script_finished":
        said.append(ForwardMsg.FromString(page.recv(timeout=60)))  # type: ignore[arg-type]
    return said


def button(said: list[ForwardMsg], label: str) -> tuple[str, bool]:
    """A button's id, and whether it is disabled."""
    found = [one.delta.new_element.button for one in said if one.delta.new_element.button.id]
    (wanted,) = [one for one in found if one.label == label]
    return wanted.id, wanted.disabled


def clicking(message: BackMsg, id: str) -> BackMsg:
    message.rerun_script.widget_states.widgets.append(WidgetState(id=id, trigger_value=True))
    return message


@pytest.mark.parametrize(
    "headers", [{"x_forwarded_for": "203.0.113.9"}, {"via": "1.1 proxy"}, {"x_real_ip": "::1"}]
)
def test_a_click_that_was_made_up_stops_nothing_for_a_viewer(
    live: tuple[Path, str, str], headers: dict[str, str]
) -> None:
    var, server, run = live
    with talking(server, **headers) as page:
        id, disabled = button(shown(page, opening("run", f"run={run}")), "Stop this run")
        assert disabled
        shown(page, clicking(opening("run", f"run={run}"), id))
    with store.opened(var / "bench.db") as db:
        assert not store.cancelling(db, run)
        assert audit.entries(db) == []


def test_the_same_click_at_this_machine_stops_the_run(live: tuple[Path, str, str]) -> None:
    var, server, _ = live
    with store.opened(var / "bench.db") as db:
        run = examples.live(db)
    with talking(server, origin=server) as page:
        id, disabled = button(shown(page, opening("run", f"run={run}")), "Stop this run")
        assert not disabled
        shown(page, clicking(opening("run", f"run={run}"), id))
    with store.opened(var / "bench.db") as db:
        assert store.cancelling(db, run)
        assert [(entry.who, entry.run) for entry in audit.entries(db)] == [("local", run)]


def test_a_click_that_was_made_up_starts_nothing_for_a_viewer(
    live: tuple[Path, str, str],
) -> None:
    var, server, _ = live
    with store.opened(var / "bench.db") as db:
        before = len(store.runs(db))
    with talking(server, x_forwarded_for="203.0.113.9") as page:
        id, disabled = button(shown(page, opening("")), "Start the run")
        assert disabled
        shown(page, clicking(opening(""), id))
    with store.opened(var / "bench.db") as db:
        assert len(store.runs(db)) == before


@pytest.mark.parametrize(
    ("referer", "page"),
    [
        ("http://a.example/run?run=abc", "/run?run=abc"),
        ("http://a.example/", "/"),
        ("http://evil.example/run", None),
        ("http://a.example//evil.example", None),
        ("http://a.example/\\evil.example", None),
        ("http://a.example/é", None),
        ("http://a.example/" + "x" * 2000, None),
        (None, None),
    ],
)
def test_the_page_to_come_back_to_is_one_of_ours(referer: str | None, page: str | None) -> None:
    assert gate.page_of(referer, "a.example") == page


@pytest.mark.parametrize(
    ("path", "safe"),
    [
        ("/spark/run?run=a", True),
        ("/other", False),
        ("//evil.example/spark/", False),
        ("https://evil.example/spark/", False),
        ("/spark/\r\nset-cookie: a=b", False),
    ],
)
def test_a_sub_path_is_not_left_on_the_way_back(path: str, safe: bool) -> None:
    assert gate.safe_path(path, "/spark") == (path if safe else None)


@pytest.mark.browser
def test_pages_need_nothing_that_the_policy_forbids(live: tuple[Path, str, str]) -> None:
    """Charts are drawn and files saved with nothing refused, and a remote picture is not asked."""
    var, server, run = live
    with store.opened(var / "bench.db") as db:
        other = examples.done(db, "gemma3-270m", "Gemma 3 270M", 55, examples.GOOD)
    refused: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = chromium.new_page(locale="en-US")
        page.on("console", lambda said: refused.append(said.text) if POLICY in said.text else None)
        page.goto(f"{server}/compare?run={run}&run={other}")
        drawn = page.get_by_test_id("stVegaLiteChart").locator("canvas, svg").first
        expect(drawn).to_be_visible(timeout=60_000)
        page.get_by_role("button", name="Save").first.click()
        with page.expect_download(timeout=60_000):
            page.get_by_role("button", name="Image (PNG)").click()
        # Streamlit asks Google for the icon of each entry in the navigation, to show it on the tab.
        assert [one for one in refused if "materialsymbols" not in one] == []
        tab = page.locator("link[rel='shortcut icon']")
        expect(tab).to_have_attribute(
            "href", re.compile("^(http://127|/|\\./|data:)"), timeout=9000
        )
        with page.expect_console_message(lambda said: POLICY in said.text) as said:
            page.evaluate("() => { new Image().src = 'http://elsewhere.test/a.png' }")
        assert "elsewhere.test" in said.value.text
        chromium.close()
