"""The pages' speed with a full store: ``python -m bench pages-benchmark``.

Fills a store of its own (`crowded`), then times each page in the server and, where Playwright and
Chromium are installed, in a browser, beside a page that shows nothing, in the same run: the ratio
tells of the page, the seconds also of the machine. Besides: one picture, and the memory that a
large file takes to import. Exit code 1: a goal was missed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import httpx

from bench import catalogue, charts, crowded, store
from bench.config import ROOT
from bench.export import picture
from bench.shown import views
from bench.text import words
from bench.web import links

SERVER_S, BROWSER_S, PICTURE_S, IMPORT_MB = 0.3, 1.5, 2.0, 300.0
"""Goals: a page in the server and in Chromium, one PNG, the memory of an import."""
MB = 1_000_000


def main(argv: Sequence[str]) -> int:
    asked = _options(argv)
    with tempfile.TemporaryDirectory() as folder:
        var = Path(folder)
        begun = perf_counter()
        ids = crowded.fill(var / "bench.db", catalogue.load(), asked.runs, asked.samples)
        print(f"{len(ids)} runs made in {perf_counter() - begun:.0f} s", file=sys.stderr)
        pages = _pages(ids)
        missed = _told("server", _in_server(var, pages), SERVER_S)
        if asked.browser and importlib.util.find_spec("playwright") and _chromium():
            missed += _told("Chromium", _in_browser(var, pages), BROWSER_S)
        missed += _said("one PNG of eight runs", _picture(var, ids), "s", PICTURE_S)
        taken = _import(var, asked.file_mb)
        missed += _said(f"import of {asked.file_mb} MB", taken, "MB", IMPORT_MB)
    print("All goals met." if not missed else "Missed: " + "; ".join(missed))
    return 1 if missed else 0


def _options(argv: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m bench pages-benchmark", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--file-mb", type=int, default=200, help="size of the file to import")
    parser.add_argument("--no-browser", dest="browser", action="store_false")
    return parser.parse_args(argv)


def _pages(ids: Sequence[str]) -> dict[str, str]:
    """Address → what it is called; ``-`` is the page that shows nothing."""
    eight = "&".join(f"run={run}" for run in ids[:8])
    return {
        "-": "nothing",
        "runs": "Runs",
        f"run?run={ids[0]}": "Run",
        f"compare?{eight}": "Compare, 8 runs",
    }


def _told(where: str, seconds: dict[str, float], goal: float) -> list[str]:
    """Print what was measured; what missed the goal."""
    nothing = seconds.pop("nothing")
    print(f"{where}: a page that shows nothing {1000 * nothing:.0f} ms")
    for name, value in seconds.items():
        print(f"{where}: {name} {1000 * value:.0f} ms, {value / nothing:.1f} ×")
    return [f"{where}: {name} {value:.2f} s" for name, value in seconds.items() if value > goal]


def _said(what: str, value: float, unit: str, goal: float) -> list[str]:
    print(f"{what}: {value:.1f} {unit}")
    return [f"{what} {value:.1f} {unit}"] if value > goal else []


def _in_server(var: Path, pages: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-m", "pages.elements.timing", *pages]
    done = subprocess.run(command, cwd=ROOT, env=_environ(var), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-2000:])
    told = json.loads(done.stdout)
    return {name: median(told[address]) for address, name in pages.items()}


def _in_browser(var: Path, pages: dict[str, str]) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    nothing = var / "nothing.py"
    nothing.write_text("import streamlit as st\nst.title('Nothing')\n", encoding="utf-8")
    with (
        _serving(var, "app.py") as app,
        _serving(var, str(nothing)) as empty,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        page = browser.new_page()

        def seen(address: str) -> float:
            url = empty if address == "-" else f"{app}/{address}"
            return median(_seen(page, url) for _ in range(4))

        found = {name: seen(address) for address, name in pages.items()}
        browser.close()
    return found


def _seen(page: Any, url: str) -> float:
    """Seconds until a page stands and the server has nothing more to send."""
    begun = perf_counter()
    page.goto(url)
    page.wait_for_selector("[data-testid=stHeading]", timeout=60_000)
    page.wait_for_selector("[data-test-script-state=notRunning]", timeout=60_000)
    return perf_counter() - begun


@contextmanager
def _serving(var: Path, script: str) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}"]
    command += ["--server.headless=true", "--server.address=127.0.0.1"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=ROOT, env=_environ(var), stdout=quiet, stderr=quiet
    ) as child:
        try:
            _await(lambda: httpx.get(f"http://127.0.0.1:{port}/_stcore/health").text == "ok")
            yield f"http://127.0.0.1:{port}"
        finally:
            child.terminate()


def _await(ready: Callable[[], bool], limit: float = 90.0) -> None:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        try:
            if ready():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError("the server did not answer")


def _picture(var: Path, ids: Sequence[str]) -> float:
    t = words("zh-TW")
    with store.opened(var / "bench.db") as db:
        results = links.load(db, ids[:8], catalogue.load(), t)
    figure = charts.throughput(results, t)
    assert figure is not None
    caption = views.caption(figure, t)
    picture.png(figure, caption)  # the first one loads the fonts
    begun = perf_counter()
    picture.png(figure, caption)
    return perf_counter() - begun


def _import(var: Path, megabytes: int) -> float:
    """The most memory that reading the file took, in MB, Python and its modules included."""
    file = var / "guidellm.json"
    crowded.guidellm(file, megabytes * MB)
    code = (
        "import sys, pathlib; from bench import imports; file = pathlib.Path(sys.argv[1]); "
        "assert imports.read(file, file.name).results; "
        "print(pathlib.Path('/proc/self/status').read_text())"
    )
    command = [sys.executable, "-c", code, str(file)]
    done = subprocess.run(command, cwd=ROOT, env=_environ(var), capture_output=True, check=True)
    found = re.search(r"VmHWM:\s+(\d+) kB", done.stdout.decode())
    return int(found[1]) * 1024 / MB if found else 0.0


def _environ(var: Path) -> dict[str, str]:
    return os.environ | {"SPARK_COMPARE_VAR": str(var), "SPARK_COMPARE_START_WORKER": "0"}


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")
