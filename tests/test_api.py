"""The JSON routes on the real server: what they answer, and whom they do not."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.applications import Starlette

from bench import store
from bench.people import access, gate
from bench.people.access import Actor
from bench.text import words
from bench.web import api
from tests import examples
from tests.serving import serving

PUBLISHED = "ironman-2026-day9-vllm"
VIEWER = Actor(who="", role="viewer", why="passcode")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    var = tmp_path_factory.mktemp("api")
    with store.opened(var / "bench.db") as db:
        return var, [
            examples.done(db, "smollm2-135m", "SmolLM2 135M", 120, examples.POOR),
            examples.done(db, "gemma3-270m", "Gemma 3 270M", 55, examples.GOOD),
        ]


@pytest.fixture(scope="module")
def server(runs: tuple[Path, list[str]]) -> Iterator[str]:
    with serving(runs[0]) as address:
        yield address


@pytest.fixture(scope="module")
def described(server: str) -> dict[str, Any]:
    return dict(httpx.get(f"{server}/api/openapi.json").raise_for_status().json())


def test_the_description_is_valid_openapi(described: dict[str, Any]) -> None:
    assert list(OpenAPIV31SpecValidator(described).iter_errors()) == []
    assert set(described["paths"]) == {"/api/runs", "/api/runs/{id}", "/api/compare"}
    assert all(list(path) == ["get"] for path in described["paths"].values())  # it only reads


def as_described(answer: httpx.Response, described: dict[str, Any], path: str) -> Any:
    """The answer's JSON, held against what the description says of this path and status."""
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    responses = described["paths"][path]["get"]["responses"]
    schema = responses[str(answer.status_code)]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), schema | {"components": described["components"]})
    return answer.json()


def test_runs_are_listed_newest_first(
    server: str, runs: tuple[Path, list[str]], described: dict[str, Any]
) -> None:
    listed = as_described(httpx.get(f"{server}/api/runs"), described, "/api/runs")
    assert [run["id"] for run in listed] == runs[1][::-1]


def test_a_run_has_its_levels_and_no_path_of_this_machine(
    server: str, runs: tuple[Path, list[str]], described: dict[str, Any]
) -> None:
    answer = httpx.get(f"{server}/api/runs/{runs[1][0]}")
    run = as_described(answer, described, "/api/runs/{id}")
    assert run["levels"][-1]["name"] == "c8"
    assert run["facts"]["engine_version"] == "b7240"
    assert "/models/" not in answer.text and str(runs[0]) not in answer.text


@pytest.mark.parametrize("language", ["en", "zh-TW"])
def test_a_comparison_says_what_its_page_says(
    server: str, runs: tuple[Path, list[str]], described: dict[str, Any], language: str
) -> None:
    asked = {"run": [*runs[1], PUBLISHED], "language": language}
    answer = httpx.get(f"{server}/api/compare", params=asked)
    found = as_described(answer, described, "/api/compare")
    assert [one["id"] for one in found["results"]] == [*runs[1], PUBLISHED]
    assert [one["source"] for one in found["results"]] == ["measured", "measured", "published"]
    assert found["results"][2]["published"]["author"]
    assert any(("SmolLM2" in one and "%" in one) for one in found["sentences"])
    assert any(re.search("[一-鿿]", one) for one in found["sentences"]) is (language == "zh-TW")
    assert "seed" not in [one["key"] for one in found["differences"]]
    assert "/models/" not in answer.text


@pytest.mark.parametrize("id", ["nope", "x" * 10_000, "<b>", "' or 1=1 --", "%F0%9F%92%A5", "{id}"])
def test_an_unknown_run_is_a_404_with_a_sentence(
    server: str, described: dict[str, Any], id: str
) -> None:
    answer = httpx.get(f"{server}/api/runs/{id}", headers={"accept-language": "zh-TW,en"})
    problem = as_described(answer, described, "/api/runs/{id}")
    assert (answer.status_code, problem["error"]) == (404, "unknown")
    assert problem["message"].startswith("這裡沒有「") and len(answer.content) < 500


def test_an_unknown_run_in_a_comparison_is_named(
    server: str, runs: tuple[Path, list[str]], described: dict[str, Any]
) -> None:
    answer = httpx.get(f"{server}/api/compare", params={"run": [*runs[1], "gone"]})
    assert answer.status_code == 404
    assert "“gone”" in as_described(answer, described, "/api/compare")["message"]


@pytest.mark.parametrize("count", [0, 1, 9, 500])
def test_a_comparison_has_two_to_eight_results(
    server: str, described: dict[str, Any], count: int
) -> None:
    asked = {"run": [f"run{n}" for n in range(count)]}
    answer = httpx.get(f"{server}/api/compare", params=asked)
    assert answer.status_code == 400
    assert str(count) in as_described(answer, described, "/api/compare")["message"]


