"""Levels: many requests at once, on the mock engine where transport matters (A11-A18)."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

import httpx
import pytest

from bench.meter.load import Arrival, _starts, run_level
from bench.meter.stillness import Lag, still
from bench.meter.target import Ask, Target, chat_body
from bench.meter.wire import Wire
from bench.numbers.metrics import summarise
from bench.sample import LevelRun
from bench.truth.benchmark import server
from tests.streams import chunk, last_usage


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with server() as url:
        yield url


def asks_of(target: Target, n: int, tokens: int = 4, *, unique: bool = True) -> list[Ask]:
    start = "{n} " if unique else ""
    return [
        Ask(
            id=f"r{n}",
            body=chat_body(target, start.format(n=n) + "word " * 40, tokens, exact=True),
            output_tokens=tokens,
        )
        for n in range(n)
    ]


def level(
    url: str, model: str, n: int, concurrency: int, *, tokens: int = 4, **options: Any
) -> LevelRun:
    """A level of ``n`` requests against the mock engine with this behaviour."""
    httpx.get(f"{url}/truth/reset")
    target = Target(url=url, model=model, engine="llama.cpp")
    unique = options.pop("unique", True)
    asks = asks_of(target, n, tokens, unique=unique)
    work = run_level(target, asks, concurrency=concurrency, **options)
    return asyncio.run(asyncio.wait_for(work, 60))


def kinds(run: LevelRun) -> list[str | None]:
    return [sample.error_kind for sample in run.samples]


def truth(url: str) -> dict[str, Any]:
    told: dict[str, Any] = httpx.get(f"{url}/truth/stats").json()
    return told


# The load itself


def test_users_send_again_when_they_are_answered(url: str) -> None:
    run = level(url, "mock?ttft_ms=20", 20, 4)
    assert kinds(run) == [None] * 20
    assert run.peak_concurrency == 4 == truth(url)["peak"]
    assert sorted(sample.id for sample in run.samples) == sorted(f"r{n}" for n in range(20))
    assert [s.sent for s in run.samples] == sorted(s.sent for s in run.samples)
    assert run.duration >= 5 * 0.020


def test_160_users_are_160_open_streams_and_nobody_waits_for_a_connection(url: str) -> None:
    run = level(url, "mock?ttft_ms=700&tokens=2", 160, 160)
    assert kinds(run) == [None] * 160
    assert truth(url)["peak"] == run.peak_concurrency == 160
    assert min(s.first_token or 0 for s in run.samples) >= 0.7
    assert max(s.sent for s in run.samples) < 0.7


def test_a_burst_waits_for_its_whole_wave(url: str) -> None:
    run = level(url, "mock?ttft_ms=30", 9, 3, arrival="burst")
    waves = [run.samples[at : at + 3] for at in (0, 3, 6)]
    for before, after in pairwise(waves):
        assert min(s.sent for s in after) >= max(s.sent + (s.end or 0) for s in before)
    assert truth(url)["peak"] == 3


def test_staggered_users_come_one_after_another(url: str) -> None:
    run = level(url, "mock?ttft_ms=400", 4, 4, arrival="staggered", rate=20)
    gaps = [after.sent - before.sent for before, after in pairwise(run.samples)]
    assert all(gap > 0.03 for gap in gaps)


def test_poisson_arrivals_have_no_cap_and_are_repeatable(url: str) -> None:
    run = level(url, "mock?ttft_ms=300", 20, 1, arrival="poisson", rate=200, seed=7)
    assert run.peak_concurrency > 5
    first, second = (_starts("poisson", 20, 1, 200, 7) for _ in range(2))
    assert first == second != _starts("poisson", 20, 1, 200, 8)
    assert first == sorted(first) and len(first) == 20


def test_poisson_arrivals_need_a_rate(url: str) -> None:
    with pytest.raises(ValueError, match="rate"):
        level(url, "mock", 1, 1, arrival="poisson")


@pytest.mark.parametrize("arrival", ["closed", "burst", "staggered"])
def test_a_level_of_nothing_is_empty(url: str, arrival: Arrival) -> None:
    run = level(url, "mock", 0, 4, arrival=arrival)
    assert (run.samples, run.duration, run.peak_concurrency) == ((), 0.0, 0)


def test_progress_counts_what_ended_and_what_failed(url: str) -> None:
    seen: list[tuple[int, int]] = []
    level(url, "mock?status=500", 3, 1, progress=lambda ended, failed: seen.append((ended, failed)))
    level(url, "mock", 2, 1, progress=lambda ended, failed: seen.append((ended, failed)))
    assert seen == [(1, 1), (2, 2), (3, 3), (1, 0), (2, 0)]


# What goes wrong


def test_a_stop_keeps_what_was_measured_and_cancels_the_rest(url: str) -> None:
    stop = threading.Event()

    def after_three(ended: int, failed: int) -> None:
        if ended == 3:
            stop.set()

    run = level(url, "mock?ttft_ms=5&token_ms=30&tokens=4", 100, 2, stop=stop, progress=after_three)
    assert run.stopped
    assert len([kind for kind in kinds(run) if kind is None]) >= 3
    assert kinds(run).count("cancelled") == 2
    assert len(run.samples) < 20


def test_a_stop_inside_a_request_keeps_its_tokens(url: str) -> None:
    stop = threading.Event()
    threading.Timer(3, stop.set).start()  # time for some tokens, also on a busy machine
    run = level(url, "mock?token_ms=20&tokens=4000", 1, 1, tokens=4000, stop=stop)
    (only,) = run.samples
    assert only.error_kind == "cancelled" and only.chunks > 1
    assert run.duration < 30


def test_a_stall_is_a_gap(url: str) -> None:
    run = level(url, "mock?token_ms=5&tokens=8&stall_after=4&stall_ms=600", 2, 2, tokens=8)
    for got in run.samples:
        assert max(got.gaps) == pytest.approx(0.6, abs=0.3)
        assert got.gaps.index(max(got.gaps)) == 3


def test_an_engine_that_is_stopped_for_a_while_shows_it(url: str) -> None:
    async def work() -> LevelRun:
        target = Target(url=url, model="mock?token_ms=20&tokens=30")
        running = asyncio.ensure_future(run_level(target, asks_of(target, 4, 30), concurrency=2))
        await asyncio.sleep(0.3)
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(1.5)
        os.kill(pid, signal.SIGCONT)
        return await running

    pid = truth(url)["pid"]
    run = asyncio.run(work())
    assert kinds(run) == [None] * 4
    assert max(max(sample.gaps) for sample in run.samples) >= 1.2
    summary = summarise(run, kind="sweep", name="c2")
    assert summary.silence is not None and summary.silence >= 1.2
    assert "stalled" in summary.flags


def test_a_stall_that_does_not_end_is_a_timeout(url: str) -> None:
    run = level(
        url, "mock?tokens=8&stall_after=4&stall_ms=60000", 2, 2, tokens=8, stall_seconds=0.2
    )
    assert kinds(run) == ["timeout", "timeout"]
    assert [sample.chunks for sample in run.samples] == [4, 4]


def test_a_server_that_closes_after_each_stream_costs_no_request(url: str) -> None:
    run = level(url, "mock?closes=true&token_ms=1", 64, 8)
    assert kinds(run) == [None] * 64
    assert sum(sample.resent for sample in run.samples) <= 8
    assert len(truth(url)["requests"]) == 64


def test_an_engine_that_dies_fails_what_is_open_and_what_comes_after() -> None:
    with server("--die-after", "6", "--ttft-ms", "20", "--token-ms", "5") as url:
        run = level(url, "mock", 20, 2)
    good = kinds(run).count(None)
    assert 4 <= good <= 6
    assert set(kinds(run)) == {None, "connect", "truncated"} or set(kinds(run)) == {None, "connect"}
    assert len(run.samples) == 20


def test_a_server_that_refuses_every_connection_gives_only_failures() -> None:
    run = level_at_nothing()
    assert kinds(run) == ["connect"] * 10
    assert run.peak_concurrency == 0
    assert all(sample.first_token is None and sample.end is not None for sample in run.samples)


def level_at_nothing() -> LevelRun:
    target = Target(url="http://127.0.0.1:9", model="m")
    return asyncio.run(run_level(target, asks_of(target, 10), concurrency=4))


def test_7_of_10_are_good_and_the_failures_carry_no_times_that_count() -> None:
    """A15: what failed is told apart, so that a statistic can leave it out."""
    answers = iter([None] * 7 + [500, 500, "timeout"])

    def handler(request: httpx.Request) -> httpx.Response:
        answer = next(answers)
        if answer == "timeout":
            raise httpx.ReadTimeout("no byte for 30 s")
        if answer == 500:
            return httpx.Response(500, json={"error": {"message": "engine stopped"}})
        content = chunk(content="x") + chunk("stop") + last_usage(5, 1)
        return httpx.Response(200, content=content)

    target = Target(url="http://spark", model="m")
    work = run_level(
        target, asks_of(target, 10), concurrency=1, transport=httpx.MockTransport(handler)
    )
    run = asyncio.run(work)
    assert kinds(run) == [None] * 7 + ["http", "http", "timeout"]
    assert [sample.first_token for sample in run.samples[7:]] == [None] * 3


# The field's cases


def test_a_cached_prompt_is_told_and_unique_prompts_meet_no_cache(url: str) -> None:
    model = "mock?ttft_ms=120&cached_ms=5"
    fresh = level(url, model, 6, 2)
    assert min(sample.first_token or 0 for sample in fresh.samples) >= 0.11
    assert all(sample.cached_tokens == 0 for sample in fresh.samples)
    repeated = level(url, model, 6, 2, unique=False)
    assert sum((sample.cached_tokens or 0) > 0 for sample in repeated.samples) >= 4
    assert min(sample.first_token or 1 for sample in repeated.samples) < 0.11


def test_an_answer_that_ends_early_shows_its_real_length(url: str) -> None:
    run = level(url, "mock?early_eos=16", 4, 2, tokens=128)
    assert {(s.output_tokens, s.finish, s.ok) for s in run.samples} == {(16, "stop", True)}


def test_a_server_that_ignores_the_limit_is_stopped_and_named(url: str) -> None:
    run = level(url, "mock?ignores=max_tokens&tokens=5000&token_ms=1", 1, 1, tokens=16)
    assert kinds(run) == ["runaway"]
    assert run.samples[0].chunks < 1000


def test_a_little_more_than_asked_is_measured_not_stopped(url: str) -> None:
    run = level(url, "mock?ignores=max_tokens&tokens=20", 1, 1, tokens=16)
    assert (run.samples[0].ok, run.samples[0].output_tokens) == (True, 20)


def test_small_pieces_are_no_runaway_output(url: str) -> None:
    run = level(url, "mock?piece_bytes=7&text=zh&tokens=12", 1, 1, tokens=12)
    assert run.samples[0].ok
    assert run.samples[0].text == "繁體中文的字被切成兩半繁體"


def test_a_key_that_is_refused_in_a_level_is_refused_once(url: str) -> None:
    run = level(url, "mock?refuses=ignore_eos", 12, 1)
    assert kinds(run) == [None] * 12
    assert {sample.dropped for sample in run.samples} == {("ignore_eos",)}


def test_a_refusal_is_learnt_by_all_users_of_a_level() -> None:
    refusals = []

    def handler(request: httpx.Request) -> httpx.Response:
        if b"ignore_eos" in request.content:
            refusals.append(request)
            return httpx.Response(400, json={"error": "unknown key ignore_eos"})
        return httpx.Response(200, content=chunk(content="x") + chunk("stop"))

    target = Target(url="http://spark", model="m")
    work = run_level(
        target, asks_of(target, 9), concurrency=1, transport=httpx.MockTransport(handler)
    )
    assert kinds(asyncio.run(work)) == [None] * 9
    assert len(refusals) == 1


def test_the_connections_of_a_level_are_opened_before_it_begins(url: str) -> None:
    class Watched(Wire):
        opened = 0

        async def open(self, url: httpx.URL, count: int) -> None:
            self.opened += count
            await super().open(url, count)

    async def work() -> int:
        async with Watched() as wire:
            target = Target(url=url, model="mock")
            await run_level(target, asks_of(target, 5), concurrency=9, transport=wire)
            return wire.opened

    assert asyncio.run(work()) == 5


def test_the_new_limit_is_used_where_the_old_one_is_refused(url: str) -> None:
    run = level(url, "mock?refuses=max_tokens", 3, 1, tokens=5)
    assert [sample.output_tokens for sample in run.samples] == [5, 5, 5]


def test_a_server_that_is_loading_is_no_success() -> None:
    with server("--loading-s", "60") as url:
        run = level(url, "mock", 3, 1)
    assert kinds(run) == ["http"] * 3
    assert run.samples[0].error == "HTTP 503: Loading model"


def test_requests_beyond_the_slots_wait_inside_their_ttft() -> None:
    with server("--slots", "4", "--ttft-ms", "150", "--token-ms", "50") as url:
        assert httpx.get(f"{url}/props").json()["total_slots"] == 4
        run = level(url, "mock", 8, 8)
    waits = sorted(sample.first_token or 0 for sample in run.samples)
    assert waits[3] < 0.30 <= waits[4]
    assert run.peak_concurrency == 8


@pytest.mark.parametrize(
    ("switch", "reason"),
    [
        ("status=500", "HTTP 500: the mock was told to answer so"),
        ("context=20", "exceeds the available context size (20 tokens)"),
    ],
)
def test_an_overflow_is_a_failure_with_a_plain_reason(url: str, switch: str, reason: str) -> None:
    run = level(url, f"mock?{switch}", 2, 2)
    assert kinds(run) == ["http", "http"]
    assert reason in (run.samples[0].error or "")


def test_a_buffering_proxy_shows_as_no_streaming(url: str) -> None:
    run = level(url, "mock?buffered=true&ttft_ms=50&token_ms=20&tokens=8", 1, 1, tokens=8)
    (got,) = run.samples
    assert got.first_token is not None and got.first_token >= 0.19
    assert max(got.gaps) < 0.05


def test_the_slow_first_wave_is_there_to_be_seen(url: str) -> None:
    run = level(url, "mock?ttft_ms=20&slow_first=4&slow_first_ms=400", 16, 4)
    ttfts = [sample.first_token or 0 for sample in run.samples]
    assert min(ttfts[:4]) >= 0.4 and median(ttfts[4:]) < 0.4


HABITS = {
    "role null": "role=null",
    "role in the first chunk": "role=first",
    "no role": "role=none",
    "usage beside the finish": "usage=finish",
    "usage with every chunk": "usage=every",
    "usage null, counted by chunks": "usage=null",
    "no usage": "usage=none",
    "usage of zeros": "usage=zero",
    "timings": "usage=none&timings=true",
    "CRLF": "line_end=crlf",
    "CR": "line_end=cr",
    "no space": "space=false",
    "comments": "comments=true",
    "pieces of 7 bytes": "piece_bytes=7&text=zh",
    "pieces of 1 byte": "piece_bytes=1&text=zh",
    "until close": "framing=close",
    "until close, no done": "framing=close&ending=no_done",
    "no done": "ending=no_done",
    "thinking": "thinking_tokens=3",
    "thinking under the old name": "thinking_tokens=3&thinking=reasoning_content",
    "thinking under both names": "thinking_tokens=3&thinking=both",
    "thinking between tags": "thinking_tokens=3&thinking=tags",
}


@pytest.mark.parametrize("habit", HABITS.values(), ids=HABITS)
def test_every_habit_of_engines_gives_the_same_sample(url: str, habit: str) -> None:
    run = level(url, f"mock?role_ms=1&ttft_ms=40&token_ms=2&{habit}", 2, 2, tokens=8)
    for got in run.samples:
        assert got.error is None
        assert (got.output_tokens, got.chunks) == (8, 8)
        assert got.first_token is not None and 0.04 <= got.first_token < 0.5
        assert len(got.gaps) == 7


@pytest.mark.parametrize("shape", ["object", "choices", "text", "event", "bare"])
def test_every_shape_of_error_in_a_stream_is_a_failure(url: str, shape: str) -> None:
    run = level(url, f"mock?error_after=3&error_shape={shape}", 2, 2, tokens=8)
    assert kinds(run) == ["in_stream"] * 2
    assert [sample.chunks for sample in run.samples] == [3, 3]


@pytest.mark.parametrize("ending", ["cut", "abort"])
@pytest.mark.parametrize("framing", ["chunked", "close"])
@pytest.mark.parametrize("usage", ["last", "every"])
def test_every_way_to_break_off_is_a_failure(
    url: str, ending: str, framing: str, usage: str
) -> None:
    run = level(url, f"mock?ending={ending}&framing={framing}&usage={usage}", 2, 2, tokens=8)
    assert kinds(run) == ["truncated"] * 2
    assert [sample.chunks for sample in run.samples] == [3, 3]


def test_token_ids_are_used_where_they_were_asked_for(url: str) -> None:
    target = Target(url=url, model="mock?token_ids=true&tokens_per_chunk=3")
    body = chat_body(target, "hi", 8, token_ids=True)
    run = asyncio.run(run_level(target, [Ask(id="r", body=body)], concurrency=1))
    (got,) = run.samples
    assert (got.output_tokens, got.count_source, got.first_chunk_tokens) == (8, "token_ids", 3)


def test_a_running_usage_is_asked_of_engines_that_know_it(url: str) -> None:
    target = Target(url=url, model="mock?tokens_per_chunk=3", engine="vllm")
    body = chat_body(target, "hi", 8)
    run = asyncio.run(run_level(target, [Ask(id="r", body=body)], concurrency=1))
    assert (run.samples[0].output_tokens, run.samples[0].first_chunk_tokens) == (8, 3)


@pytest.mark.engine
def test_the_real_llama_server_loses_no_request(llama_url: str) -> None:
    """It closes each connection after a stream though it promises to keep it."""
    target = Target(url=llama_url, model="smollm2-135m", engine="llama.cpp-local")
    asks = [Ask(id=f"r{n}", body=chat_body(target, f"{n}", 4, exact=True)) for n in range(8)]
    run = asyncio.run(run_level(target, asks, concurrency=2))
    assert kinds(run) == [None] * 8
    assert {(s.output_tokens, s.count_source, s.dropped) for s in run.samples} == {(4, "usage", ())}
    assert sum(sample.resent for sample in run.samples) <= 2


# The meter's own health


def test_waiting_in_this_client_is_no_latency() -> None:
    """The loop stands still while a request is due: that is client queue time, not TTFT."""

    async def handler(request: httpx.Request) -> httpx.Response:
        time.sleep(0.05)
        await asyncio.sleep(0.3)
        return httpx.Response(200, content=chunk(content="x") + chunk("stop"))

    target = Target(url="http://spark", model="m")
    work = run_level(
        target, asks_of(target, 4), concurrency=4, transport=httpx.MockTransport(handler)
    )
    queued = sorted(sample.queued for sample in asyncio.run(work).samples)
    assert queued[0] < 0.05 and queued[-1] >= 0.14


def test_a_meter_that_stood_still_is_called_busy() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        time.sleep(0.06)
        return httpx.Response(200, content=chunk(content="x") + chunk("stop"))

    target = Target(url="http://spark", model="m")
    work = run_level(
        target, asks_of(target, 20), concurrency=1, transport=httpx.MockTransport(handler)
    )
    run = asyncio.run(work)
    assert run.meter.busy and not run.meter.kernel_stamps


def lag(*late: float) -> Lag:
    noted = Lag()
    for seconds in late:
        noted.note(seconds)
    return noted


@pytest.mark.parametrize(
    ("noted", "kernel", "gap", "busy"),
    [
        (lag(), False, None, False),
        (lag(*[0.001] * 200), False, 0.02, False),
        (lag(*[0.015] * 200), False, 0.1, True),
        (lag(*[0.015] * 200), True, 0.1, False),  # the kernel saw each piece come
        (lag(*[0.060] * 200), True, 0.1, True),  # but not two pieces in one reading
        (lag(*[0.015] * 200), True, None, True),
    ],
)
def test_busy_is_what_could_have_bent_a_figure(
    noted: Lag, kernel: bool, gap: float | None, busy: bool
) -> None:
    assert noted.health(kernel=kernel, gap=gap).busy is busy


def test_real_sockets_are_stamped_by_the_kernel(url: str) -> None:
    assert level(url, "mock?token_ms=5", 4, 2).meter.kernel_stamps


def test_nothing_is_collected_in_a_level_and_everything_is_restored() -> None:
    assert gc.isenabled()
    with still():
        assert not gc.isenabled() and gc.get_freeze_count() > 0
    assert gc.isenabled() and gc.get_freeze_count() == 0


def test_a_defect_of_our_own_is_not_hidden_as_a_failed_request() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise ZeroDivisionError

    target = Target(url="http://spark", model="m")
    work = run_level(
        target, asks_of(target, 2), concurrency=2, transport=httpx.MockTransport(handler)
    )
    with pytest.raises(ExceptionGroup):
        asyncio.run(work)


def test_the_truth_server_and_the_level_agree(url: str) -> None:
    run = level(url, "mock?ttft_ms=100&token_ms=10&tokens=20", 16, 4, tokens=20)
    records = {record["id"]: record for record in truth(url)["requests"]}
    errors = []
    for got in run.samples:
        record = records[got.id]
        assert got.first_token is not None
        errors.append(got.first_token - (record["sent"][0] - record["arrived"]))
        true = [after - before for before, after in pairwise(record["sent"])]
        assert list(got.gaps) == pytest.approx(true, abs=0.05)
    assert 0 <= median(errors) < 0.05
