"""What a live run is said to be doing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from bench import store
from bench.running.progress import Progress
from bench.shown import live, views
from bench.store import Event, Run
from bench.text import LANGUAGES, words
from tests import examples

T = words("en")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path: Path = tmp_path_factory.mktemp("live") / "bench.db"
    with store.opened(path) as db:
        store.submit(db, examples.plan("smollm2-135m", "SmolLM2"))
        return store.runs(db)[0]


def in_state(run: Run, state: str, **changes: Any) -> Run:
    return msgspec.structs.replace(run, state=state, **changes)


def event(kind: str, /, **data: Any) -> Event:
    return Event(id=1, at="2026-12-01T00:00:00+00:00", kind=kind, data=data)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("state", get_args(store.State))
def test_every_state_is_a_sentence(run: Run, state: str, language: str) -> None:
    now = live.now(in_state(run, state), [], None, 0, words(language))
    assert now.sentence and now.share is None


@pytest.mark.parametrize(
    ("before", "said"), [(0, "in a moment"), (1, "One run"), (3, "3 runs come")]
)
def test_a_queued_run_says_how_many_come_first(run: Run, before: int, said: str) -> None:
    assert said in live.now(run, [], None, before, T).sentence


def test_loading_shows_stage_share_and_the_rest(run: Run) -> None:
    stage = event("stage", stage="weights", share=0.62, eta_s=240.0, text="INFO [loader.py:7] …")
    now = live.now(in_state(run, "loading"), [stage], None, 0, T)
    assert now == live.Now(
        sentence="Loading: reading the model. About 4 min to go.", share=0.62, detail=""
    ), "lines of the log stand in the log"


def test_fetching_an_image_tells_its_layers(run: Run) -> None:
    stage = event("stage", stage="image", share=0.3, text="nvcr.io/nvidia/vllm:1: 3/10")
    now = live.now(in_state(run, "preparing"), [stage], None, 0, T)
    assert now.share == 0.3 and now.detail == "nvcr.io/nvidia/vllm:1: 3/10"
    assert now.sentence != live.now(in_state(run, "preparing"), [], None, 0, T).sentence


def test_an_unknown_stage_is_shown_by_its_name(run: Run) -> None:
    stage = event("stage", stage="defrosting", share=None, eta_s=None, text=None)
    now = live.now(in_state(run, "loading"), [stage], None, 0, T)
    assert now == live.Now(sentence="Loading: defrosting", share=None)


def test_progress_within_a_level_moves_the_bar(run: Run) -> None:
    level = event("level", kind="sweep", name="c4", concurrency=4, position=3, of=4, planned=24)
    now = live.now(in_state(run, "measuring"), [level], Progress(12, 0, 24), 0, T)
    assert now.share == pytest.approx((2 + 0.5) / 4)
    assert "4 people" in now.sentence and "12 of 24" in now.detail


def test_failed_requests_are_said_while_they_happen(run: Run) -> None:
    level = event("level", kind="sweep", name="c4", concurrency=4, position=3, of=4, planned=24)
    now = live.now(in_state(run, "measuring"), [level], Progress(12, 5, 24), 0, T)
    assert "5 of them failed" in now.detail


@pytest.mark.parametrize("counted", [Progress(50, 0, 24), Progress(0, 0, 0), None])
def test_a_share_stays_between_nothing_and_all(run: Run, counted: Progress | None) -> None:
    level = event("level", kind="sweep", name="c4", concurrency=4, position=4, of=4, planned=24)
    now = live.now(in_state(run, "measuring"), [level], counted, 0, T)
    assert now.share is not None and 0 <= now.share <= 1


def test_a_run_that_is_being_stopped_says_so_first(run: Run) -> None:
    now = live.now(in_state(run, "measuring", cancel=True), [], None, 0, T)
    assert now.sentence == T("live.cancelling")


def test_a_clock_that_was_set_back_gives_a_run_no_length(run: Run) -> None:
    ended = in_state(run, "done", started="2026-12-01T12:00:00+00:00")
    assert views.took(msgspec.structs.replace(ended, finished="2026-12-01T12:01:30+00:00")) == 90
    assert views.took(msgspec.structs.replace(ended, finished="2026-12-01T11:00:00+00:00")) is None
