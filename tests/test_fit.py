"""The fit check, on stand-in Sparks and on the figures of a published run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.machine import host
from bench.machine.host import GIB, Holder, Host
from bench.memory import fit
from bench.memory.fit import Fit, Load
from bench.memory.weights import Weights
from bench.text import LANGUAGES, words
from engines import Recipe

DATA = Path(__file__).parent / "data" / "spark"
SPARK = host.facts(DATA)
GPT_OSS = Weights(
    path="/models/openai/gpt-oss-120b", format="safetensors", bytes=60 * GIB, files=15,
    quantization="MXFP4", config=json.loads((DATA / "gpt-oss-120b.config.json").read_text()),
)  # fmt: skip
LLAMA: dict[str, Any] = {
    "general.architecture": "llama", "llama.block_count": 32, "llama.embedding_length": 4096,
    "llama.attention.head_count": 32, "llama.attention.head_count_kv": 8,
    "llama.context_length": 131072,
}  # fmt: skip
STANDARD = Load(tokens=2048 + 128, concurrency=32)


def spark(available: float = 115, free: float = 110, **more: Any) -> Host:
    memory = msgspec.structs.replace(
        SPARK.memory, available=round(available * GIB), free=round(free * GIB)
    )
    return msgspec.structs.replace(SPARK, memory=memory, **more)


def vllm(share: float | None = 0.7, **flags: Any) -> Recipe:
    if share is not None:
        flags["gpu-memory-utilization"] = share
    flags.setdefault("kv-cache-dtype", "fp8_e4m3")
    flags.setdefault("max-num-batched-tokens", 4096)
    return Recipe(engine="vllm", model="gpt-oss-120b", context=32768, slots=32, flags=flags)


def gguf(size: float, **config: Any) -> Weights:
    return Weights(path="/m.gguf", format="gguf", bytes=round(size * GIB), files=1,
                   quantization="Q4_K_M", config={**LLAMA, **config})  # fmt: skip


def llama_cpp(context: int, slots: int, **flags: Any) -> Recipe:
    return Recipe(engine="llama.cpp", model="m", context=context, slots=slots, flags=flags)


def codes(found: Fit) -> list[str]:
    return [one.seen.code.removeprefix("fit.") for one in found.findings]


def sizes(found: Fit) -> dict[str, str | None]:
    return {one.what: None if one.bytes is None else fit.gib(one.bytes) for one in found.items}


def test_the_published_launch_is_ready_on_a_quiet_spark() -> None:
    found = fit.check(spark(), GPT_OSS, vllm(), STANDARD)
    assert (found.verdict, found.findings) == ("ready", ())
    assert sizes(found) == {
        "weights": "60.0", "cache": "2.4", "reserve": "8.0", "share": "85.2", "total": "121.7",
        "available": "115.0", "free": "110.0", "page_cache": "58.4", "floor": "4.0",
    }  # fmt: skip
    assert found.full_requests == pytest.approx(27.0, abs=0.1)  # 25.94 with 8.7 GiB of reserve


def test_page_cache_is_told_apart_from_memory_in_use() -> None:
    found = fit.check(SPARK, GPT_OSS, vllm(), STANDARD)
    assert (found.verdict, codes(found)) == ("tight", ["page_cache"])
    assert found.findings[0].seen.fields == {"cache": "58.4", "free": "56.0", "wanted": "85.2"}
    remedy = found.findings[0].remedy
    assert remedy and "drop_caches" in words("en").fault(remedy)


def test_a_share_above_what_is_available_wont_fit_and_a_lower_one_is_suggested() -> None:
    found = fit.check(spark(available=101.4), GPT_OSS, vllm(0.87))
    assert (found.verdict, codes(found)) == ("wont_fit", ["share_too_large"])
    assert found.share == 0.80  # floor((101.4 − 4) / 121.69 · 100) / 100
    assert "gpu-memory-utilization to 0.80" in words("en").fault(found.findings[0].remedy)  # type: ignore[arg-type]


def test_the_engine_s_own_default_share_is_judged_where_none_is_set() -> None:
    found = fit.check(spark(available=112), GPT_OSS, vllm(None))
    assert codes(found) == ["share_too_large"]
    assert found.findings[0].seen.fields["share"] == 0.92


def test_the_floor_itself_is_the_border() -> None:
    budget = round(0.7 * SPARK.memory.total)
    at = msgspec.structs.replace(SPARK.memory, available=budget + 4 * GIB, free=budget)
    over = msgspec.structs.replace(at, available=at.available - 1)
    replace = msgspec.structs.replace
    assert fit.check(replace(SPARK, memory=at), GPT_OSS, vllm()).verdict == "tight"
    assert fit.check(replace(SPARK, memory=over), GPT_OSS, vllm()).verdict == "wont_fit"


def test_a_share_too_small_for_the_model_is_raised() -> None:
    found = fit.check(spark(), GPT_OSS, vllm(0.5))
    assert (found.verdict, codes(found)) == ("wont_fit", ["model_too_large"])
    assert found.share == 0.57  # (60 + 8 + 0.6) / 121.69, two decimals up
    assert fit.check(spark(), GPT_OSS, vllm(0.57)).verdict == "ready"


def test_a_model_that_fits_at_no_share_asks_for_memory_or_a_smaller_one() -> None:
    big = msgspec.structs.replace(GPT_OSS, bytes=118 * GIB)
    found = fit.check(spark(), big, vllm())
    assert (found.verdict, found.share, found.context) == ("wont_fit", None, None)
    assert found.findings[0].remedy == msgspec.structs.replace(found.findings[0].remedy,
                                                               code="fit.free_memory")  # type: ignore[type-var]  # fmt: skip


def test_a_load_above_the_cache_measures_queueing() -> None:
    load = Load(tokens=32768, concurrency=32)
    found = fit.check(spark(), GPT_OSS, vllm(), load)
    assert (found.verdict, codes(found)) == ("tight", ["load_over_room"])
    assert found.share == 0.73
    assert fit.check(spark(), GPT_OSS, vllm(0.73), load).verdict == "ready"


def test_what_llama_cpp_takes_is_every_slot_at_full_context() -> None:
    found = fit.check(spark(), gguf(20), llama_cpp(8192, 8))
    assert found.verdict == "ready"
    assert sizes(found)["cache"] == "8.0"  # 131,072 bytes a token · 8192 · 8


def test_a_context_that_fits_is_suggested() -> None:
    found = fit.check(spark(available=40), gguf(20), llama_cpp(32768, 8))
    assert (found.verdict, codes(found)) == ("wont_fit", ["model_too_large"])
    assert found.context == 13_312  # (40 − 4 − 20 − 3) GiB / (131,072 · 8) = 13,312 tokens
    assert fit.check(spark(available=40), gguf(20), llama_cpp(13_312, 8)).verdict == "tight"
    assert fit.check(spark(available=40), gguf(20), llama_cpp(14_336, 8)).verdict == "wont_fit"


def test_a_smaller_cache_type_fits_more() -> None:
    flags = {"cache-type-k": "q8_0", "cache-type-v": "q8_0"}
    found = fit.check(spark(), gguf(20), llama_cpp(8192, 8, **flags))
    assert sizes(found)["cache"] == "4.2"


def test_memory_in_use_names_who_holds_it_when_something_is_short() -> None:
    held = (
        Holder(pid=31, name="vllm serve /models/x", bytes=40 * GIB, measure="pss",
               container="4f1c4f1c4f1c"),
        Holder(pid=8, name="comfyui", bytes=GIB, measure="rss", gpu=True),
    )  # fmt: skip
    found = fit.check(spark(available=60, holders=held), GPT_OSS, vllm())
    said = [words("en").fault(one.seen) for one in found.findings]
    assert found.verdict == "wont_fit"
    assert "vllm serve /models/x [4f1c4f1c4f1c] (process 31) holds 40.0 GiB" in said[-2]
    assert "comfyui (process 8) uses the GPU" in said[-1]
    assert fit.check(spark(holders=held), GPT_OSS, vllm()).findings == ()


def test_an_unknown_part_is_said_and_is_tight_only_without_room() -> None:
    hybrid = {"num_hidden_layers": 40, "num_attention_heads": 16, "num_key_value_heads": 2,
              "head_dim": 256, "full_attention_interval": 4}  # fmt: skip
    model = msgspec.structs.replace(GPT_OSS, bytes=22 * GIB, config=hybrid)
    roomy = fit.check(spark(), model, vllm(0.5), STANDARD)
    assert (roomy.verdict, codes(roomy)) == ("ready", ["unknown_state"])
    assert sizes(roomy)["state"] is None
    assert (sizes(roomy)["cache"], roomy.full_requests) == ("0.7", None)
    small = fit.check(spark(), model, vllm(0.27), STANDARD)
    assert (small.verdict, codes(small)) == ("tight", ["unknown_state"])


def test_a_model_that_is_not_understood_has_an_unknown_cache() -> None:
    model = msgspec.structs.replace(GPT_OSS, config={"model_type": "new"})
    found = fit.check(spark(), model, vllm())
    assert sizes(found)["cache"] is None
    small = fit.check(spark(), model, vllm(0.5)).findings[0].seen
    assert small.fields["cache"] == "?"
    assert "num_hidden_layers" in words("en").fault(found.findings[-1].seen)
    strange = fit.check(spark(), GPT_OSS, vllm(**{"kv-cache-dtype": "nvfp4"}))
    assert "kv-cache-dtype" in words("en").fault(strange.findings[-1].seen)


def test_the_demo_model_is_ready_on_this_machine() -> None:
    demo = gguf(0.09, **{"llama.block_count": 30, "llama.embedding_length": 576,
                         "llama.attention.head_count": 9,
                         "llama.attention.head_count_kv": 3})  # fmt: skip
    recipe = msgspec.structs.replace(llama_cpp(1024, 4), engine="llama.cpp-local")
    found = fit.check(host.read(), demo, recipe, floor=0)
    assert found.verdict != "wont_fit"
    assert sizes(found)["cache"] == "0.09"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_can_be_said(language: str) -> None:
    held = (Holder(pid=1, name="x", bytes=GIB, measure="rss"),)
    tell = words(language)
    for machine in (SPARK, spark(available=20, holders=held), spark(available=92)):
        for model in (GPT_OSS, gguf(30)):
            for recipe in (vllm(), vllm(0.5), llama_cpp(8192, 64)):
                found = fit.check(machine, model, recipe, STANDARD)
                assert tell(f"fit.verdict.{found.verdict}")
                for one in found.findings:
                    assert tell.fault(one.seen)
                    assert one.remedy is None or tell.fault(one.remedy)
                for item in found.items:
                    assert tell(f"fit.items.{item.what}") and tell(f"fit.how.{item.how}")
