"""The real server: a deep link as its very first request, JSON for scripts, health."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench import store
from tests import examples
from tests.serving import serving


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    var = tmp_path_factory.mktemp("server")
    with store.opened(var / "bench.db") as db:
        ids = [
            examples.done(db, "smollm2-135m", "SmolLM2 135M", 120, examples.POOR),
            examples.done(db, "gemma3-270m", "Gemma 3 270M", 55, examples.GOOD),
        ]
    return var, ids


@pytest.fixture(scope="module")
def server(runs: tuple[Path, list[str]]) -> Iterator[str]:
    with serving(runs[0], "--server.enableAgentApi=true") as address:
        yield address


def interact(server: str, **asked: Any) -> dict[str, Any]:
    answer = httpx.post(f"{server}/_stcore/agent/interact", json=asked, timeout=60)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_deep_link_as_first_request_of_a_fresh_server_goes_through_the_router(
    server: str, runs: tuple[Path, list[str]]
) -> None:
    page = interact(server, page="compare", query_params={"run": runs[1]})  # the first request
    shown = json.dumps(page, ensure_ascii=False)
    assert page["status"] == "ready", shown[:2000]
    assert "language" in {action["key"] for action in page["actions"]}
    assert "SmolLM2 135M" in shown and "Gemma 3 270M" in shown
    assert {one["url_path"] for one in page["pages"]} >= {"runs", "compare", "chinese"}


def test_the_health_check_answers(server: str) -> None:
    assert httpx.get(f"{server}/_stcore/health").text == "ok"


def test_a_pasted_link_says_what_it_shows(server: str, runs: tuple[Path, list[str]]) -> None:
    ids = "&".join(f"run={run}" for run in runs[1])
    answer = httpx.get(f"{server}/compare?{ids}", headers={"accept-language": "en"})
    assert '<meta property="og:title" content="SmolLM2 135M against Gemma 3 270M' in answer.text
    assert "content-security-policy" in answer.headers
    assert "<title>Spark Compare</title>" in httpx.get(f"{server}/").text
