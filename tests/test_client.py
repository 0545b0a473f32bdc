"""One answer → one sample: the field cases A01-A14, each with its right value, and their kin."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.meter.client import ask_one
from bench.meter.connection import RunawayOutput
from bench.meter.target import Ask, Target, chat_body
from bench.numbers.request import tpot
from bench.sample import Sample
from tests.streams import DONE, JSON, chunk, event, last_usage, said, sample, usage

DATA = Path(__file__).parent / "data"
STOP = chunk("stop")


# A01


@pytest.mark.parametrize(
    "role",
    [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None},
        {"role": "assistant"},
    ],
)
def test_a_role_chunk_is_no_token(role: dict[str, str]) -> None:
    got = sample((0.010, chunk(**role)), *said([0.4, 0.42], content="台"), (0.43, STOP))
    assert (got.first_event, got.first_token) == (0.010, 0.4)
    assert got.gaps == pytest.approx([0.02])


def test_a_role_beside_the_first_text_is_a_token() -> None:
    got = sample((0.4, chunk(role="assistant", content="台")), (0.5, STOP))
    assert got.first_token == 0.4


def test_empty_chunks_before_the_text_are_no_tokens() -> None:
    waiting = said([0.1, 0.2, 0.3], content="")
    got = sample(*waiting, *said([0.4, 0.5], content="x"), (0.5, STOP))
    assert (got.first_token, got.chunks, got.gaps) == (0.4, 2, (pytest.approx(0.1),))


# A02, A03


def test_thinking_is_the_first_token_and_the_answer_has_its_own_time() -> None:
    thinking = said([0.2, 0.4, 0.6, 0.8, 1.0], reasoning="hm ")
    answer = said([1.2, 1.3, 1.4], content="yes")
    got = sample(
        (0.01, chunk(role="assistant")), *thinking, *answer, (1.5, STOP), (1.5, last_usage(9, 8))
    )
    assert (got.first_token, got.first_answer, got.last_token) == (0.2, 1.2, 1.4)
    assert (got.output_tokens, got.chunks) == (8, 8)
    assert tpot(got) == pytest.approx(1.2 / 7)
    assert (got.text, got.reasoning) == ("yesyesyes", "hm " * 5)


def test_a_budget_used_up_by_thinking_is_measured_and_has_no_answer() -> None:
    got = sample(*said([0.2, 0.3], reasoning="hm"), (0.4, chunk("length")), (0.4, last_usage(9, 2)))
    assert got.ok
    assert (got.first_token, got.first_answer, got.finish, got.text) == (0.2, None, "length", "")
    assert tpot(got) == pytest.approx(0.1)


@pytest.mark.parametrize(
    "names", [["reasoning"], ["reasoning_content"], ["reasoning", "reasoning_content"]]
)
def test_thinking_has_two_names_and_counts_once(names: list[str]) -> None:
    pieces = [(at, chunk(**dict.fromkeys(names, "hm"))) for at in (0.1, 0.2)]
    got = sample(*pieces, (0.3, chunk(content="yes")), (0.3, STOP))
    assert (got.reasoning, got.chunks, got.output_tokens) == ("hmhm", 3, 3)


@pytest.mark.parametrize("nothing", ["", None])
def test_an_empty_thinking_field_hides_no_answer(nothing: str | None) -> None:
    got = sample((0.1, chunk(content="yes", reasoning_content=nothing)), (0.2, STOP))
    assert (got.first_answer, got.text, got.reasoning) == (0.1, "yes", "")


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("", "</think>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ],
)
def test_thinking_between_tags_in_the_answer_is_no_answer(opening: str, closing: str) -> None:
    got = sample(
        (0.1, chunk(content=f"{opening}hm")),
        (0.2, chunk(content=closing)),
        (0.3, chunk(content="\n\n")),
        (0.4, chunk(content="yes")),
        (0.5, STOP),
    )
    assert (got.first_token, got.first_answer, got.text) == (0.1, 0.4, "yes")
    assert got.reasoning.startswith("hm")


def test_thinking_without_an_end_has_no_answer() -> None:
    got = sample((0.1, chunk(content="<think>hm")), (0.2, chunk("length", content=" hm")))
    assert (got.first_token, got.first_answer, got.text, got.reasoning) == (0.1, None, "", "hm hm")


def test_the_arguments_of_a_tool_call_are_tokens() -> None:
    call = {"tool_calls": [{"function": {"arguments": '{"city"'}}]}
    got = sample((0.1, chunk(**call)), (0.2, chunk(**call)), (0.3, chunk("tool_calls")))
    assert (got.first_token, got.last_token, got.first_answer) == (0.1, 0.2, None)


def test_a_base_models_completion_is_read_like_a_chat() -> None:
    pieces = [(at, event({"choices": [{"index": 0, "text": "高"}]})) for at in (0.1, 0.2)]
    end = event({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]})
    got = sample(*pieces, (0.3, end))
    assert (got.text, got.first_token, got.last_token) == ("高高", 0.1, 0.2)


# A04, A05


def test_usage_in_a_last_chunk_without_choices_is_found_and_is_no_token() -> None:
    got = sample(
        *said([0.1, 0.2], content="x"),
        (0.2, chunk("stop", usage=None)),
        (0.5, last_usage(37, 12)),
        (0.5, DONE),
    )
    assert (got.prompt_tokens, got.output_tokens, got.count_source) == (37, 12, "usage")
    assert (got.last_token, got.end) == (0.2, 0.5)


def test_usage_beside_the_finish_is_found() -> None:
    finish = chunk("stop", usage=usage(37, 12), role="assistant", content=None)
    got = sample(*said([0.1, 0.2], content="x"), (0.3, finish))
    assert (got.output_tokens, got.last_token) == (12, 0.2)


def test_usage_in_every_chunk_is_not_summed_and_tells_the_first_chunks_tokens() -> None:
    pieces = [(n / 10, chunk(usage=usage(5, n), content="x")) for n in (1, 2, 3, 4)]
    got = sample(*pieces, (0.5, STOP))
    assert (got.output_tokens, got.first_chunk_tokens) == (4, 1)


def test_a_usage_of_zeros_is_no_count() -> None:
    got = sample(
        *said([0.1, 0.2, 0.3, 0.4, 0.5], content="x"), (0.6, STOP), (0.6, last_usage(0, 0))
    )
    assert (got.output_tokens, got.count_source, got.prompt_tokens) == (5, "chunks", None)


def test_zeros_at_the_end_replace_no_real_count() -> None:
    got = sample((0.1, chunk(usage=usage(5, 3), content="x")), (0.2, STOP), (0.2, last_usage(0, 0)))
    assert (got.output_tokens, got.prompt_tokens) == (3, 5)


def test_usage_in_a_chunk_with_an_empty_delta_ends_an_answer() -> None:
    got = sample(*said([0.1], content="x"), (0.2, chunk(usage=usage(5, 9))))
    assert got.ok
    assert got.output_tokens == 9


def test_tokens_out_of_a_cache_and_of_thinking_are_told() -> None:
    details = {
        **usage(50, 40),
        "prompt_tokens_details": {"cached_tokens": 24},
        "completion_tokens_details": {"reasoning_tokens": 11},
    }
    got = sample(*said([0.1], content="x"), (0.2, event({"choices": [], "usage": details})))
    assert (got.cached_tokens, got.reasoning_tokens) == (24, 11)


def test_an_answer_without_text_has_no_tokens_but_those_that_were_told() -> None:
    nothing = sample((0.1, chunk(role="assistant")), (0.2, STOP))
    assert (nothing.ok, nothing.output_tokens, nothing.count_source) == (True, None, None)
    told = sample((0.1, chunk(role="assistant")), (0.2, STOP), (0.2, last_usage(5, 0)))
    assert (told.ok, told.output_tokens, told.first_token) == (True, 0, None)


# A06, A07


def test_several_tokens_in_a_chunk_are_counted_by_usage() -> None:
    pieces = [(n / 10, chunk(content="a b c ")) for n in (1, 2, 3, 4)]
    got = sample(*pieces, (0.4, STOP), (0.4, last_usage(5, 16)))
    assert (got.output_tokens, got.chunks, got.count_source) == (16, 4, "usage")
    assert got.gaps == pytest.approx([0.1, 0.1, 0.1])
    assert tpot(got) == pytest.approx(0.020)


def _with_ids(at: float, n: int) -> tuple[float, bytes]:
    return at, event(
        {"choices": [{"index": 0, "delta": {"content": "x"}, "token_ids": list(range(n))}]}
    )


def test_token_ids_count_best_and_tell_the_first_chunks_tokens() -> None:
    got = sample(
        _with_ids(0.1, 4),
        _with_ids(0.2, 5),
        _with_ids(0.3, 3),
        (0.3, STOP),
        (0.3, last_usage(5, 16)),
    )
    assert (got.output_tokens, got.count_source, got.first_chunk_tokens) == (12, "token_ids", 4)
    assert tpot(got) == pytest.approx(0.2 / 8)


def test_token_ids_of_some_chunks_only_are_no_count() -> None:
    got = sample(_with_ids(0.1, 4), *said([0.2], content="x"), (0.3, STOP), (0.3, last_usage(5, 9)))
    assert (got.output_tokens, got.count_source) == (9, "usage")


def test_a_running_usage_tells_the_first_chunks_tokens() -> None:
    pieces = [(n / 10, chunk(usage=usage(5, 4 * n), content="abcd")) for n in (1, 2, 3)]
    got = sample((0.0, chunk(usage=usage(5, 0), role="assistant")), *pieces, (0.3, STOP))
    assert (got.output_tokens, got.first_chunk_tokens) == (12, 4)
    assert tpot(got) == pytest.approx(0.2 / 8)


def test_timings_of_llama_cpp_count_when_there_is_no_usage() -> None:
    timings = {"cache_n": 24, "prompt_n": 26, "predicted_n": 40}
    got = sample(
        *said([0.1, 0.2], content="x"),
        (0.3, event({"choices": [], "timings": timings})),
        (0.3, STOP),
    )
    assert (got.output_tokens, got.count_source) == (40, "timings")
    assert (got.prompt_tokens, got.cached_tokens) == (50, 24)


def test_the_engines_tokenizer_counts_all_channels_before_chunks_are_counted() -> None:
    pieces = (*said([0.1], reasoning="hm hm "), *said([0.2], content="yes"), (0.3, STOP))
    assert sample(*pieces, count=lambda text: len(text.split())).output_tokens == 3
    assert sample(*pieces).count_source == "chunks"


# A08


SHAPES = {
    "an object": event(
        {"error": {"message": "engine stopped", "type": "InternalServerError", "code": 500}}
    ),
    "beside choices": event({"choices": [], "error": {"message": "engine stopped"}}),
    "in a choice": event(
        {"choices": [{"index": 0, "delta": {}, "error": {"message": "engine stopped"}}]}
    ),
    "a text": event({"error": "engine stopped"}),
    "a named event": b"event: error\ndata: engine stopped\n\n",
    "a named event of JSON": b'event: error\ndata: {"message": "engine stopped"}\n\n',
    "a bare line": b'{"error":{"message":"engine stopped"}}\n',
    "vLLM's older object": event({"object": "error", "message": "engine stopped", "code": 500}),
    "FastAPI's detail": event({"detail": "engine stopped"}),
}


@pytest.mark.parametrize("error", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("good", [0, 3])
@pytest.mark.parametrize("done", [b"", DONE])
def test_an_error_inside_a_stream_is_a_failure(error: bytes, good: int, done: bytes) -> None:
    got = sample(*said([0.1, 0.2, 0.3][:good], content="x"), (0.4, error), (0.4, done))
    assert (got.error_kind, got.status) == ("in_stream", 200)
    assert "engine stopped" in (got.error or "")
    assert got.chunks == good


def test_an_error_after_the_finish_is_still_a_failure() -> None:
    got = sample(
        *said([0.1], content="x"), (0.2, STOP), (0.3, SHAPES["an object"]), (0.3, last_usage(5, 1))
    )
    assert got.error_kind == "in_stream"


@pytest.mark.parametrize("reason", ["error", "abort"])
def test_a_finish_that_names_an_error_is_a_failure(reason: str) -> None:
    assert sample(*said([0.1], content="x"), (0.2, chunk(reason))).error_kind == "in_stream"


@pytest.mark.parametrize("nothing", [None, "", {}])
def test_an_empty_error_field_is_no_error(nothing: object) -> None:
    field = event({"choices": [{"delta": {"content": "x"}}], "error": nothing})
    assert sample((0.1, field), (0.2, STOP)).ok


def test_a_200_with_nothing_in_it_is_a_failure() -> None:
    assert sample((0.1, DONE)).error_kind == "empty"
    assert sample().error_kind == "empty"
    assert sample((0.1, b": ping\n\n"), (0.2, b": ping\n\n")).error_kind == "empty"


# A09


def _framings() -> dict[str, bytes]:
    plain = b"".join(
        [
            chunk(role="assistant"),
            chunk(content="繁體"),
            chunk(content="中文 "),
            STOP,
            last_usage(7, 5),
            DONE,
        ]
    )
    return {
        "LF": plain,
        "CRLF": plain.replace(b"\n", b"\r\n"),
        "CR": plain.replace(b"\n", b"\r"),
        "no space": plain.replace(b"data: ", b"data:"),
        "comments": plain.replace(b"data: {", b": ping\n\n: ping\ndata: {"),
        "fields": plain.replace(b"data: {", b"id: 7\nretry: 10\nevent: message\ndata: {"),
        "BOM": b"\xef\xbb\xbf" + plain,
        "no blank line at the end": plain.rstrip(b"\n"),
        "data in two lines": plain.replace(b'{"choices": [', b'{"choices":\ndata: ['),
        "an unknown event": b"event: heartbeat\ndata: tick\n\n" + plain,
    }


@pytest.mark.parametrize("body", _framings().values(), ids=_framings())
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_framing_and_cuts_change_nothing(body: bytes, size: int) -> None:
    pieces = [(at / 1000, body[at : at + size]) for at in range(0, len(body), size)]
    got = sample(*pieces)
    assert (got.text, got.finish, got.output_tokens, got.chunks) == ("繁體中文 ", "stop", 5, 2)
    assert got.ok


@given(cuts=st.sets(st.integers(1, 700)), framing=st.sampled_from(sorted(_framings())))
def test_a_stream_may_be_cut_anywhere(cuts: set[int], framing: str) -> None:
    body = _framings()[framing]
    places = [0, *sorted(cut for cut in cuts if cut < len(body)), len(body)]
    pieces = [(float(a), body[a:b]) for a, b in pairwise(places)]
    got = sample(*pieces)
    assert (got.text, got.finish, got.output_tokens, got.chunks) == ("繁體中文 ", "stop", 5, 2)


def test_a_token_is_stamped_when_its_line_ends() -> None:
    first, second = chunk(content="a"), chunk(content="b")
    got = sample((0.1, first[:9]), (0.2, first[9:-1]), (0.5, first[-1:] + second), (0.6, STOP))
    assert (got.first_token, got.last_token) == (0.2, 0.5)


def test_a_line_that_ends_in_cr_waits_for_no_lf() -> None:
    first = chunk(content="a").replace(b"\n", b"\r\n")
    cut = first.index(b"\r") + 1
    got = sample((0.1, first[:cut]), (0.5, first[cut:]), (0.6, STOP))
    assert got.first_token == 0.1


# A10


def test_a_missing_done_is_harmless() -> None:
    broken = httpx.ReadError("the server closed the connection")
    assert sample(*said([0.1], content="x"), (0.2, STOP)).ok
    assert sample(*said([0.1], content="x"), (0.2, STOP), fault=broken).ok
    assert sample(*said([0.1], content="x"), (0.2, STOP), (0.3, b'data: {"choi'), fault=broken).ok


@pytest.mark.parametrize("fault", [None, httpx.RemoteProtocolError("incomplete chunked read")])
@pytest.mark.parametrize("tail", [b"", b'data: {"choices": [{"del'])
def test_an_answer_without_an_end_is_truncated(fault: Exception | None, tail: bytes) -> None:
    got = sample(*said([0.1, 0.2, 0.3], content="x"), (0.3, tail), fault=fault)
    assert got.error_kind == "truncated"
    assert got.text == "xxx"


def test_usage_in_every_chunk_makes_no_cut_answer_whole() -> None:
    pieces = [(n / 10, chunk(usage=usage(5, n), content="x")) for n in (1, 2, 3)]
    role = (0.0, chunk(usage=usage(5, 0), role="assistant"))
    assert sample(role, *pieces).error_kind == "truncated"
    assert sample(*pieces[:1]).error_kind == "truncated"
    assert sample(role).error_kind == "empty"


def test_garbage_inside_a_stream_is_a_failure() -> None:
    got = sample(*said([0.1], content="x"), (0.2, b"data: {broken\n\n"), (0.3, STOP), (0.3, DONE))
    assert got.error_kind == "protocol"


def test_our_own_cancel_and_our_own_stop_have_their_own_kinds() -> None:
    pieces = said([0.1, 0.2], content="x")
    assert sample(*pieces, fault=asyncio.CancelledError()).error_kind == "cancelled"
    assert sample(*pieces, fault=RunawayOutput("stopped")).error_kind == "runaway"


def test_silence_in_the_middle_is_a_timeout() -> None:
    got = sample(*said([0.1], content="x"), fault=httpx.ReadTimeout("no byte for 3 s"))
    assert got.error_kind == "timeout"
    assert "3 s" in (got.error or "")


# Answers that are no streams


def _refusals() -> list[tuple[int, bytes, str]]:
    text = (DATA / "llama_server_errors.txt").read_text(encoding="utf-8")
    found = re.findall(r"\(\((\d+), '(\{\"error.*?\})'\),\)", text)
    return [(int(status), body.replace("\\'", "'").encode(), body) for status, body in found]


@pytest.mark.parametrize(("status", "body", "_"), _refusals())
def test_a_real_llama_server_refuses_in_its_own_words(status: int, body: bytes, _: str) -> None:
    got = sample((0.1, body), status=status, headers=JSON)
    assert got.error_kind == "http"
    assert got.error == f"HTTP {status}: {json.loads(body)['error']['message']}"


def test_the_samples_of_refusals_were_found() -> None:
    assert {status for status, _, _ in _refusals()} == {400, 404, 503}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            b'{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted"}]}',
            "body.x: Extra inputs",
        ),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b'{"message":"no such model"}', "no such model"),
        (b'{"error":"no such model"}', "no such model"),
        (b"<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway"),
        (b"upstream timed out", "upstream timed out"),
        (b"", "no explanation"),
        (b"[]", "[]"),
    ],
)
def test_a_refusal_of_any_shape_is_told(body: bytes, words: str) -> None:
    assert words in (sample((0.1, body), status=500, headers=JSON).error or "")


def test_a_web_page_instead_of_an_answer_is_named() -> None:
    page = b"<!doctype html><title>Sign in</title><p>hello"
    got = sample((0.1, page), headers=((b"content-type", b"text/html; charset=utf-8"),))
    assert got.error_kind == "protocol"
    assert "web page" in (got.error or "") and "Sign in" in (got.error or "")


def test_a_redirect_says_where_to() -> None:
    got = sample(status=307, headers=((b"location", b"https://spark/v1"),))
    assert got.error == "HTTP 307: it says to go to https://spark/v1"


def test_an_error_as_plain_json_with_status_200_is_a_failure() -> None:
    got = sample((0.1, b'{\n "error": {"message": "engine stopped"}\n}'), headers=JSON)
    assert (got.error_kind, got.error) == ("in_stream", "engine stopped")


def test_an_answer_that_was_not_streamed_has_no_token_times() -> None:
    whole = {
        "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
        "usage": usage(5, 1),
    }
    got = sample((0.5, json.dumps(whole).encode()), headers=JSON)
    assert got.ok and not got.streamed
    assert (got.text, got.output_tokens, got.end) == ("yes", 1, 0.5)
    assert (got.first_event, got.first_token, got.last_token, tpot(got)) == (None,) * 4


def test_an_unasked_status_of_success_without_an_answer_is_a_failure() -> None:
    assert sample(status=204).error_kind == "http"


# Real streams


@pytest.mark.parametrize("file", sorted((DATA / "streams").glob("*.sse.txt")), ids=str)
def test_real_streams_are_read_whole(file: Path) -> None:
    body = file.read_bytes().split(b"\n\n", 2)[2]
    lines = [line for line in body.split(b"\n\n") if line.strip()]
    got = sample(*[(n / 100, line + b"\n\n") for n, line in enumerate(lines)])
    told = re.search(rb'"completion_tokens":(\d+)', body)
    assert told and got.output_tokens == int(told[1])
    assert got.ok and got.finish == "length" and got.text
    assert got.last_token is not None and got.end is not None and got.last_token < got.end


# Requests: A13, refused keys, A14


TARGET = Target(url="http://spark", model="m")


class Server:
    """Answers over httpx's MockTransport, and keeps the bodies that it was sent."""

    def __init__(self, refuses: dict[str, bytes]) -> None:
        self.refuses, self.bodies = refuses, list[dict[str, object]]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.bodies.append(body)
        for key, answer in self.refuses.items():
            if key in body or key in body.get("stream_options", {}):
                return httpx.Response(400, content=answer)
        content = b"".join([chunk(content="x"), STOP, last_usage(655, 1)])
        return httpx.Response(200, content=content, headers={"content-type": "text/event-stream"})