@pytest.mark.parametrize(
    "path", ["..%2f..%2fetc%2fpasswd", "%00", "%2e%2e/app.py", "..\\..\\app.py", "a/../../app.py"]
)
def test_a_route_leads_nowhere_else(server: str, path: str) -> None:
    answer = httpx.get(f"{server}/api/runs/{path}")
    assert "root:" not in answer.text and "st.App" not in answer.text
    assert answer.status_code in (400, 404) or answer.text.startswith("<!--")  # Streamlit's page


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(server: str, runs: tuple[Path, list[str]], method: str) -> None:
    for path in ("/api/runs", f"/api/runs/{runs[1][0]}", "/api/compare", "/api/openapi.json"):
        assert httpx.request(method, f"{server}{path}").status_code == 405


def test_every_answer_carries_the_security_headers(server: str) -> None:
    for path in ("/", "/api/runs", "/api/runs/nope", "/api/openapi.json", "/_stcore/health"):
        answer = httpx.get(f"{server}{path}")
        for name, value in gate.HEADERS.items():
            assert answer.headers[name] == value
    assert "default-src 'self'" in gate.HEADERS["content-security-policy"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:3000"])
def test_another_site_gets_nothing(server: str, origin: str) -> None:
    for path in ("/api/runs", "/api/openapi.json", "/"):
        answer = httpx.get(f"{server}{path}", headers={"origin": origin})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
        assert "another site" in answer.text
    preflight = {"origin": origin, "access-control-request-method": "GET"}
    answer = httpx.options(f"{server}/api/runs", headers=preflight)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_our_own_page_is_answered_without_an_invitation_to_others(server: str) -> None:
    answer = httpx.get(f"{server}/api/runs", headers={"origin": server})
    assert answer.status_code == 200
    assert answer.headers.get("access-control-allow-origin") in (None, server)


def test_a_name_that_is_not_served_is_told_so_in_the_readers_language(server: str) -> None:
    headers = {"host": "rebound.example:8501", "accept-language": "zh-TW"}
    for path in ("/", "/api/runs"):
        answer = httpx.get(f"{server}{path}", headers=headers)
        assert answer.status_code == 403
        assert answer.text.strip() == words("zh-TW")("gate.host", host=headers["host"])
    assert httpx.get(f"{server}/_stcore/health", headers=headers).text == "ok"


# Who asks: the same routes with somebody else at the other end ------------------------------------


def asked(actor: Actor, path: str, base: str = "") -> httpx.Response:
    """What the routes answer to this actor, without a server."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(Starlette(routes=api.routes(lambda _: actor, base)))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get(path)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("actor", "status"),
    [
        (Actor(who="", role="nobody", why="sign_in"), 401),
        (Actor(who="a@b.c", role="nobody", why="expired"), 401),
        (Actor(who="a@b.c", role="nobody", why="refused"), 403),
        (VIEWER, 200),
        (access.shell("mei"), 200),
    ],
)
def test_who_may_not_look_at_the_pages_gets_no_json(
    runs: tuple[Path, list[str]],
    described: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    actor: Actor,
    status: int,
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(runs[0]))
    query = f"?run={runs[1][0]}&run={runs[1][1]}"
    for path, template in (
        ("/api/runs", "/api/runs"),
        (f"/api/runs/{runs[1][0]}", "/api/runs/{id}"),
        (f"/api/compare{query}", "/api/compare"),
        ("/api/runs/nope", "/api/runs/{id}"),
    ):
        answer = asked(actor, path)
        wanted = 404 if status == 200 and "nope" in path else status
        assert answer.status_code == wanted
        shown = as_described(answer, described, template)
        if status != 200:
            assert set(shown) == {"error", "message"}
            assert shown["message"] == words("en")(f"access.why.{actor.why}")


def test_the_routes_lie_below_the_sub_path_of_the_pages(
    runs: tuple[Path, list[str]], described: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(runs[0]))
    assert asked(VIEWER, "/spark/api/runs", "/spark").status_code == 200
    assert asked(VIEWER, "/api/runs", "/spark").status_code == 404
    server = described["servers"][0]["url"]
    assert httpx.URL("https://x.example/spark/api/openapi.json").join(server).path == "/spark/"


def test_text_in_answers_is_data(runs: tuple[Path, list[str]], server: str) -> None:
    with store.opened(runs[0] / "bench.db") as db:
        hostile = "</script><b>x</b>\u2028"
        run = examples.done(db, "smollm2-135m", hostile, 100, examples.POOR)
    answer = httpx.get(f"{server}/api/runs/{run}")
    assert json.loads(answer.content)["model_name"] == hostile
    assert answer.headers["x-content-type-options"] == "nosniff"
    with store.opened(runs[0] / "bench.db") as db:
        db.execute("delete from runs where id = ?", [run])
    assert httpx.get(f"{server}/api/runs/{run}").status_code == 404  # a link to a deleted run
