"""Behind a real nginx, set up as docs/sharing.md says: under a sub-path, with the passcode."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from bench import store
from bench.config import ROOT
from bench.people import audit, passcode
from bench.running import lock
from bench.text import words
from engines.process import free_port
from tests import examples
from tests.conftest import until
from tests.serving import serving

NAME = "tools.example"
LIMIT = 60_000
t = words("en")


def documented() -> str:
    """The part of nginx's configuration that the guide shows."""
    guide = (ROOT / "docs" / "sharing.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"```\n(location /spark/ \{.*?\n\})\n```", guide, re.DOTALL)
    return str(found)


@contextmanager
def nginx(folder: Path, location: str, port: int) -> Iterator[None]:
    """nginx with this location, as one process of ours with all its files in ``folder``."""
    places = "\n".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"""daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
        events {{}}
        http {{
            access_log off;
            {places}
            server {{ listen 127.0.0.1:{port}; server_name {NAME}; {location} }}
        }}"""
    )
    child = subprocess.Popen(["nginx", "-p", folder, "-c", folder / "nginx.conf"])
    try:
        yield
    finally:
        child.terminate()
        child.wait(30)


@pytest.mark.browser
def test_the_guides_proxy_works_and_its_visitors_need_the_passcode(tmp_path: Path) -> None:
    port, front = free_port(), free_port()
    with store.opened(tmp_path / "bench.db") as db:
        run = examples.live(db)
    passcode.keep(tmp_path / "passcode", "a good passcode")
    location = documented().replace("127.0.0.1:8501", f"127.0.0.1:{port}")
    settings = {"SPARK_COMPARE_HOSTS": NAME, "SPARK_COMPARE_START_WORKER": "0"}
    flag = "--server.baseUrlPath=spark"
    with (
        serving(tmp_path, flag, port=port, base="/spark", **settings),
        nginx(tmp_path, location, front),
        lock.held(tmp_path / "worker.lock"),
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", f"--host-resolver-rules=MAP {NAME} 127.0.0.1"],
        )
        page = chromium.new_page(locale="en-US")
        page.set_default_timeout(LIMIT)
        url = f"http://{NAME}:{front}/spark"
        page.goto(f"{url}/run?run={run}")
        stop = page.get_by_role("button", name=t("runs.cancel"))
        expect(stop).to_be_disabled(timeout=LIMIT)
        page.get_by_role("button", name=t("access.sign_in")).click()
        page.get_by_label(t("access.passcode")).fill("a good passcode")
        page.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
        expect(stop).to_be_enabled(timeout=LIMIT)
        stop.click()
        expect(page.get_by_text(t("live.cancelling"))).to_be_visible(timeout=LIMIT)
        with store.opened(tmp_path / "bench.db") as db:
            assert store.cancelling(db, run)
            assert [entry.who for entry in audit.entries(db)] == ["passcode", "passcode"]
        page.get_by_role("button", name=t("share.share")).click()
        link = page.get_by_test_id("stCode").filter(has_text=f"{url}/run?run={run}")
        expect(link).to_be_visible(timeout=LIMIT)
        chromium.close()


def test_a_browser_behind_a_proxy_that_writes_localhost_into_host_is_refused(
    tmp_path: Path,
) -> None:
    port, front = free_port(), free_port()
    location = f"location / {{ proxy_pass http://127.0.0.1:{port}; }}"
    with (
        serving(tmp_path, port=port, SPARK_COMPARE_START_WORKER="0"),
        nginx(tmp_path, location, front),
    ):
        until(lambda: answered(front) == 200)
        assert answered(front, origin=f"http://{NAME}") == 403  # what every browser says
        assert answered(port, origin=f"http://{NAME}") == 403


def answered(port: int, **headers: str) -> int:
    """The status of an answer; 0 while there is nobody."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/runs", headers=headers).status_code
    except httpx.TransportError:
        return 0
