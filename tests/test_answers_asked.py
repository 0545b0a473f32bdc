"""What the answers' part of a run asks: how often, at which temperature, and what is kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from msgspec.structs import replace

from bench import store
from bench.catalogue import Catalogue, Prompt
from bench.config import Config
from bench.meter.target import Target
from bench.planning import context_needed
from bench.running import measure
from bench.running.halt import Halt
from bench.running.measure import Session
from bench.shown import offers
from bench.text import LANGUAGES, words
from tests import examples

PROMPTS = tuple(Prompt(id=id, language="zh-TW", kind="own", text=f"{id}？") for id in ("a", "b"))
WORK = replace(examples.WORKLOAD, prefill=(), levels=(), measured=1, answers=("a", "b"))


@contextmanager
def engine(asked: list[dict[str, Any]]) -> Iterator[str]:
    """An engine that notes what it is asked and always says the same."""
    events = [
        {"choices": [{"delta": {"content": "好"}}]},
        {"choices": [{"delta": {"content": "的"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    ]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.wfile.write(stream.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()


def ask(config: Config, **work: Any) -> tuple[list[dict[str, Any]], list[store.Answer]]:
    """The answers' requests as the engine got them, and the answers that were kept."""
    asked: list[dict[str, Any]] = []
    plan = replace(examples.plan("m", "M"), workload=replace(WORK, **work), prompts=PROMPTS)
    with store.opened(config.database) as db:
        run = store.submit(db, plan)
    with engine(asked) as url:
        session = Session(
            config=config, run=run, plan=plan, target=Target(url=url, model="m"), count=None,
            slots=None, halt=Halt([], lambda: False), progress=lambda progress: None,
        )  # fmt: skip
        measure.measure(session)
    with store.opened(config.database) as db:
        kept = store.answers(db, run)
    return [body for body in asked if body["messages"][0]["content"].endswith("？")], kept


def test_a_fixed_question_is_asked_once_and_without_chance(config: Config) -> None:
    asked, kept = ask(config)
    assert [(body["temperature"], "seed" in body) for body in asked] == [(0.0, False)] * 2
    assert [(answer.prompt, answer.repeat) for answer in kept] == [("a", 1), ("b", 1)]
    assert {answer.sample.text for answer in kept} == {"好的"}


def test_repeats_leave_sampling_to_the_model_and_have_seeds_of_their_own(config: Config) -> None:
    asked, kept = ask(config, answer_repeats=2, answer_temperature="model")
    assert not any("temperature" in body for body in asked)
    assert [body["seed"] for body in asked] == [8, 8, 9, 9], "the plan's seed is 7"
    assert [(a.prompt, a.repeat) for a in kept] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_a_workload_without_a_sweep_is_described_without_people(known: Catalogue) -> None:
    for language in LANGUAGES:
        offered = {one.id: one for one in offers.workloads(known, "", words(language))}
        assert "41" in offered["chinese-1"].note, "36 questions and 5 for the writing speed"
        assert words(language)("launch.size", requests=41, people=1) != offered["chinese-1"].note


@pytest.mark.parametrize("id", ["chinese-1", "standard-1", "chinese-varied-1"])
def test_the_chinese_questions_are_in_the_workloads(known: Catalogue, id: str) -> None:
    work = known.workloads[id]
    prompts = [known.prompts[name] for name in work.answers]
    chinese = [prompt for prompt in prompts if prompt.set == "zh-tw-1"]
    assert len(chinese) == (36 if id == "chinese-1" else 12)
    assert id == "chinese-1" or all(prompt.short for prompt in chinese)
    assert context_needed(work, prompts) <= 8192 + 128 + 64, "no larger than the prompt set's"
