"""Results as JSON, for scripts. ``GET`` only: what changes something is done on a page or in a
shell. ``/api/openapi.json`` describes it, made from the types below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench import catalogue, config, store
from bench.catalogue import Published
from bench.errors import BenchError, Fault
from bench.numbers import differences
from bench.people import access
from bench.people.access import Actor
from bench.results import Result
from bench.shown import sentences
from bench.store import Run
from bench.summary import LevelSummary
from bench.text import LANGUAGES, Words, preferred, words
from bench.web import links, openapi

MOST = 8
"""Results in one comparison, as on the page."""
SHOWN = ("engine_version", "image", "image_digest", "load_seconds", "slots", "context")
"""Facts that tell nothing of this machine's paths or people."""

Identify = Callable[[Request], Actor]
Answer = Callable[[Request, Words], Any]
One = TypeVar("One", Run, Result)


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a list."""

    id: str
    state: store.State
    source: str
    created: str
    started: str | None
    finished: str | None
    title: str
    model: str
    model_name: str
    artifact: str | None
    engine: str
    host: str
    workload: str
    fault: Fault | None


class Whole(Brief, frozen=True, kw_only=True):
    """A run with what it measured."""

    facts: Mapping[str, Any]
    levels: tuple[LevelSummary, ...]


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One of the results of a comparison."""

    id: str
    label: str
    source: str
    """``measured``, ``imported`` or ``published``."""
    levels: tuple[LevelSummary, ...]
    published: Published | None
    """Somebody else's figures, with whose they are; they have no levels."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Results beside each other."""

    sentences: tuple[str, ...]
    """What the page says first, in the language that was asked for."""
    results: tuple[Compared, ...]
    differences: tuple[differences.Difference, ...]
    """Settings that are not the same everywhere, in the order of the runs among ``results``."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer."""

    error: str
    """For programs."""
    message: str
    """For people."""


def runs(_: Request, t: Words) -> tuple[Brief, ...]:
    """Every run, newest first."""
    with store.opened(config.read().database) as db:
        return tuple(_brief(run) for run in store.runs(db))


def run(request: Request, t: Words) -> Whole:
    """One run with the summary of each level."""
    with store.opened(config.read().database) as db:
        (found,) = _known(store.load(db, [request.path_params["id"]]), [request.path_params["id"]])
        facts = {name: found.facts[name] for name in SHOWN if name in found.facts}
        return Whole(**_fields(found), facts=facts, levels=tuple(store.levels(db, found.id)))


def compare(request: Request, t: Words) -> Comparison:
    """Two to eight results beside each other, runs and published ones, in the order asked for."""
    wanted = list(dict.fromkeys(request.query_params.getlist("run")))
    if not 2 <= len(wanted) <= MOST:
        raise BenchError("api.count", n=len(wanted))
    with store.opened(config.read().database) as db:
        found = _known(links.load(db, wanted, catalogue.load(), t), wanted)
    plans = [msgspec.to_builtins(one.run.plan) for one in found if one.run]
    return Comparison(
        sentences=sentences.compared(found, t),
        results=tuple(_compared(one) for one in found),
        differences=differences.differences(*(_settings(plan) for plan in plans)),
    )


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One path of the API."""

    path: str
    answer: Answer
    value: Any
    """The type of the answer."""
    problems: Mapping[int, str]
    query: tuple[openapi.Parameter, ...] = ()


UNKNOWN = "A run that is not here."
LANGUAGE = openapi.Parameter(
    name="language", about="Of the sentences; else the language that Accept-Language prefers."
)
OPERATIONS = (
    Operation(path="/api/runs", answer=runs, value=tuple[Brief, ...], problems={}),
    Operation(path="/api/runs/{id}", answer=run, value=Whole, problems={404: UNKNOWN}),
    Operation(
        path="/api/compare",
        answer=compare,
        value=Comparison,
        problems={400: "Fewer than two results or more than eight.", 404: UNKNOWN},
        query=(
            openapi.Parameter(name="run", about="Id of a result.", many=(2, MOST)),
            LANGUAGE,
        ),
    ),
)


def routes(identify: Identify, base: str = "") -> list[Route]:
    """The routes of the server; ``identify`` tells who asks, ``base`` is the sub-path."""

    def route(one: Operation) -> Route:
        def endpoint(request: Request) -> Response:
            return _answered(one.answer, identify(request), request)

        return Route(f"{base}{one.path}", endpoint, methods=["GET"])

    description = msgspec.json.encode(openapi.describe(OPERATIONS, Problem))

    def describe(_: Request) -> Response:
        return Response(description, media_type="application/json")

    return [Route(f"{base}/api/openapi.json", describe), *(route(one) for one in OPERATIONS)]


def _answered(answer: Answer, actor: Actor, request: Request) -> Response:
    t = words(_language(request))
    try:
        access.require(actor, "view")
        return _json(answer(request, t))
    except BenchError as error:
        code = error.fault.code
        status = {"api.unknown": 404, "api.count": 400}.get(code, 500)
        if code.startswith("access."):
            status = 401 if actor.why in ("sign_in", "expired") else 403
        problem = Problem(error=code.rpartition(".")[2], message=t.fault(error.fault))
        return _json(problem, status)


def _language(request: Request) -> str:
    asked = request.query_params.get("language")
    return asked if asked in LANGUAGES else preferred(request.headers.get("accept-language"))


def _known(found: list[One], wanted: Iterable[str]) -> list[One]:
    """All of them. Raises BenchError ``api.unknown`` that names the first that is not here."""
    here = {one.id for one in found}
    for id in wanted:
        if id not in here:
            raise BenchError("api.unknown", id=id[:40])
    return found


def _fields(run: Run) -> dict[str, Any]:
    return {name: getattr(run, name) for name in Brief.__struct_fields__}


def _brief(run: Run) -> Brief:
    return Brief(**_fields(run))


def _compared(result: Result) -> Compared:
    source = result.run.source if result.run else "published"
    return Compared(
        id=result.id,
        label=result.label,
        source=source,
        levels=tuple(result.levels),
        published=result.published,
    )


def _settings(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of a plan is a setting: no names, no prompts, no paths, no addresses."""
    recipe = {name: plan["recipe"][name] for name in ("image", "context", "slots", "flags")}
    names = ("artifact", "engine")
    return {name: plan[name] for name in names} | {
        "recipe": recipe,
        "workload": plan["workload"]["id"],
    }


def _json(value: Any, status: int = 200) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")
