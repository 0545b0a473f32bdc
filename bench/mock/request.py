"""A request as the mock engine understands it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import msgspec

from bench.mock.behaviour import Behaviour
from bench.mock.script import error_object


def field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def names(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def json_object(body: bytes) -> dict[str, Any] | None:
    try:
        asked = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None
    return asked if isinstance(asked, dict) else None


def behaviour(how: Behaviour, asked: dict[str, Any]) -> Behaviour:
    """The behaviour for one request. Raises msgspec.ValidationError for an unknown switch."""
    changes = dict(parse_qsl(str(asked.get("model", "")).partition("?")[2]))
    changes |= asked.get("mock") or {}
    if not changes:
        return how
    return msgspec.convert({**msgspec.to_builtins(how), **changes}, Behaviour, strict=False)


def prompt_of(asked: dict[str, Any]) -> str:
    if "messages" in asked:
        return "\n".join(str(message.get("content", "")) for message in asked["messages"])
    return str(asked.get("prompt", ""))


def output_tokens(how: Behaviour, asked: dict[str, Any]) -> int:
    keys = [key for key in ("max_tokens", "max_completion_tokens") if key in asked]
    limits = [int(asked[key]) for key in keys if key not in names(how.ignores)]
    wanted = [count for count in (how.tokens, how.early_eos, *limits) if count is not None]
    return min(wanted, default=16)


def refusal_of(how: Behaviour, asked: dict[str, Any], prompt_tokens: int) -> dict[str, Any] | None:
    """The error with which this request is refused, if it is."""
    refused = next((key for key in names(how.refuses) if key in asked), None)
    if refused is not None:
        message = f"Unsupported parameter: '{refused}' is not supported by this server."
        fault = error_object(400, message)
        fault["error"] |= {"param": refused}
        return fault
    if how.status != 200:
        return error_object(how.status, "the mock was told to answer so")
    if how.context and prompt_tokens > how.context:
        message = (
            f"request ({prompt_tokens} tokens) exceeds the available context size "
            f"({how.context} tokens), try increasing it"
        )
        fault = error_object(400, message, "exceed_context_size_error")
        fault["error"] |= {"n_prompt_tokens": prompt_tokens, "n_ctx": how.context}
        return fault
    return None
