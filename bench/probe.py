"""Ask a server what it is. Nothing here measures.

Every answer that is not what an OpenAI-compatible server gives becomes a BenchError that says what
came instead: ``endpoint_refused``, ``endpoint_timeout``, ``endpoint_unauthorized`` (401),
``endpoint_forbidden`` (403), ``endpoint_not_found`` (404), ``endpoint_not_json``,
``endpoint_certificate``, ``endpoint_status``, ``endpoint_unreachable``.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from bench.errors import BenchError

METRIC = re.compile(r"([A-Za-z_:][\w:]*)(?:\{.*\})? ([-+\d.eE]+)")
"""One line of a ``/metrics`` page; comments and NaN do not match."""
TIMEOUT = httpx.Timeout(10, connect=5)
COMPLETION_TIMEOUT = httpx.Timeout(60, connect=5)
"""A first completion may compile kernels."""
WAITED_FOR = ("endpoint_refused", "endpoint_timeout", "endpoint_status", "endpoint_unreachable")
"""What a server that is still starting may give."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself. None is "not told"."""

    url: str
    """Base URL without ``/v1``."""
    models: tuple[str, ...]
    engine: str | None = None
    """``vllm``, ``llama.cpp``, ``sglang``, ``ollama``… as far as it can be told."""
    version: str | None = None
    slots: int | None = None
    """Requests worked on at once."""
    context: int | None = None
    """Tokens of context for each request."""
    tokenizes: bool = False
    """Whether ``/tokenize`` works."""


def base(url: str) -> str:
    """The base URL, given with or without ``/v1``. Raises BenchError ``endpoint_url``."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BenchError("endpoint_url", url=url)
    if parts.username or parts.password:
        raise BenchError("endpoint_url_key")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"


def headers(key_env: str | None, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The key of an endpoint, from the environment. Raises BenchError ``endpoint_key_missing``."""
    if not key_env:
        return {}
    if not (key := environ.get(key_env)):
        raise BenchError("endpoint_key_missing", name=key_env)
    return {"Authorization": f"Bearer {key}"}


def served(url: str, headers: Mapping[str, str] | None = None) -> Served:
    """Ask a server for its models, its kind, its version and its limits."""
    url = base(url)
    with _client(headers) as client:
        listed = _models(client, url)
        props = _optional(client, f"{url}/props")
        version = _optional(client, f"{url}/version") or _optional(client, f"{url}/api/version")
        engine = _kind(listed, props)
        text = props.get("build_info") or version.get("version")
        found = Served(
            url=url,
            models=tuple(entry["id"] for entry in listed),
            engine=engine,
            version=str(text) if text else None,
            slots=props.get("total_slots"),
            context=_context(listed, props),
        )
        try:
            _tokenize(client, url, found.models[0] if found.models else "", "a", engine)
        except BenchError:
            return found
        return msgspec.structs.replace(found, tokenizes=True)


def ready(url: str, model: str, headers: Mapping[str, str] | None = None) -> bool:
    """Whether a server can be measured: healthy, names this model, and answers it (A17).

    False while it is still on its way. Raises BenchError for what waiting does not cure: a model
    of another name (``endpoint_model_missing``), a wrong key, an answer that is no JSON.
    """
    url = base(url)
    with _client(headers) as client:
        try:
            if client.get(f"{url}/health").status_code not in (200, 404):
                return False  # 404: a server without a health page
            listed = [entry["id"] for entry in _models(client, url)]
            if model not in listed:
                raise BenchError("endpoint_model_missing", model=model, models=", ".join(listed))
            return _answers(client, url, model)
        except httpx.TransportError:
            return False
        except BenchError as fault:
            if fault.fault.code in WAITED_FOR:
                return False
            raise


def tokenize(
    url: str,
    text: str,
    engine: str | None,
    *,
    model: str = "",
    headers: Mapping[str, str] | None = None,
) -> int:
    """How many tokens the engine makes of a text, no special tokens added."""
    with _client(headers) as client:
        return _tokenize(client, base(url), model, text, engine)


@contextmanager
def counting(
    served: Served, headers: Mapping[str, str] | None = None
) -> Iterator[Callable[[str], int] | None]:
    """A counter of tokens over one connection, or None where the engine offers none."""
    if not served.tokenizes:
        yield None
        return
    model = served.models[0] if served.models else ""
    with _client(headers) as client:
        yield lambda text: _tokenize(client, served.url, model, text, served.engine)


def round_trip(
    url: str, headers: Mapping[str, str] | None = None, clock: Callable[[], float] = perf_counter
) -> float | None:
    """Seconds for the smallest question and its answer over an open connection, the shortest of
    five: how far away the server is. None when it answers none."""
    took = []
    with _client(headers) as client:
        for _ in range(6):
            sent = clock()
            try:
                client.get(f"{base(url)}/v1/models")
            except httpx.TransportError:
                continue
            took.append(clock() - sent)
    return min(took[1:], default=None)


def scrape(text: str) -> dict[str, float]:
    """The counters and gauges of a ``/metrics`` page, those of all labels added up.

    Of vLLM and llama.cpp what a run needs is, by their own names, ``vllm:prefix_cache_hits_total``,
    ``llamacpp:prompt_tokens_cached_total`` and the like; other lines do no harm.
    """
    found: dict[str, float] = {}
    for line in text.splitlines():
        if match := METRIC.fullmatch(line.strip()):
            name, value = match.groups()
            found[name] = found.get(name, 0.0) + float(value)
    return found


