"""The wire against real sockets: connections, faults of servers, and the time of arrival."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from bench.meter.client import ask_one
from bench.meter.exchange import Exchange
from bench.meter.target import Ask, Target, chat_body
from bench.meter.wire import Wire, encode
from bench.sample import Sample
from bench.truth.benchmark import server
from tests.streams import chunk

CERTIFICATE = Path(__file__).parent / "data" / "self_signed.pem"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server on this loop that handles each connection so, and closes it afterwards."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"


async def request_of(reader: asyncio.StreamReader) -> bytes:
    """Read one whole request; its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    return await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)


async def post(wire: Wire, url: str, body: bytes = b"hello") -> Exchange:
    """Send a request; its exchange, or what it raised."""
    seen = Exchange()
    request = httpx.Request("POST", f"{url}/v1/x", content=body)
    await wire.send(request.url, await encode(request), seen)
    return seen


def text(seen: Exchange) -> bytes:
    return b"".join(data for _, data in seen.pieces())


class Counted:
    """Answers with these bytes on each connection, as often as allowed, then closes it."""

    def __init__(self, answer: bytes = LENGTH, times: int = 99) -> None:
        self.answer, self.times, self.connections, self.requests = answer, times, 0, 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        for _ in range(self.times):
            await request_of(reader)
            self.requests += 1
            writer.write(self.answer)
            await writer.drain()


def run(work: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


def test_a_connection_is_used_again() -> None:
    async def work() -> None:
        handler = Counted()
        async with serving(handler) as url, Wire() as wire:
            for _ in range(3):
                assert text(await post(wire, url)) == b"ok"
        assert (handler.connections, handler.requests) == (1, 3)

    run(work())


def test_connections_are_there_before_the_first_request() -> None:
    async def work() -> None:
        handler = Counted()
        async with serving(handler) as url, Wire() as wire:
            await wire.open(httpx.URL(url), 5)
            await asyncio.sleep(0.05)
            assert (handler.connections, handler.requests) == (5, 0)
            await asyncio.gather(*(post(wire, url) for _ in range(5)))
            assert (handler.connections, handler.requests) == (5, 5)

    run(work())


def test_a_reused_connection_that_dies_before_any_answer_is_replaced_once_and_counted() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(LENGTH)
        await request_of(reader)  # and no answer to this one

    async def work() -> None:
        async with serving(handler) as url, Wire() as wire:
            assert (await post(wire, url)).resent == 0
            second = await post(wire, url)
            assert (second.resent, text(second)) == (1, b"ok")
            assert (await post(wire, url)).resent == 0  # it has learnt

    run(work())


def test_a_server_that_closes_after_each_answer_costs_no_request() -> None:
    async def work() -> None:
        handler = Counted(times=1)
        async with serving(handler) as url, Wire() as wire:
            seen = [await post(wire, url) for _ in range(20)]
        assert [text(each) for each in seen] == [b"ok"] * 20
        assert sum(each.resent for each in seen) <= 1
        assert handler.requests == 20

    run(work())


def test_a_new_connection_that_dies_is_a_failure() -> None:
    async def work() -> None:
        handler = Counted(b"", times=1)
        async with serving(handler) as url, Wire() as wire:
            with pytest.raises(httpx.ReadError):
                await post(wire, url)
        assert handler.requests == 1

    run(work())


def test_a_reused_connection_that_dies_inside_an_answer_is_a_failure() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(LENGTH)
        await request_of(reader)
        writer.write(STREAM + b"3\r\nabc\r\n")

    async def work() -> None:
        async with serving(handler) as url, Wire() as wire:
            await post(wire, url)
            seen = Exchange()
            request = httpx.Request("POST", url, content=b"x")
            with pytest.raises(httpx.ReadError):
                await wire.send(request.url, await encode(request), seen)
            assert (seen.status, text(seen), seen.resent) == (200, b"abc", 0)

    run(work())


def test_silence_ends_a_request() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(STREAM + b"3\r\nabc\r\n")
        await reader.read()

    async def work() -> None:
        async with serving(handler) as url, Wire(stall_seconds=0.1) as wire:
            with pytest.raises(httpx.ReadTimeout):
                await post(wire, url)

    run(work())


def test_a_slow_stream_is_not_silence() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(STREAM)
        for _ in range(6):
            await asyncio.sleep(0.1)
            writer.write(b"1\r\nx\r\n")
        writer.write(b"0\r\n\r\n")

    async def work() -> None:
        async with serving(handler) as url, Wire(stall_seconds=0.4) as wire:
            assert text(await post(wire, url)) == b"x" * 6

    run(work())


def test_a_large_request_goes_out_whole() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)  # the socket's buffer is full by now
        writer.write(LENGTH if await request_of(reader) == b"x" * 20_000_000 else b"")

    async def work() -> None:
        async with serving(handler) as url, Wire() as wire:
            assert text(await post(wire, url, b"x" * 20_000_000)) == b"ok"

    run(work())


