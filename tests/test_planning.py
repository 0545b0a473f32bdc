from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from bench import available, planning
from bench import plan as plans
from bench.catalogue import Catalogue
from bench.config import Config
from bench.errors import BenchError, Fault, Field
from bench.memory import artifacts
from bench.planning import Overrides, plan_for
from engines import Recipe


def fields(caught: pytest.ExceptionInfo[BenchError], code: str) -> dict[str, Field]:
    assert caught.value.fault.code == code, caught.value
    assert str(caught.value)
    return dict(caught.value.fault.fields)


def smollm2(known: Catalogue, config: Config, **more: object) -> plans.Plan:
    wanted = {"engine": "llama.cpp-local", "model": "smollm2-135m", "workload": "demo-1", **more}
    return plan_for(known, config, **wanted)  # type: ignore[arg-type]


def gguf(folder: Path, *names: str, start: bytes = b"GGUF") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(start + b" and so on")


SHARDS = [f"gpt-oss-120b-mxfp4-0000{n}-of-00003.gguf" for n in (1, 2, 3)]


def test_a_demo_model_is_planned_from_its_package(known: Catalogue, config: Config) -> None:
    plan = smollm2(known, config)
    assert plan.recipe.path.endswith("SmolLM2-135M-Instruct.Q4_1.gguf")
    assert plan.artifact_bytes == 98_362_432
    assert plan.title == "SmolLM2 135M Instruct · llama.cpp (local)"
    assert [prompt.id for prompt in plan.prompts] == [
        "zh-explain", "en-explain", "tw-letter-neighbour", "tw-tech-memory", "tw-format-bullets",
    ]  # fmt: skip
    assert plans.decode(plans.encode(plan)) == plan


def test_a_local_engine_leaves_a_core_to_the_meter(known: Catalogue, config: Config) -> None:
    cores = len(os.sched_getaffinity(0))
    assert smollm2(known, config).recipe.flags == {"threads": max(1, cores - 1)}


def test_gemma_is_put_together_once(known: Catalogue, config: Config) -> None:
    plan = smollm2(known, config, model="gemma3-270m")
    assert plan.artifact_bytes == 253_113_024
    file = config.var / "models" / "gemma-3-270m-q4_k_m.gguf"
    assert plan.recipe.path == str(file)
    made = file.stat().st_mtime_ns
    smollm2(known, config, model="gemma3-270m")
    assert file.stat().st_mtime_ns == made
    file.write_bytes(b"GGUF cut short")
    smollm2(known, config, model="gemma3-270m")
    assert file.stat().st_size == 253_113_024


def test_two_plans_have_prompts_of_their_own(known: Catalogue, config: Config) -> None:
    assert smollm2(known, config).seed != smollm2(known, config).seed
    assert smollm2(known, config, seed=7).seed == 7


def test_an_engine_gets_slots_for_the_whole_sweep(known: Catalogue, config: Config) -> None:
    gguf(config.model_roots[0] / "gpt-oss-120b-GGUF", *SHARDS)
    plan = plan_for(known, config, engine="llama.cpp", model="gpt-oss-120b", workload="standard-1")
    assert plan.recipe.slots == 32
    assert planning.queueing_levels(plan.recipe, plan.workload) == ()
    few = msgspec.structs.replace(plan.recipe, slots=8)
    assert planning.queueing_levels(few, plan.workload) == (16, 32)


def test_a_context_too_small_is_refused_with_the_numbers(known: Catalogue, config: Config) -> None:
    with pytest.raises(BenchError) as caught:
        smollm2(known, config, workload="quick-1", overrides=Overrides(context=4096))
    found = fields(caught, "context_too_small")
    assert found == {
        "workload": "quick-1",
        "needed": 8192 + 128 + 64,
        "context": 4096,
        "slots": 8,
        "total": 8384 * 8,
    }


def test_a_context_beyond_the_model_is_refused(known: Catalogue, config: Config) -> None:
    with pytest.raises(BenchError) as caught:
        smollm2(known, config, overrides=Overrides(context=16384))
    assert fields(caught, "context_beyond_model")["limit"] == 8192


def test_an_unknown_choice_is_refused(known: Catalogue, config: Config) -> None:
    with pytest.raises(BenchError) as caught:
        smollm2(known, config, workload="demo-9")
    fields(caught, "unknown_choice")
    with pytest.raises(BenchError) as caught:
        smollm2(known, config, engine="vllm")
    fields(caught, "no_recipe")


