"""The mock engine keeps its word: what it says it does is what a client meets."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise

import httpx
import pytest

from bench.mock.behaviour import Behaviour
from bench.mock.script import Asked, script
from bench.truth.benchmark import server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with server("--slots", "2", "--context", "50", "--token-ms", "1") as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=10) as client:
        client.get("/truth/reset")
        yield client


def ask(client: httpx.Client, model: str = "mock", **more: object) -> httpx.Response:
    body = {"model": model, "messages": [{"role": "user", "content": "hi there"}], **more}
    return client.post("/v1/chat/completions", json=body)


def test_its_schedule_is_that_of_its_behaviour() -> None:
    how = Behaviour(ttft_ms=200, token_ms=20, tokens_per_chunk=4)
    steps = [step for step in script(how, Asked(tokens=10)) if step.tokens]
    assert [step.tokens for step in steps] == [4, 4, 2]
    assert [step.at for step in steps] == pytest.approx([0.2, 0.28, 0.32])


def test_prefill_takes_time_by_the_length_of_the_prompt() -> None:
    how = Behaviour(ttft_ms=100, prefill_speed=1000, cached_ms=5)
    fresh = script(how, Asked(tokens=1, prompt_tokens=500))
    again = script(how, Asked(tokens=1, prompt_tokens=500, cached=500))
    assert next(step.at for step in fresh if step.tokens) == pytest.approx(0.6)
    assert next(step.at for step in again if step.tokens) == pytest.approx(0.005)


def test_it_talks_like_an_engine(client: httpx.Client) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/v1/models").json()["data"][0]["id"] == "mock"
    assert client.get("/props").json()["total_slots"] == 2
    assert [slot["is_processing"] for slot in client.get("/slots").json()] == [False, False]
    assert "vllm:num_requests_running 0" in client.get("/metrics").text
    assert client.get("/version").status_code == 200
    assert client.get("/nowhere").status_code == 404


def test_it_counts_tokens_as_it_tokenizes(client: httpx.Client) -> None:
    told = client.post("/tokenize", json={"content": "hello 繁體 world"}).json()
    assert len(told["tokens"]) == told["count"] == 4
    usage = ask(client, max_tokens=3).json()["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (2 + 8, 3)


def test_a_prompt_beyond_its_context_is_refused_as_llama_cpp_does(client: httpx.Client) -> None:
    long = [{"role": "user", "content": "word " * 60}]
    answer = ask(client, messages=long)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "exceed_context_size_error"


def test_it_streams_what_its_log_says(client: httpx.Client) -> None:
    answer = ask(client, stream=True, max_tokens=5)
    chunks = [line for line in answer.text.splitlines() if '"content":" ' in line]
    (record,) = client.get("/truth/stats").json()["requests"]
    assert len(chunks) == len(record["sent"]) == sum(record["tokens"]) == 5
    assert (
        record["arrived"]
        <= record["received"]
        <= record["sent"][0]
        <= record["sent"][-1]
        <= record["ended"]
    )
    assert all(after >= before for before, after in pairwise(record["sent"]))


def test_a_switch_may_be_in_the_model_or_in_the_body(client: httpx.Client) -> None:
    assert ask(client, "mock?status=429").status_code == 429
    assert ask(client, mock={"status": 418}).status_code == 418
    unknown = ask(client, "mock?statos=1")
    assert unknown.status_code == 400 and "statos" in unknown.text


def test_a_client_that_leaves_frees_its_slot(client: httpx.Client) -> None:
    for _ in range(4):
        body = {"model": "mock", "prompt": "hi", "stream": True, "mock": {"ttft_ms": 60_000}}
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/completions", json=body, timeout=0.05)
    assert ask(client, stream=True).status_code == 200
    assert client.get("/truth/stats").json()["open"] == 0


def test_it_refuses_then_loads_then_answers_then_dies() -> None:
    command = [sys.executable, "-m", "bench.mock.engine", "--refused-s", "0.3"]
    command += ["--loading-s", "0.3", "--unready", "1", "--die-after", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        states: list[object] = []
        deadline = time.monotonic() + 20
        with httpx.Client(base_url=url) as client:
            while time.monotonic() < deadline:
                try:
                    states.append(client.get("/health").status_code)
                except httpx.ConnectError:
                    states.append("refused")
                if states[-1] == 200:
                    break
            assert list(dict.fromkeys(states)) == ["refused", 503, 200]
            answers = [ask(client, stream=True).status_code for _ in range(2)]
            assert answers == [503, 200]
            with pytest.raises(httpx.RemoteProtocolError):
                ask(client, stream=True)
        assert process.wait(10) == 1
