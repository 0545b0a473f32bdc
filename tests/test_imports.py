"""Files of other tools, recorded from real runs, with the values that they hold."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from bench import imports
from bench.errors import BenchError
from bench.imports.values import Import, Part

DATA = Path(__file__).parent / "data"


def read(name: str) -> Import:
    return imports.read(DATA / name, "somebody's file.txt")


def only(found: Import) -> Part:
    ((part,),) = (result.parts for result in found.results)
    return part


def value(part: Part, metric: str, stat: str) -> float | None:
    return next(n.value for n in part.numbers if (n.metric, n.stat) == (metric, stat))


def document(name: str) -> dict[str, Any]:
    return dict(json.loads((DATA / name).read_text()))


def of(content: object) -> Import:
    text = content if isinstance(content, str) else json.dumps(content)
    return imports.read(io.BytesIO(text.encode()), "x")


def refused(content: bytes) -> str:
    with pytest.raises(BenchError) as caught:
        imports.read(io.BytesIO(content), "x")
    assert str(caught.value), "the sentence is there, with all its fields"
    return caught.value.fault.code


@pytest.mark.parametrize(
    ("name", "tool", "ok", "failed", "users", "ttft", "tpot"),
    [
        ("vllmbench_llama_c1.json", "vllm-bench", 15, 1, 1, 0.908146756, 0.009776349),
        ("vllmbench_llama_c4.json", "vllm-bench", 16, 0, 4, 3.181043252, 0.023687131),
        ("vllmbench_vllm_c4.json", "vllm-bench", 16, 0, 4, 0.0232, 0.0037),
    ],
)
def test_vllm_bench_is_read_in_seconds_and_its_failures_stay_out(
    name: str, tool: str, ok: int, failed: int, users: int, ttft: float, tpot: float
) -> None:
    found = read(name)
    part = only(found)
    assert (found.tool, part.ok, part.failed, part.concurrency) == (tool, ok, failed, users)
    assert value(part, "ttft", "p50") == pytest.approx(ttft, rel=0.01)
    assert value(part, "tpot", "p50") == pytest.approx(tpot, rel=0.01)
    assert len(part.samples) == ok + failed
    assert sum(sample.ok for sample in part.samples) == ok


def test_a_p99_of_sixteen_requests_is_doubted_and_kept() -> None:
    part = only(read("vllmbench_llama_c4.json"))
    (p99,) = [n for n in part.numbers if (n.metric, n.stat) == ("ttft", "p99")]
    assert p99.value == pytest.approx(3.55433, rel=1e-4)
    assert p99.doubt is not None


def test_llama_benchy_keeps_its_own_kinds_of_speed_apart() -> None:
    found = read("llamabenchy_llama_c4.json")
    part = only(found)
    assert (found.tool, found.version, found.results[0].model) == (
        "llama-benchy",
        "0.4.0",
        "smollm2",
    )
    assert value(part, "decode_speed", "mean") == pytest.approx(25.78, rel=1e-3)
    assert value(part, "throughput", "value") == pytest.approx(53.46, rel=1e-3)
    assert part.population, "its standard deviation is divided by n"


def test_aiperf_says_the_same_as_json_and_as_csv() -> None:
    first, second = (only(read(f"aiperf_llama_c4.{form}")) for form in ("json", "csv"))
    for metric, stat in (("ttft", "mean"), ("ttft", "p50"), ("ttft", "worst")):
        assert value(first, metric, stat) == pytest.approx(value(second, metric, stat), rel=1e-3)
    assert value(first, "ttft", "mean") == pytest.approx(2.527, rel=1e-3)


def test_guidellm_is_read_from_its_successful_requests() -> None:
    def told(**numbers: float) -> dict[str, object]:
        one = {"count": 30, "min": 1.0, "max": 900.0, "std_dev": 2.0, **numbers}
        return {"successful": one, "errored": None, "incomplete": None, "total": {"mean": 9e9}}

    metrics = {
        "request_totals": {"successful": 30, "errored": 1, "incomplete": 2, "total": 33},
        "time_to_first_token_ms": told(mean=410.0, median=400.0),
        "request_latency": told(mean=3.1, median=3.0),
        "inter_token_latency_ms": told(mean=21.0, median=20.0),
    }
    benchmark = {
        "type_": "generative_benchmark",
        "config": {},
        "metrics": metrics,
        "requests": {"successful": [], "errored": [], "incomplete": []},
        "start_time": 1770000000.1,
        "end_time": 1770000060.2,
        "duration": 60.1,
    }
    metadata = {"version": 2, "guidellm_version": "0.8.1"}
    found = of({"metadata": metadata, "config": {}, "benchmarks": [benchmark]})
    part = only(found)
    assert (found.tool, found.version, part.ok, part.failed) == ("guidellm", "0.8.1", 30, 1)
    assert value(part, "ttft", "mean") == pytest.approx(0.41)
    assert value(part, "tpot", "mean") == pytest.approx(0.021), "its ITL is what others call TPOT"


def test_llama_bench_is_read_from_json_and_from_its_table() -> None:
    row = {"build_commit": "0abc1234", "build_number": 9100, "model_filename": "/m/demo.gguf",
           "model_type": "demo 8B Q4", "model_size": 5027783488, "model_n_params": 8190735360,
           "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2026-03-01T04:05:06Z",
           "avg_ns": 251000000, "stddev_ns": 1200000, "avg_ts": 2039.8, "stddev_ts": 9.7,
           "samples_ns": [250100000, 251900000], "samples_ts": [2047.2, 2032.5]}  # fmt: skip
    part = only(of([row]))
    assert (part.kind, part.name) == ("prefill", "pp512")
    assert value(part, "prefill_speed", "mean") == pytest.approx(2039.85, abs=0.1)
    table = (
        "| model | size | params | backend | ngl | test | t/s |\n"
        "| --- | ---: | ---: | --- | --: | ---: | ---: |\n"
        "| demo 8B Q4 | 4.68 GiB | 8.19 B | CUDA | 99 | pp512 | 2039.80 ± 9.70 |\n"
    )
    assert value(only(of(table)), "prefill_speed", "mean") == pytest.approx(2039.8)


def test_a_run_of_which_nothing_came_back_is_no_run_of_zeros() -> None:
    failed = document("vllmbench_llama_c4.json")
    zeros = {key: 0 for key in failed if key.endswith("_ms")}
    gone = failed | zeros | {"completed": 0, "failed": 16, "errors": ["refused"] * 16}
    gone |= {"ttfts": [0.0] * 16, "itls": [[]] * 16, "output_lens": [0] * 16}
    try:
        part = only(of(gone))
    except BenchError as error:
        assert error.fault.code == "import_no_rows"
    else:
        assert all(n.value in (None, 0) or n.doubt for n in part.numbers if n.metric == "ttft")
        assert not any(sample.ok for sample in part.samples)


def test_a_file_is_told_by_its_content_and_known_by_its_hash() -> None:
    first, second = read("vllmbench_llama_c4.json"), read("vllmbench_llama_c4.json")
    assert first.sha256 == second.sha256 != read("vllmbench_llama_c1.json").sha256
    assert first.name == "somebody's file.txt"


def test_html_in_a_model_name_stays_text() -> None:
    hostile = document("vllmbench_llama_c4.json") | {"model_id": "<script>alert(1)</script>"}
    assert of(hostile).results[0].model == "<script>alert(1)</script>"


def test_a_key_that_stands_twice_is_told() -> None:
    text = (DATA / "vllmbench_llama_c4.json").read_text()
    twice = text.replace('"completed":', '"failed": 3, "completed":', 1)
    assert any("failed" in str(one.fields) for one in of(twice).warnings)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01\x02\x03" * 100,
        b"{}",
        b"[]",
        b"[1, 2",
        b'{"completed": 3',
        "這不是測試結果。".encode(),
        b"<html><body>404</body></html>",
        (DATA / "vllmbench_llama_c4.json").read_bytes()[:4000],
    ],
)
def test_what_is_no_result_is_refused_with_a_sentence(content: bytes) -> None:
    assert refused(content).startswith("import_")


def test_a_gzip_bomb_is_not_unpacked() -> None:
    assert refused(gzip.compress(bytes(400 << 20), 9)).startswith("import_")


def test_a_zipped_result_is_read_like_the_result() -> None:
    content = (DATA / "vllmbench_llama_c4.json").read_bytes()
    part = only(imports.read(io.BytesIO(gzip.compress(content)), "x.gz"))
    assert value(part, "ttft", "p50") == pytest.approx(3.181043252)


def test_a_result_in_utf_16_is_read() -> None:
    content = (DATA / "vllmbench_llama_c4.json").read_text().encode("utf-16")
    assert only(imports.read(io.BytesIO(content), "x")).ok == 16


def test_times_that_cannot_be_are_doubted() -> None:
    wrong = document("vllmbench_llama_c4.json") | {"median_ttft_ms": -5.0, "mean_tpot_ms": 1e12}
    for list_of_requests in ("ttfts", "itls", "input_lens", "output_lens", "errors", "start_times"):
        wrong.pop(list_of_requests, None)
    part = only(of(wrong))
    assert all(n.value is None or n.value >= 0 or n.doubt for n in part.numbers)