def ask(server: Server, target: Target = TARGET, **options: bool) -> Sample:
    body = chat_body(target, "hello", 16, exact=True, **options)
    one = Ask(id="r1", body=body, output_tokens=16, prompt_tokens=512)
    return asyncio.run(ask_one(target, one, transport=httpx.MockTransport(server)))


UNKNOWN = b'{"error":{"message":"Unknown parameter: \'%s\'.","type":"invalid_request_error"}}'
EXTRA = (
    b'{"detail":[{"type":"extra_forbidden","loc":["body","ignore_eos"],'
    b'"msg":"Extra inputs are not permitted",'
    b'"input":{"ignore_eos":true,"seed":1,"temperature":0,"max_tokens":16}}]}'
)
"""As FastAPI says it, with an echo of the whole request."""


def test_a_server_that_knows_only_the_new_limit_gets_it() -> None:
    refusal = (
        b'{"error":{"message":"Unsupported parameter: \'max_tokens\' is not supported with this '
        b'model. Use \'max_completion_tokens\' instead.","code":"unsupported_parameter",'
        b'"param":"max_tokens"}}'
    )
    server = Server({"max_tokens": refusal})
    got = ask(server)
    assert got.ok and got.dropped == ("max_tokens",)
    assert server.bodies[-1]["max_completion_tokens"] == 16


