"""The description of the JSON routes in OpenAPI 3.1, made from the types of their answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

REFERENCE = "#/components/schemas/{name}"


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the query."""

    name: str
    about: str
    many: tuple[int, int] | None = None
    """How often it may be given, at least and at most; None for once or not at all."""


class Described(Protocol):
    """What has to be known of a path."""

    @property
    def path(self) -> str: ...
    @property
    def answer(self) -> Callable[..., Any]: ...
    @property
    def value(self) -> Any: ...
    @property
    def problems(self) -> Mapping[int, str]: ...
    @property
    def query(self) -> tuple[Parameter, ...]: ...


def describe(operations: Sequence[Described], problem: type) -> dict[str, Any]:
    """The whole document. Paths are relative to it, so that it holds below any sub-path."""
    types = [*(one.value for one in operations), problem]
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    *values, failed = schemas
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Spark Compare",
            "version": "1",
            "description": "Results of Spark Compare as JSON. Reading only. Times are UTC in ISO "
            "8601, durations seconds, speeds tokens per second; what is unknown is null, never 0.",
        },
        "servers": [{"url": ".."}],
        "paths": {
            one.path: {"get": _operation(one, value, failed)}
            for one, value in zip(operations, values, strict=True)
        },
        "components": {"schemas": components},
    }


def _operation(one: Described, value: Mapping[str, Any], failed: Mapping[str, Any]) -> Any:
    problems = {401: "Sign in first.", 403: "Not open to this account.", **one.problems}
    return {
        "operationId": one.answer.__name__,
        "summary": inspect.getdoc(one.answer),
        "parameters": [*_in_path(one.path), *(_in_query(parameter) for parameter in one.query)],
        "responses": {
            "200": {"description": "Found.", "content": _content(value)},
            **{
                str(status): {"description": why, "content": _content(failed)}
                for status, why in problems.items()
            },
        },
    }


def _in_path(path: str) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]


def _in_query(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if parameter.many:
        least, most = parameter.many
        schema = {"type": "array", "items": schema, "minItems": least, "maxItems": most}
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.about,
        "required": parameter.many is not None,
        "schema": schema,
    }


def _content(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