def test_a_cancelled_request_closes_its_connection() -> None:
    closed = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(STREAM)
        assert await reader.read() == b""
        closed.set()

    async def work() -> None:
        async with serving(handler) as url, Wire() as wire:
            task = asyncio.ensure_future(post(wire, url))
            await asyncio.sleep(0.05)
            task.cancel()
            await closed.wait()

    run(work())


def test_httpx_itself_can_use_the_wire() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 201 Created\r\nX-Name: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(b"2\r\n{}\r\n0\r\n\r\n")
        await request_of(reader)
        writer.write(STREAM + b"5\r\nab")

    async def work() -> None:
        async with serving(handler) as url, httpx.AsyncClient(transport=Wire()) as client:
            answer = await client.post(url, json={})
            assert (answer.status_code, answer.headers["x-name"], answer.json()) == (201, "a", {})
            with pytest.raises(httpx.ReadError):
                await client.post(url, json={})

    run(work())


# Faults of connections, as a person reads them


def asked(url: str, *, verify: bool = True) -> Sample:
    target = Target(url=url, model="m", verify=verify)
    ask = Ask(id="r1", body=chat_body(target, "hi", 4))
    return asyncio.run(asyncio.wait_for(ask_one(target, ask, stall_seconds=5), 20))


def answered_by_tls(url_of: Callable[[str], str], *, verify: bool) -> Sample:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        body = chunk("stop", content="yes")
        writer.write(STREAM + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        await writer.drain()

    async def work() -> Sample:
        async with serving(handler, context) as url:
            target = Target(url=url_of(url), model="m", verify=verify)
            ask = Ask(id="r1", body=chat_body(target, "hi", 4))
            return await asyncio.wait_for(ask_one(target, ask, stall_seconds=5), 20)

    return asyncio.run(work())


def same(url: str) -> str:
    return url


def test_https_is_measured_like_http() -> None:
    got = answered_by_tls(same, verify=False)
    assert got.ok and got.text == "yes"
    assert got.first_token is not None and got.first_token > 0


def test_a_certificate_that_is_not_trusted_is_named() -> None:
    got = answered_by_tls(same, verify=True)
    assert got.error_kind == "connect"
    assert "certificate is not trusted" in (got.error or "")


def test_https_to_a_server_without_it_is_a_failed_connection() -> None:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def work() -> None:
        async with serving(handler) as url, Wire() as wire:
            with pytest.raises(httpx.ConnectError, match="no TLS connection"):
                await post(wire, url.replace("http", "https"))

    run(work())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_http_to_a_server_with_https_is_a_failure() -> None:
    got = answered_by_tls(lambda url: url.replace("https", "http"), verify=False)
    assert got.error_kind in ("connect", "protocol")


def test_a_refused_connection_says_that_nothing_listens() -> None:
    got = asked("http://127.0.0.1:9")
    assert (got.error_kind, got.status, got.first_event) == ("connect", None, None)
    assert "nothing listens there" in (got.error or "")


# Times


def test_times_are_readings_of_the_clock_at_the_socket() -> None:
    class Clock:
        now = 100.0

        def __call__(self) -> float:
            self.now += 1
            return self.now

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(STREAM)
        await asyncio.sleep(0.05)
        writer.write(b"1\r\nx\r\n0\r\n\r\n")

    async def work() -> None:
        async with serving(handler) as url, Wire(clock=Clock()) as wire:
            seen = await post(wire, url)
            assert not seen.kernel
            (first, _), (second, _) = seen.pieces()
            assert seen.sent is not None
            assert (first - seen.sent, second - seen.sent) == (1, 2)

    run(work())


def test_a_meter_that_is_busy_makes_no_answer_look_slow() -> None:
    """The loop stands still from sending on; only the kernel can know when the answer came."""

    async def work(url: str) -> Sample:
        target = Target(url=url, model="mock?ttft_ms=50&token_ms=20&tokens=3")
        ask = Ask(id="r1", body=chat_body(target, "hi", 3))
        async with Wire() as wire:
            await wire.open(httpx.URL(url), 1)
            asking = asyncio.ensure_future(ask_one(target, ask, transport=wire))
            await asyncio.sleep(0.01)
            time.sleep(0.6)
            return await asking

    with server() as url:
        got = asyncio.run(work(url))
    assert got.first_token is not None and 0.05 <= got.first_token < 0.45