@pytest.mark.parametrize(
    ("key", "refusal"),
    [
        ("stream_options", UNKNOWN % b"stream_options"),
        ("temperature", b'{"error":{"message":"Unsupported value: temperature must be 1"}}'),
        ("continuous_usage_stats", UNKNOWN % b"stream_options.continuous_usage_stats"),
        ("ignore_eos", EXTRA),
    ],
)
def test_a_refused_key_is_left_out_and_told(key: str, refusal: bytes) -> None:
    server = Server({key: refusal})
    got = ask(server)
    assert got.ok and got.dropped == (key,)
    assert got.output_tokens == 1


def test_several_refused_keys_are_left_out_one_after_the_other() -> None:
    server = Server(
        {
            key: b"{'error': 'unexpected keyword %s'}" % key.encode()
            for key in ("ignore_eos", "temperature")
        }
    )
    got = ask(server)
    assert got.ok and set(got.dropped) == {"ignore_eos", "temperature"}
    assert len(server.bodies) == 3


def test_a_prompt_that_is_too_long_is_not_asked_again() -> None:
    answer = b'{"error":{"message":"max_tokens is too large: 16. The context is 8 tokens."}}'
    server = Server({"max_tokens": answer})
    got = ask(server)
    assert got.error_kind == "http" and got.dropped == ()
    assert len(server.bodies) == 1