def test_a_missing_model_says_where_it_was_looked_for(known: Catalogue, config: Config) -> None:
    with pytest.raises(BenchError) as caught:
        plan_for(known, config, engine="llama.cpp", model="gpt-oss-120b", workload="standard-1")
    found = fields(caught, "model_missing")
    assert found["repository"] == "ggml-org/gpt-oss-120b-GGUF"
    assert str(config.model_roots[0]) in str(found["roots"])


@pytest.mark.parametrize(
    "folder",
    [
        "ggml-org/gpt-oss-120b-GGUF",
        "gpt-oss-120b-GGUF",
        ".",
        "models--ggml-org--gpt-oss-120b-GGUF/snapshots/0a1b2c",
    ],
)
def test_a_model_is_found_where_people_put_it(
    known: Catalogue, config: Config, folder: str
) -> None:
    gguf(config.model_roots[0] / folder, *SHARDS)
    plan = plan_for(known, config, engine="llama.cpp", model="gpt-oss-120b", workload="standard-1")
    assert Path(plan.recipe.path) == config.model_roots[0] / folder / SHARDS[0]
    assert plan.artifact_bytes == 3 * 14


def test_a_file_that_is_no_gguf_is_refused(known: Catalogue, config: Config) -> None:
    gguf(config.model_roots[0], *SHARDS, start=b"<htm")
    with pytest.raises(BenchError) as caught:
        plan_for(known, config, engine="llama.cpp", model="gpt-oss-120b", workload="standard-1")
    fields(caught, "model_not_gguf")


def test_a_part_that_is_missing_is_named(known: Catalogue, config: Config) -> None:
    gguf(config.model_roots[0], *SHARDS[:2])
    with pytest.raises(BenchError) as caught:
        plan_for(known, config, engine="llama.cpp", model="gpt-oss-120b", workload="standard-1")
    assert fields(caught, "model_incomplete")["file"] == SHARDS[2]


def vllm(known: Catalogue, config: Config) -> plans.Plan:
    return plan_for(known, config, engine="vllm", model="gpt-oss-120b", workload="standard-1")


def test_a_folder_of_safetensors_is_checked_for_every_shard(
    known: Catalogue, config: Config
) -> None:
    folder = config.model_roots[0] / "openai" / "gpt-oss-120b"
    folder.mkdir(parents=True)
    with pytest.raises(BenchError) as caught:
        vllm(known, config)
    assert fields(caught, "model_incomplete")["file"] == "config.json"
    (folder / "config.json").write_text("{}")
    with pytest.raises(BenchError) as caught:
        vllm(known, config)
    fields(caught, "model_no_weights")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "1.safetensors"}}')
    with pytest.raises(BenchError) as caught:
        vllm(known, config)
    assert fields(caught, "model_incomplete")["file"] == "1.safetensors"
    (folder / "1.safetensors").write_bytes(b"12345")
    plan = vllm(known, config)
    assert (plan.recipe.path, plan.recipe.root) == (str(folder), str(config.model_roots[0]))
    assert plan.artifact_bytes == 5


def test_a_link_out_of_the_model_root_is_refused(
    known: Catalogue, config: Config, tmp_path: Path
) -> None:
    outside = tmp_path / "secret"
    gguf(outside, *SHARDS)
    config.model_roots[0].mkdir()
    (config.model_roots[0] / "gpt-oss-120b-GGUF").symlink_to(outside)
    with pytest.raises(BenchError) as caught:
        plan_for(known, config, engine="llama.cpp", model="gpt-oss-120b", workload="standard-1")
    fields(caught, "model_outside_root")


def test_links_inside_the_root_are_followed(known: Catalogue, config: Config) -> None:
    root = config.model_roots[0]
    gguf(root / "blobs", "a", "b", "c")
    folder = root / "models--ggml-org--gpt-oss-120b-GGUF" / "snapshots" / "0a1b"
    folder.mkdir(parents=True)
    for name, blob in zip(SHARDS, "abc", strict=True):
        (folder / name).symlink_to(root / "blobs" / blob)
    plan_for(known, config, engine="llama.cpp", model="gpt-oss-120b", workload="standard-1")


def test_a_share_of_memory_is_a_number_within_bounds(known: Catalogue, config: Config) -> None:
    test_a_folder_of_safetensors_is_checked_for_every_shard(known, config)
    plan = plan_for(
        known, config, engine="vllm", model="gpt-oss-120b", workload="standard-1",
        overrides=Overrides(memory=0.6),
    )  # fmt: skip
    assert plan.recipe.flags["gpu-memory-utilization"] == 0.6
    with pytest.raises(BenchError) as caught:
        plan_for(
            known, config, engine="vllm", model="gpt-oss-120b", workload="standard-1",
            overrides=Overrides(memory=1.5),
        )  # fmt: skip
    fields(caught, "memory_share")


