"""The numbers of a level: formulas, and the cases in which other tools get them wrong."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from levels import QUIET, closed_loop, failed, level, sample
from msgspec.structs import replace

from bench.numbers import metrics
from bench.numbers.metrics import summarise
from bench.numbers.request import tpot
from bench.text import LANGUAGES, words


def summary(run, **more):
    return summarise(run, kind="sweep", name="c8", **more)


def test_a_plain_stream_gives_its_own_times_back():
    found = summary(level([sample(i, sent=2.0 * i) for i in range(10)]))
    assert found.ttft.p50 == pytest.approx(0.2)
    assert found.ttfr.p50 == pytest.approx(0.01)
    assert found.tpot.p50 == pytest.approx(0.02)
    assert found.gap.p50 == pytest.approx(0.02)
    assert (found.gap.n, found.gap.p99, found.gap.intervals) == (630, pytest.approx(0.02), {})
    assert found.e2e.p50 == pytest.approx(0.2 + 63 * 0.02)
    assert found.prefill_speed.mean == pytest.approx(2048 / 0.2)
    assert found.decode_speed.mean == pytest.approx(50)
    assert found.speed_with_wait.mean == pytest.approx(64 / 1.46)
    assert found.throughput_all == pytest.approx(640 / 19.46)
    assert found.requests_per_second == pytest.approx(10 / 19.46)
    assert (found.ok, found.failed, found.asked, found.flags) == (10, 0, 10, ())


def test_a06_four_chunks_of_sixteen_tokens_are_fifteen_steps_when_only_usage_is_told():
    """A06 and A07: chunks of 4, 5, 4 and 3 tokens, 100 ms apart, usage says 16."""
    one = sample(tokens=16, per_chunk=4, step=0.025)
    assert one.gaps == (0.1, 0.1, 0.1)
    assert tpot(one) == pytest.approx(0.020)
    found = summary(level([one]))
    assert found.decode_speed.mean == pytest.approx(15 / 0.3)
    assert found.gap.p50 == pytest.approx(0.1)
    assert found.tokens_per_chunk == 4.0
    assert found.first_chunk_known is False
    assert found.flags == ("first_chunk_unknown",)
    assert found.tpot_if_even == pytest.approx(0.3 / 12)


def test_four_tokens_a_chunk_are_twenty_milliseconds_a_token_when_the_first_chunk_is_told():
    """Sixteen chunks of four tokens each 80 ms: 60 tokens came in 1.2 s. Others say 19.05 ms."""
    one = sample(tokens=64, per_chunk=4, step=0.02, first_chunk_tokens=4)
    assert tpot(one) == pytest.approx(0.020)
    found = summary(level([one]))
    assert found.first_chunk_known is True
    assert found.tpot_if_even is None
    assert found.flags == ()
    untold = summary(level([replace(one, first_chunk_tokens=None)]))
    assert untold.tpot.p50 == pytest.approx(1.2 / 63)
    assert untold.tpot_if_even == pytest.approx(0.020)


def test_a_big_first_chunk_after_thinking_of_drafts_is_taken_off_whole():
    one = sample(tokens=11, per_chunk=1, step=0.05, first_chunk_tokens=5, chunks=7)
    assert tpot(replace(one, last_token=one.first_token + 0.3)) == pytest.approx(0.05)


@pytest.mark.parametrize(
    "changes",
    [
        {"output_tokens": 1, "chunks": 1},
        {"output_tokens": 8, "chunks": 1},
        {"output_tokens": None},
        {"output_tokens": 0},
        {"first_token": None},
        {"first_chunk_tokens": 64},
    ],
)
def test_what_has_no_second_step_has_no_tpot(changes):
    assert tpot(sample(**changes)) is None
    assert summary(level([sample(**changes)])).tpot.p50 is None


def test_a02_thinking_only_is_a_measured_request_without_an_answer():
    found = summary(level([sample(first_answer=None, reasoning="because " * 64)]))
    assert (found.ok, found.ttft.p50, found.ttfa.p50, found.ttfa.n) == (1, 0.2, None, 0)
    assert found.decode_speed.mean == pytest.approx(50)


def test_a12_a_short_output_is_counted_and_marked():
    found = summary(
        level([sample(i, tokens=16, finish="stop") for i in range(4)]), output_tokens_planned=128
    )
    assert (found.short_share, found.output_tokens.mean, found.finishes) == (1.0, 16.0, {"stop": 4})
    assert "short_output" in found.flags
    mixed = summary(
        level([sample(tokens=122), sample(1, tokens=121), sample(2, tokens=135)]),
        output_tokens_planned=128,
    )
    assert mixed.short_share == pytest.approx(1 / 3)
    assert mixed.long_share == pytest.approx(1 / 3)
    assert mixed.flags == ("short_output", "long_output")


def test_a_count_of_chunks_can_not_prove_an_output_short():
    chunked = sample(tokens=60, count_source="chunks")
    found = summary(level([chunked]), output_tokens_planned=128)
    assert found.short_share is None
    assert found.flags == ("chunk_counts",)


def test_a_level_is_only_as_sure_as_its_least_sure_count():
    samples = [sample(), sample(1, count_source="timings"), sample(2, count_source="token_ids")]
    assert summary(level(samples)).count_source == "timings"


def test_a14_the_servers_prompt_count_is_the_truth_and_the_plan_stays_beside_it():
    found = summary(level([sample(prompt_tokens=655)]), prompt_tokens_planned=512)
    assert found.prefill_speed.mean == pytest.approx(655 / 0.2)
    assert (found.prompt_tokens.mean, found.prompt_tokens_planned) == (655.0, 512)
    assert found.flags == ("prompt_length",)
    close = summary(level([sample(prompt_tokens=522)]), prompt_tokens_planned=512)
    assert close.flags == ()


def test_a15_failures_are_outside_every_latency_and_rate():
    good = [sample(i, ttft=0.1 + 0.01 * i) for i in range(7)]
    bad = [failed(1), failed(2), failed(3, end=30.0, kind="timeout")]
    found = summary(level([*good, *bad], 10))
    assert found.ttft.p50 == pytest.approx(0.13)
    assert found.ttft.worst == pytest.approx(0.16)
    assert (found.ttft.n, found.ok, found.failed, found.asked) == (7, 7, 3, 10)
    assert found.errors == {"http": 2, "timeout": 1}
    assert found.success.low == pytest.approx(0.3968, abs=1e-4)
    assert found.ttft.p99 is None
    assert found.throughput_all == pytest.approx(7 * 64 / 30)


def test_a15_when_all_failed_there_are_no_numbers_and_no_zeros():
    found = summary(level([failed(i, kind="connect") for i in range(10)], 10), slots=4)
    assert (found.ok, found.failed, found.errors) == (0, 10, {"connect": 10})
    absent = """prompt_tokens output_tokens short_share count_source tokens_per_chunk cache_hit
        prefill_speed decode_speed speed_with_wait throughput throughput_all requests_per_second
        ramp steady tail silence tpot_if_even"""
    for name in re.split(r"\s+", absent):
        assert getattr(found, name) is None, name
    for name in ("ttfr", "ttft", "ttfa", "e2e", "tpot", "gap", "queued"):
        values = getattr(found, name)
        assert (values.n, values.p50, values.worst, values.best) == (0, None, None, None), name
    assert found.success.low == pytest.approx(0)


def test_a_partly_broken_stream_is_in_no_rate():
    broken = sample(1, error="stream ended", error_kind="truncated", ttft=9.0)
    found = summary(level([sample(), broken], 2))
    assert found.ttft.worst == pytest.approx(0.2)
    assert found.output_tokens.n == 1


def test_what_we_cancelled_ourselves_is_no_failure_of_the_engine():
    found = summary(level([sample(), failed(1, kind="cancelled")], 2, stopped=True))
    assert (found.ok, found.failed, found.asked, found.errors) == (1, 0, 2, {"cancelled": 1})
    assert "stopped" in found.flags


def test_a11_prompts_from_the_cache_are_shown_and_marked_above_one_per_cent():
    warm = [sample(i, cached_tokens=160) for i in range(4)]
    found = summary(level(warm))
    assert found.cache_hit == pytest.approx(160 / 2048)
    assert found.flags == ("cached_prompts",)
    assert summary(level([sample(cached_tokens=20)])).flags == ()
    assert summary(level([sample()])).cache_hit is None


def test_the_chat_template_may_come_from_the_cache_without_a_mark():
    found = summary(level([sample(cached_tokens=64)]), template_tokens=70)
    assert found.flags == ()
    assert found.cache_hit == pytest.approx(64 / 2048)


def test_a18_more_users_than_slots_is_queueing():
    assert summary(closed_loop(16, 8), slots=4).flags == ("queueing",)
    assert summary(closed_loop(16, 8), slots=8).flags == ()
    assert summary(closed_loop(16, 8), slots=0).flags == ()  # 0: unknown


def test_a16_a_level_that_was_never_full_says_so():
    run = closed_loop(16, 8)
    assert summary(replace(run, peak_concurrency=7)).flags == ("concurrency_not_reached",)


def test_a_busy_meter_marks_the_level():
    run = replace(closed_loop(16, 8), meter=replace(QUIET, busy=True))
    assert summary(run).flags == ("meter_busy",)


def test_what_comes_after_the_last_text_is_in_no_latency():
    found = summary(level([sample(end=1.76)]))
    assert found.e2e.p50 == pytest.approx(1.46)
    assert found.decode_speed.mean == pytest.approx(50)


def test_client_queue_time_is_apart_from_every_latency():
    found = summary(level([sample(queued=3.0)]))
    assert (found.queued.worst, found.ttft.worst) == (3.0, 0.2)


def test_an_unknown_output_count_gives_no_throughput_rather_than_a_part_of_it():
    found = summary(level([sample(), sample(1, output_tokens=None)], 2))
    assert (found.throughput, found.throughput_all) == (None, None)
    assert found.requests_per_second is not None


def test_a_published_level_of_64_has_no_p99_but_a_worst():
    found = summary(closed_loop(64, 8))
    assert (found.ttft.n, found.ttft.p90 is None, found.ttft.p95, found.ttft.p99) == (
        64,
        False,
        None,
        None,
    )
    assert found.ttft.worst == pytest.approx(2.0)


@given(
    st.lists(
        st.tuples(st.floats(0.001, 5), st.integers(2, 60), st.integers(1, 5), st.booleans()),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 8),
)
def test_tokens_are_neither_made_nor_lost_between_the_phases(rows, concurrency):
    samples = [
        sample(i, sent=0.1 * i, ttft=ttft, tokens=tokens, per_chunk=width)
        if fine
        else failed(i, sent=0.1 * i)
        for i, (ttft, tokens, width, fine) in enumerate(rows)
    ]
    found = summary(level(samples, concurrency))
    total = sum(tokens for _, tokens, _, fine in rows if fine)
    if found.ramp is not None and found.steady is not None:
        parts = [p for p in (found.ramp, found.steady, found.tail) if p is not None]
        assert sum(p.throughput * p.duration for p in parts) == pytest.approx(total)
    assert (found.throughput_all or 0) * found.duration == pytest.approx(total)


def test_measuring_values_load_no_client_no_database_and_no_page():
    code = (
        "import sys, bench.prompts, bench.machine.health; "
        "from bench.numbers import "
        "definitions, differences, method, metrics, physics, verdict; "
        "print({'httpx', 'sqlite3', 'streamlit'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_flag_is_told_in_words(language):
    source = inspect.getsource(metrics._flags)
    flags = re.findall(r'^ {8}"(\w+)":', source, re.MULTILINE)
    assert len(flags) == 11
    for flag in flags:
        assert "c8" in words(language)(f"flags.{flag}", levels="c8")