def metrics(url: str, headers: Mapping[str, str] | None = None) -> dict[str, float]:
    """The server's counters now; empty where it has no ``/metrics``."""
    with _client(headers) as client:
        try:
            answer = client.get(f"{base(url)}/metrics")
        except httpx.TransportError:
            return {}
        return scrape(answer.text) if answer.status_code == 200 else {}


def _client(headers: Mapping[str, str] | None) -> httpx.Client:
    return httpx.Client(
        headers=dict(headers or {}), timeout=TIMEOUT, verify=_trusted(), trust_env=False
    )


@cache
def _trusted() -> ssl.SSLContext:
    """Public authorities, or those of SSL_CERT_FILE; proxies of the environment are not used."""
    return httpx.create_ssl_context()


def _models(client: httpx.Client, url: str) -> list[dict[str, Any]]:
    body = _json(client, "GET", f"{url}/v1/models")
    listed = body.get("data")
    if not isinstance(listed, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("id"), str) for entry in listed
    ):
        raise BenchError("endpoint_not_json", url=f"{url}/v1/models", got="no list of models")
    return listed


def _optional(client: httpx.Client, url: str) -> dict[str, Any]:
    try:
        return _json(client, "GET", url)
    except BenchError:
        return {}


def _kind(listed: list[dict[str, Any]], props: Mapping[str, Any]) -> str | None:
    owners = {"llamacpp": "llama.cpp", "vllm": "vllm", "sglang": "sglang", "library": "ollama"}
    for entry in listed:
        if kind := owners.get(str(entry.get("owned_by"))):
            return kind
    return "llama.cpp" if "total_slots" in props else None


def _context(listed: list[dict[str, Any]], props: Mapping[str, Any]) -> int | None:
    settings = props.get("default_generation_settings")
    if isinstance(settings, dict) and isinstance(settings.get("n_ctx"), int):
        return int(settings["n_ctx"])
    for entry in listed:
        if isinstance(entry.get("max_model_len"), int):
            return int(entry["max_model_len"])
    return None


def _answers(client: httpx.Client, url: str, model: str) -> bool:
    """One real completion of one token. A 503 is "still loading"."""
    asked = {"model": model, "messages": [{"role": "user", "content": "1"}], "max_tokens": 1}
    answer = client.post(f"{url}/v1/chat/completions", json=asked, timeout=COMPLETION_TIMEOUT)
    if answer.status_code == 400 and "max_completion_tokens" in answer.text:
        asked["max_completion_tokens"] = asked.pop("max_tokens")
        answer = client.post(f"{url}/v1/chat/completions", json=asked, timeout=COMPLETION_TIMEOUT)
    if answer.status_code in (401, 403, 404):
        raise _refused(answer)
    if answer.status_code == 400:
        raise BenchError("endpoint_completion", model=model, got=answer.text[:300])
    return answer.status_code == 200 and "choices" in _body(answer)


def _tokenize(client: httpx.Client, url: str, model: str, text: str, engine: str | None) -> int:
    """vLLM takes ``prompt`` and gives ``count``; llama.cpp takes ``content``, gives ``tokens``."""
    if engine == "llama.cpp":
        asked: dict[str, Any] = {"content": text, "add_special": False}
    else:
        asked = {"model": model, "prompt": text, "add_special_tokens": False}
    body = _json(client, "POST", f"{url}/tokenize", asked)
    count, tokens = body.get("count"), body.get("tokens")
    if isinstance(count, int):
        return count
    if isinstance(tokens, list):
        return len(tokens)
    raise BenchError("endpoint_not_json", url=f"{url}/tokenize", got="no tokens")


def _json(client: httpx.Client, method: str, url: str, asked: object = None) -> dict[str, Any]:
    try:
        answer = client.request(method, url, json=asked) if asked else client.request(method, url)
    except httpx.TransportError as fault:
        raise _unreachable(url, fault) from fault
    if answer.status_code != 200:
        raise _refused(answer)
    return _body(answer)


def _body(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        kind = answer.headers.get("content-type", "no content type").split(";")[0]
        raise BenchError("endpoint_not_json", url=str(answer.url), got=kind)
    return body


def _refused(answer: httpx.Response) -> BenchError:
    codes = {401: "endpoint_unauthorized", 403: "endpoint_forbidden", 404: "endpoint_not_found"}
    code = codes.get(answer.status_code, "endpoint_status")
    return BenchError(code, url=str(answer.url), status=answer.status_code)


def _unreachable(url: str, fault: httpx.TransportError) -> BenchError:
    if isinstance(fault, httpx.TimeoutException):
        return BenchError("endpoint_timeout", url=url)
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return BenchError("endpoint_certificate", url=url, reason=cause.verify_message)
        if isinstance(cause, ConnectionRefusedError):
            return BenchError("endpoint_refused", url=url)
        cause = cause.__cause__ or cause.__context__
    return BenchError("endpoint_unreachable", url=url, reason=str(fault) or type(fault).__name__)