def test_a_llama_server_that_is_named_but_missing_is_said_so(
    known: Catalogue, config: Config
) -> None:
    with pytest.raises(BenchError) as caught:
        smollm2(known, msgspec.structs.replace(config, llama_server="/nope/llama-server"))
    assert fields(caught, "program_missing")["program"] == "/nope/llama-server"


def test_a_llama_server_of_this_machine_is_used(
    known: Catalogue, config: Config, tmp_path: Path
) -> None:
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    plan = smollm2(known, msgspec.structs.replace(config, llama_server=str(program)))
    assert plan.recipe.program == str(program)


@pytest.mark.engine
def test_an_endpoint_is_asked_what_it_is(known: Catalogue, config: Config, llama_url: str) -> None:
    plan = plan_for(
        known, config, engine="endpoint", url=f"{llama_url}/v1", workload="demo-1", seed=1
    )
    assert plan.recipe == Recipe(
        engine="endpoint",
        model="smollm2-135m",
        url=llama_url,
        context=1024,
        slots=4,
        source=llama_url,
    )
    assert plan.title == "smollm2-135m · OpenAI API"
    with pytest.raises(BenchError) as caught:
        plan_for(known, config, engine="endpoint", url=llama_url, workload="quick-1")
    fields(caught, "context_too_small")
    with pytest.raises(BenchError) as caught:
        plan_for(known, config, engine="endpoint", url=llama_url, workload="demo-1", model="other")
    fields(caught, "endpoint_model_missing")


def problems(known: Catalogue, config: Config) -> dict[tuple[str, str], str | None]:
    return {
        (choice.engine, choice.model): choice.problem.code if choice.problem else None
        for choice in available.availability(known, config)
    }


def test_a_machine_without_docker_can_start_the_demo_models(
    known: Catalogue, config: Config
) -> None:
    found = problems(known, config)
    assert found["llama.cpp-local", "smollm2-135m"] is None
    assert found["llama.cpp-local", "gemma3-270m"] is None
    assert found["vllm", "gpt-oss-120b"] == "docker_missing"
    assert len(available.availability(known, config)) == len(known.recipes)


def test_with_docker_a_missing_model_is_what_is_missing(known: Catalogue, config: Config) -> None:
    path = config.docker_host.removeprefix("unix://")
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(path)
        assert problems(known, config)["vllm", "gpt-oss-120b"] == "docker_down"
        daemon.listen()
        found = problems(known, config)
    assert found["vllm", "gpt-oss-120b"] == "model_missing"
    assert found["llama.cpp", "smollm2-135m"] is None
    assert found["ollama", "gpt-oss-120b"] is None


@contextmanager
def nobody() -> Iterator[None]:
    """As a user without rights; the tests may run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_docker_without_permission_is_said_so(known: Catalogue, config: Config) -> None:
    path = config.docker_host.removeprefix("unix://")
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(path)
        daemon.listen()
        os.chmod(path, 0)
        with nobody():
            found = available.engine_problem(known.engines["vllm"], config)
    assert found == Fault(code="docker_denied", fields={"socket": path})


def test_a_model_folder_that_cannot_be_read_is_said_so(known: Catalogue, config: Config) -> None:
    test_a_folder_of_safetensors_is_checked_for_every_shard(known, config)
    folder = config.model_roots[0] / "openai" / "gpt-oss-120b"
    folder.chmod(0)
    with nobody(), pytest.raises(BenchError) as caught:
        vllm(known, config)
    folder.chmod(0o755)
    assert caught.value.fault.code in ("model_unreadable", "model_missing")


def test_an_engine_that_fetches_its_models_gets_their_tag(known: Catalogue, config: Config) -> None:
    plan = plan_for(known, config, engine="ollama", model="gpt-oss-120b", workload="standard-1")
    assert (plan.recipe.path, plan.artifact_bytes) == ("gpt-oss:120b", None)


def test_two_readers_put_a_demo_model_together_at_the_same_time(
    known: Catalogue, config: Config
) -> None:
    (artifact,) = known.models["gemma3-270m"].artifacts
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: artifacts.find(artifact, config), range(2)))
    assert [one.bytes for one in found] == [artifact.size_bytes] * 2
    assert [path.name for path in (config.var / "models").iterdir()] == [artifact.path]
