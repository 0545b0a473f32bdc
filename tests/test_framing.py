"""HTTP framing: the end of an answer is found in time, whatever the pieces are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.meter.framing import Answer, Malformed

BODY = "data: 繁體 0\r\n\r\n0\r\n\r\ndata: x\n\n".encode()


def chunked(body: bytes, size: int, *, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    lines = [b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks]
    return b"".join(lines) + b"0%s\r\n%s\r\n" % (extension, trailer)


def head(*fields: bytes, first: bytes = b"HTTP/1.1 200 OK") -> bytes:
    return b"\r\n".join([first, *fields, b"", b""])


CHUNKED = head(b"Transfer-Encoding: chunked")
ANSWERS = {
    "chunked": CHUNKED + chunked(BODY, 7),
    "one chunk": CHUNKED + chunked(BODY, 999),
    "chunks of one byte": CHUNKED + chunked(BODY, 1),
    "with extensions": CHUNKED + chunked(BODY, 5, extension=b";a=b"),
    "with a trailer": CHUNKED + chunked(BODY, 5, trailer=b"X-Sum: 1\r\n"),
    "odd capitals": head(b"TRANSFER-ENCODING:  Chunked ") + chunked(BODY, 5),
    "a length": head(b"Content-Length: %d" % len(BODY)) + BODY,
    "both, chunked wins": head(b"content-length: 3", b"transfer-encoding: chunked")
    + chunked(BODY, 4),
    "after 100 Continue": head(first=b"HTTP/1.1 100 Continue") + CHUNKED + chunked(BODY, 5),
}


def read(data: bytes, cuts: set[int]) -> tuple[Answer, list[bool]]:
    answer = Answer()
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    return answer, [answer.feed(data[a:b]) for a, b in pairwise(places)]


@given(kind=st.sampled_from(sorted(ANSWERS)), cuts=st.sets(st.integers(1, 400)))
def test_an_answer_ends_with_its_last_byte_wherever_it_is_cut(kind: str, cuts: set[int]) -> None:
    answer, ended = read(ANSWERS[kind], cuts)
    assert ended == [False] * (len(ended) - 1) + [True]
    assert b"".join(answer.bodies()) == BODY
    assert len(answer.bodies()) == len(ended)
    assert answer.status == 200 and answer.reusable


@given(cut=st.integers(1, len(CHUNKED) + 60))
def test_an_answer_that_broke_off_gives_what_came(cut: int) -> None:
    answer = Answer()
    assert not answer.feed(ANSWERS["chunked"][:cut])
    assert BODY.startswith(b"".join(answer.bodies()))


def test_a_piece_keeps_its_own_payload() -> None:
    answer = Answer()
    for piece in (CHUNKED, b"2\r\nab\r\n", b"2\r\ncd", b"\r\n0\r\n\r\n"):
        answer.feed(piece)
    assert answer.bodies() == [b"", b"ab", b"cd", b""]


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    answer = Answer()
    assert not answer.feed(head() + b"abc")
    assert answer.until_close and not answer.reusable
    assert answer.bodies() == [b"abc"]


@pytest.mark.parametrize("first", [b"HTTP/1.1 204 No Content", b"HTTP/1.1 304 Not Modified"])
def test_some_answers_have_no_body(first: bytes) -> None:
    assert Answer().feed(head(first=first))


def test_a_length_of_nothing_ends_at_once() -> None:
    assert Answer().feed(head(b"Content-Length: 0"))


@pytest.mark.parametrize(
    ("answer", "reusable"),
    [
        (head(b"Content-Length: 0"), True),
        (head(b"Content-Length: 0", b"Connection: close"), False),
        (head(b"Content-Length: 0", first=b"HTTP/1.0 200 OK"), False),
        (head(b"Content-Length: 0", b"Connection: Keep-Alive", first=b"HTTP/1.0 200 OK"), True),
        (head(b"Content-Length: 0") + b"more than was promised", False),
        (CHUNKED + b"0\r\n\r\nmore\r\n\r\n", False),
    ],
)
def test_a_connection_is_reused_only_where_that_is_safe(answer: bytes, reusable: bool) -> None:
    read_ = Answer()
    assert read_.feed(answer)
    assert read_.reusable is reusable


@pytest.mark.parametrize(
    "data",
    [
        b"\x15\x03\x01\x00\x02",
        b"SSH-2.0-server\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        CHUNKED + b"zz\r\nab\r\n\r\n",
        CHUNKED + b"-5\r\nab\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000,
    ],
)
def test_what_is_no_http_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(Malformed):
        Answer().feed(data)
