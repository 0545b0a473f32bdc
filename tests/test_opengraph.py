"""What a pasted link says of itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from streamlit.testing.v1 import AppTest

from bench import config, store
from bench.kept import comparisons
from bench.people.access import Actor
from bench.shown import view
from bench.text import LANGUAGES, words
from bench.web import links
from bench.web.opengraph import Card, OpenGraph, titled
from tests import examples

SHELL = "<!doctype html><html><head><title>Streamlit</title></head><body>頁</body></html>"
VIEWER = Actor(who="", role="viewer")
NOBODY = Actor(who="", role="nobody", why="sign_in")
HOSTILE = '"><script>alert(1)</script>'


async def shell(request: Request) -> Response:
    """Streamlit's answer to everything, cached and packed for who asks for that."""
    if request.url.path.endswith("/data"):
        return JSONResponse({"html": "<title>no</title>"})
    if "if-none-match" in request.headers or "gzip" in request.headers.get("accept-encoding", ""):
        return Response(b"not the page", 304)
    return HTMLResponse(SHELL, headers={"etag": '"1"'})


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    with store.opened(tmp_path / "bench.db") as db:
        made = [
            examples.done(db, "gemma3-270m", "Gemma 3 270M", 70, examples.GOOD),
            examples.done(db, "smollm2-135m", "SmolLM2 135M", 120, examples.POOR),
        ]
        db.execute("update runs set model_name = ? where id = ?", [HOSTILE, made[1]])
    return made


Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask() -> Ask:
    async def get(path: str, actor: Actor, base: str, **headers: str) -> httpx.Response:
        app = Starlette(routes=[Route("/{path:path}", shell)])
        transport = httpx.ASGITransport(OpenGraph(app, lambda request: actor, base))
        async with httpx.AsyncClient(transport=transport, base_url="http://spark.test") as client:
            return await client.get(path, headers=headers)

    def asking(path: str, actor: Actor = VIEWER, base: str = "", **headers: str) -> httpx.Response:
        import asyncio

        return asyncio.run(get(path, actor, base, **headers))

    return asking


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_link_to_a_comparison_names_its_models_and_what_was_found(
    ids: list[str], ask: Ask, language: str
) -> None:
    page = ask(f"/compare?run={ids[0]}&run={ids[1]}", **{"accept-language": language}).text
    against = words(language)("post.against")
    assert f'<meta property="og:title" content="Gemma 3 270M{against}&quot;&gt;&lt;script' in page
    assert "<script>" not in page
    assert "Streamlit" not in page
    assert page.endswith("頁</body></html>")
    assert "og:description" in page


def test_a_link_to_a_run_says_its_sentence(ids: list[str], ask: Ask) -> None:
    page = ask(f"/run?run={ids[0]}", **{"accept-language": "en"}).text
    assert "<title>Gemma 3 270M · llama.cpp" in page
    assert "people can use it at once" in page


def test_a_link_to_a_kept_comparison_says_its_title(ids: list[str], ask: Ask) -> None:
    operator = Actor(who="local", role="operator")
    made = comparisons.keep(config.read(), operator, "Which for the shop?", "", ids, view.USUAL)
    page = ask(f"/compare?c={made}").text
    assert '<meta property="og:title" content="Which for the shop? · Spark Compare">' in page
    assert "shop" not in ask(f"/compare?c={made}", NOBODY).text
    assert f"<title>{words('en')('app.title')}</title>" in ask("/compare?c=gone").text


def test_who_may_not_look_learns_no_name(ids: list[str], ask: Ask) -> None:
    page = ask(f"/run?run={ids[0]}", NOBODY).text
    assert "Gemma" not in page
    assert words("en")("app.title") in page


@pytest.mark.parametrize(
    "path",
    ["/", "/runs", "/run", "/run?run=gone", f"/run?run={'x' * 9000}", "/vote?run={id}", "/run?%ff"],
)
def test_every_other_page_has_the_name_of_the_app(ids: list[str], ask: Ask, path: str) -> None:
    page = ask(path.format(id=ids[0])).text
    assert f"<title>{words('en')('app.title')}</title>" in page
    assert "Gemma" not in page


def test_a_broken_store_still_gives_the_page(ids: list[str], ask: Ask, tmp_path: Path) -> None:
    for file in tmp_path.glob("bench.db*"):
        file.unlink()
    (tmp_path / "bench.db").write_text("no database at all, but a text" * 100)
    page = ask(f"/run?run={ids[0]}")
    assert page.status_code == 200
    assert "頁" in page.text


def test_a_browser_that_kept_or_packs_the_page_gets_its_title_all_the_same(
    ids: list[str], ask: Ask
) -> None:
    kept = {"if-none-match": '"1"', "accept-encoding": "gzip, br"}
    answer = ask(f"/run?run={ids[0]}", **kept)
    assert answer.status_code == 200
    assert "Gemma" in answer.text
    assert "etag" not in answer.headers
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_under_a_sub_path_the_page_is_found(ids: list[str], ask: Ask) -> None:
    assert "Gemma" in ask(f"/spark/run?run={ids[0]}", base="/spark").text


def test_what_is_no_page_stays_as_it_is(ask: Ask) -> None:
    assert ask("/api/data").json() == {"html": "<title>no</title>"}
    assert ask("/runs/data").json() == {"html": "<title>no</title>"}
    packed = ask("/static/js/index.js", **{"accept-encoding": "gzip"})
    assert packed.content == b"not the page", "asked for as the browser asked"


def test_html_without_a_title_gets_one() -> None:
    made = titled(b"<html><head></head></html>", Card(title="a & b", about="c")).decode()
    assert "<title>a &amp; b</title>" in made
    assert made.endswith("</head></html>")


def test_a_qr_code_is_a_picture_of_the_link() -> None:
    first, second = (links.qr(f"http://spark.lan/run?run={run}") for run in ("a2", "b3"))
    assert first.startswith("<svg")
    assert first != second


def test_share_shows_the_code_where_others_can_open_the_link(ids: list[str]) -> None:
    for url, codes in (("http://spark.lan/run", 1), ("http://127.0.0.1:8501/run", 0)):
        at = AppTest.from_file(str(config.ROOT / "pages" / "router.py"), default_timeout=60)
        at.context = {"locale": "en", "url": url}
        at.run()
        at.query_params["run"] = ids[0]
        at.switch_page("run.py").run()
        assert not at.exception
        assert len(at.image) == codes