def test_a_target_that_is_known_to_refuse_a_key_is_never_sent_it() -> None:
    server = Server({"ignore_eos": b"unknown ignore_eos"})
    got = ask(server, Target(url="http://spark", model="m", dropped=("ignore_eos",)))
    assert got.ok and len(server.bodies) == 1


def test_the_servers_count_of_the_prompt_is_kept_beside_the_plan() -> None:
    assert ask(Server({})).prompt_tokens == 655


@pytest.mark.parametrize(
    ("engine", "keys"),
    [
        ("vllm", {"ignore_eos": True, "min_tokens": 16}),
        ("llama.cpp", {"ignore_eos": True, "cache_prompt": False}),
        ("ollama", {}),
    ],
)
def test_an_engine_gets_the_keys_that_it_is_known_to_take(
    engine: str, keys: dict[str, object]
) -> None:
    body = chat_body(Target(url="spark", model="m", engine=engine), "hello", 16, exact=True)
    common = {"model", "messages", "stream", "stream_options", "max_tokens", "temperature"}
    assert {key: body[key] for key in body if key not in common} == keys


def test_a_base_model_gets_a_text_and_a_chat_model_messages() -> None:
    base = Target(url="spark", model="m", endpoint="completions")
    assert base.ask_url == "http://spark/v1/completions"
    assert chat_body(base, "台灣的首都是", 4)["prompt"] == "台灣的首都是"
    assert chat_body(TARGET, "hi", 4)["messages"] == [{"role": "user", "content": "hi"}]
