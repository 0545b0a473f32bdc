from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import probe
from bench.errors import BenchError
from tests.conftest import StartEngine
from tests.servers import Answer, openai, server

SAMPLES = Path(__file__).parent / "data"


def code(ask: Callable[[], object]) -> str:
    with pytest.raises(BenchError) as caught:
        ask()
    assert str(caught.value)
    return caught.value.fault.code


@pytest.mark.parametrize(
    "given",
    ["http://spark.lan:8000", "http://spark.lan:8000/", "http://spark.lan:8000/v1",
     " http://spark.lan:8000/v1/ "],
)  # fmt: skip
def test_a_base_url_may_end_in_v1_or_not(given: str) -> None:
    assert probe.base(given) == "http://spark.lan:8000"


def test_a_base_url_may_have_a_path() -> None:
    assert probe.base("https://gateway.lan/llm/v1") == "https://gateway.lan/llm"


@pytest.mark.parametrize("given", ["spark.lan:8000", "", "ftp://spark.lan", "file:///etc/passwd"])
def test_what_is_no_address_is_said_so(given: str) -> None:
    assert code(lambda: probe.base(given)) == "endpoint_url"


def test_a_key_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(BenchError) as caught:
        probe.base("http://user:hunter2@spark.lan")
    assert "hunter2" not in str(caught.value.fault)


def test_a_key_comes_from_the_environment() -> None:
    assert probe.headers("KEY", {"KEY": "abc"}) == {"Authorization": "Bearer abc"}
    assert probe.headers(None, {}) == {}
    assert code(lambda: probe.headers("KEY", {})) == "endpoint_key_missing"


def test_a_vllm_server_is_recognised() -> None:
    with server(openai) as url:
        assert probe.served(f"{url}/v1") == probe.Served(
            url=url,
            models=("tiny",),
            engine="vllm",
            version="0.32.0",
            context=2048,
            tokenizes=True,
        )
        assert probe.tokenize(url, "abc", "vllm", model="tiny") == 3
        assert probe.ready(url, "tiny")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((401, "application/json", "{}"), "endpoint_unauthorized"),
        ((403, "application/json", "{}"), "endpoint_forbidden"),
        ((404, "application/json", "{}"), "endpoint_not_found"),
        ((500, "application/json", "{}"), "endpoint_status"),
        ((200, "text/html", "<html>"), "endpoint_not_json"),
        ((200, "application/json", "[1]"), "endpoint_not_json"),
        ((200, "application/json", '{"data": "none"}'), "endpoint_not_json"),
    ],
)
def test_a_wrong_answer_has_its_own_sentence(answer: Answer, expected: str) -> None:
    with server(lambda path: answer) as url:
        assert code(lambda: probe.served(url)) == expected


def test_a_refused_connection_has_its_own_sentence() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound but not listening: refused
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        assert code(lambda: probe.served(url)) == "endpoint_refused"
        assert not probe.ready(url, "tiny")


def test_a_server_that_says_nothing_has_its_own_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "TIMEOUT", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert code(lambda: probe.served(url)) == "endpoint_timeout"


def test_a_self_signed_certificate_has_its_own_sentence(tmp_path: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with server(openai, tls) as url:
        assert code(lambda: probe.served(url)) == "endpoint_certificate"


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/v1/chat/completions"])
def test_a_server_that_still_loads_is_not_ready(path: str) -> None:
    loading = (503, "application/json", '{"error": {"code": 503, "message": "Loading model"}}')
    with server(lambda asked: loading if asked == path else openai(asked)) as url:
        assert not probe.ready(url, "tiny")


def test_a_server_with_another_model_never_becomes_ready() -> None:
    with server(openai) as url:
        assert code(lambda: probe.ready(url, "other")) == "endpoint_model_missing"


def test_a_server_without_a_health_page_can_be_ready() -> None:
    nothing = (404, "text/plain", "")
    with server(lambda path: nothing if path == "/health" else openai(path)) as url:
        assert probe.ready(url, "tiny")


def test_counters_of_llama_cpp_are_read() -> None:
    text = (SAMPLES / "smollm2_metrics.txt").read_text()
    found = probe.scrape(
        text.replace("prompt_tokens_cached_total 0", "prompt_tokens_cached_total 7")
    )
    assert found["llamacpp:prompt_tokens_cached_total"] == 7
    assert found["llamacpp:requests_deferred"] == 0


def test_counters_of_vllm_are_added_over_their_labels() -> None:
    text = (
        '# TYPE vllm:prefix_cache_hits counter\nvllm:prefix_cache_hits_total{engine="0"} 2.0\n'
        'vllm:prefix_cache_hits_total{engine="1",note="a b"} 3e1\nvllm:nothing NaN\n'
    )
    assert probe.scrape(text) == {"vllm:prefix_cache_hits_total": 32.0}
    real = probe.scrape((SAMPLES / "vllm_cpu_metrics_trimmed.txt").read_text())
    assert "vllm:num_requests_running" in real


@pytest.mark.engine
@pytest.mark.parametrize(("model", "count"), [("smollm2-135m", 4), ("gemma3-270m", 4)])
def test_the_real_llama_cpp_is_recognised(demo_engine: StartEngine, model: str, count: int) -> None:
    url = demo_engine(model).url
    found = probe.served(url)
    assert (found.engine, found.models, found.slots) == ("llama.cpp", (model,), count)
    assert found.context == 1024
    assert found.tokenizes
    assert probe.tokenize(url, "one two three", found.engine) >= 3
    assert probe.ready(url, model)
    assert probe.metrics(url)["llamacpp:tokens_predicted_total"] >= 1


@pytest.mark.engine
def test_tokens_are_counted_without_the_special_ones(llama_url: str) -> None:
    one, two = (probe.tokenize(llama_url, text, "llama.cpp") for text in (" a", " a a"))
    assert (one, two) == (1, 2)
    with probe.counting(probe.served(llama_url)) as count:
        assert count is not None
        assert count(" a a a") == 3


def test_a_server_that_does_not_tokenize_has_no_counter() -> None:
    with probe.counting(probe.Served(url="http://127.0.0.1:1", models=("m",))) as count:
        assert count is None
