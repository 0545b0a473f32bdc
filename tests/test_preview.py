"""``python -m bench plan``: fit, warnings and the exact command, for machines handed in."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench import preview
from bench.catalogue import Catalogue
from bench.config import Config
from bench.errors import BenchError
from bench.machine import host
from bench.machine.host import GIB, Host
from bench.planning import Overrides
from bench.preview import Preview
from bench.text import words
from engines import Launch

FACTS = Path(__file__).parent / "data" / "spark"
SPARK = host.facts(FACTS)


def quiet() -> Host:
    memory = msgspec.structs.replace(SPARK.memory, free=110 * GIB, available=115 * GIB)
    return msgspec.structs.replace(SPARK, memory=memory)


def look(known: Catalogue, config: Config, machine: Host, **choice: Any) -> Preview:
    wanted = {"model": "gpt-oss-120b", "engine": "vllm", **choice}
    return preview.look(known, config, machine, **wanted)


def codes(seen: Preview) -> list[str]:
    return [note.code for note in seen.notes]


def test_the_published_launch_is_previewed_before_it_is_downloaded(
    known: Catalogue, config: Config
) -> None:
    seen = look(known, config, quiet())
    assert seen.fit and seen.fit.verdict == "ready"
    assert codes(seen) == ["model_missing"]
    weights = seen.fit.items[0]
    assert (weights.bytes, weights.how) == (65_248_815_744, "published")
    assert seen.fit.full_requests and 20 < seen.fit.full_requests < 26


def test_the_command_does_what_the_published_one_did_but_on_loopback(
    known: Catalogue, config: Config
) -> None:
    command = shlex.split(look(known, config, quiet()).command)
    text = " ".join(command)
    assert command[:2] == ["docker", "run"]
    for part in (
        "--gpus all", "--ipc host", f"--shm-size {16 * GIB}", "nvcr.io/nvidia/vllm:26.07-py3",
        "--env VLLM_USE_DEEP_GEMM=0", "--env VLLM_MOE_USE_DEEP_GEMM=0",
        "--env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "--served-model-name gpt-oss-120b", "--max-model-len 32768",
        "--gpu-memory-utilization 0.7", "--max-num-seqs 32", "--kv-cache-dtype fp8_e4m3",
        "--enable-prefix-caching", "--enable-chunked-prefill", "--publish 127.0.0.1:8000:8000",
    ):  # fmt: skip
        assert part in text, part
    assert "--privileged" not in text and "--network host" not in text
    (mount,) = [word for word in command if word.startswith("type=bind")]
    assert mount.endswith(",target=/models,readonly")


def test_the_page_cache_of_this_spark_is_told(known: Catalogue, config: Config) -> None:
    seen = look(known, config, SPARK)
    assert seen.fit and seen.fit.verdict == "tight"
    said = preview.text(seen, words("en"))
    assert "58.4 GiB hold copies of files (page cache)" in said
    assert "drop_caches" in said
    assert said.splitlines()[-1] == seen.command


def test_slots_below_the_sweep_are_told(known: Catalogue, config: Config) -> None:
    seen = look(known, config, quiet(), overrides=Overrides(slots=4))
    assert "community.queueing" in codes(seen)
    said = preview.text(seen, words("zh-TW"))
    assert "8, 16, 32" in said


def test_a_demo_model_is_read_from_its_own_files(known: Catalogue, config: Config) -> None:
    seen = look(known, config, quiet(), model="smollm2-135m", engine="llama.cpp-local",
                workload="demo-1")  # fmt: skip
    assert seen.fit and seen.fit.items[0].how == "read"
    assert (seen.notes, seen.launch.image) == ((), None)


def test_an_engine_that_fetches_its_models_is_not_judged(known: Catalogue, config: Config) -> None:
    seen = look(known, config, quiet(), engine="ollama")
    assert (seen.fit, codes(seen)) == (None, ["preview.size_unknown"])


def test_what_cannot_be_planned_is_an_error(known: Catalogue, config: Config) -> None:
    with pytest.raises(BenchError, match="nope"):
        look(known, config, quiet(), engine="nope")
    with pytest.raises(BenchError, match="context"):
        look(known, config, quiet(), overrides=Overrides(context=64))


def test_an_image_that_cannot_be_asked_for_is_told(config: Config) -> None:
    note = preview.image_note(config, Launch(argv=(), port=1, served="m", image="x"))
    assert note is not None and words("en").fault(note)
    assert preview.image_note(config, Launch(argv=(), port=1, served="m")) is None


def test_the_command_line_prints_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--model", "gpt-oss-120b", "--engine", "vllm"]
    assert preview.main([*wanted, "--host-facts", str(FACTS)]) == 0
    assert "Claimed by the engine at start" in capsys.readouterr().out
    crowded = [*wanted, "--host-facts", str(FACTS), "--memory", "0.95", "--language", "zh-TW"]
    assert preview.main(crowded) == 1
    assert "放不下" in capsys.readouterr().out
    assert preview.main([*wanted, "--host-facts", "/nowhere"]) == 2
    assert "--host-facts" in capsys.readouterr().err
