"""The real server, started as people start it, on a free port of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from bench import config
from bench.config import ROOT
from bench.running import lock
from engines.process import free_port


@contextmanager
def serving(
    var: Path, *flags: str, port: int | None = None, base: str = "", **more: str
) -> Iterator[str]:
    """``streamlit run app.py`` with its own ``var`` and ``more`` environment, at the sub-path
    ``base``; yields its address, and ends all it began."""
    port = port or free_port()
    environ = os.environ | {"SPARK_COMPARE_VAR": str(var), "SPARK_COMPARE_IDLE_SECONDS": "0.2"}
    environ |= more
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", *flags]
    log = var / "server.log"
    with log.open("w") as out:
        child = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=out, stderr=out)
    try:
        _await(child, f"http://127.0.0.1:{port}{base}/_stcore/health", log)
        yield f"http://127.0.0.1:{port}{base}"
    finally:
        child.terminate()
        child.wait(30)
        with lock.held(config.read(environ).lock, wait=60) as free:
            assert free, "its worker did not leave"


def _await(child: subprocess.Popen[bytes], health: str, log: Path, limit: float = 90) -> None:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if child.poll() is not None:
            pytest.fail(f"the server ended:\n{log.read_text()}")
        try:
            if httpx.get(health, timeout=5).text == "ok":
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    pytest.fail(f"the server was not ready:\n{log.read_text()}")
