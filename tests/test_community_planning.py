from __future__ import annotations

from pathlib import Path

import pytest

from bench.catalogue import Catalogue
from bench.config import Config
from bench.errors import BenchError
from bench.recipes import community
from bench.recipes.planning import plan_for_community
from engines.launches import launch_for

VLLM = b"""
recipe_version: "2"
model: openai/gpt-oss-120b
runtime: vllm
container: eugr/spark-vllm:latest
defaults: {port: 8000, host: 0.0.0.0, gpu_memory_utilization: 0.70}
command: vllm serve {model} --gpu-memory-utilization {gpu_memory_utilization} --max-num-seqs 4
  --host {host} --port {port}
"""
LLAMA = b"""
recipe_version: "2"
model: unsloth/Qwen3.8-27B-GGUF:UD-Q4_K_XL
runtime: llama-cpp
container: ghcr.io/ggml-org/llama.cpp:server-cuda13
command: llama-server -hf {model} --ctx-size 40960 --parallel 4 --host 0.0.0.0 --port 8000
"""


def test_a_community_recipe_is_planned_with_the_model_of_this_machine(
    known: Catalogue, config: Config
) -> None:
    folder = config.model_roots[0] / "openai" / "gpt-oss-120b"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"12345")
    recipe = community.read(VLLM, "upload")
    plan = plan_for_community(known, config, recipe, workload="standard-1", seed=1)
    assert (plan.engine, plan.artifact_bytes, plan.recipe.slots) == ("vllm-community", 5, 4)
    argv = launch_for(plan.recipe).argv
    assert argv[:3] == ("vllm", "serve", "/models/openai/gpt-oss-120b")
    assert argv[argv.index("--max-num-seqs") + 1] == "4"
    assert "--max-model-len" not in argv


def test_a_gguf_is_found_by_its_quantization(known: Catalogue, config: Config) -> None:
    folder = config.model_roots[0] / "unsloth" / "Qwen3.8-27B-GGUF"
    folder.mkdir(parents=True)
    for name in ("Qwen3.8-27B-UD-Q4_K_XL.gguf", "Qwen3.8-27B-UD-Q8_K_XL.gguf"):
        (folder / name).write_bytes(b"GGUF")
    recipe = community.read(LLAMA, "upload")
    plan = plan_for_community(known, config, recipe, workload="standard-1", seed=1)
    assert Path(plan.recipe.path).name == "Qwen3.8-27B-UD-Q4_K_XL.gguf"


def test_a_model_that_is_not_here_is_named(known: Catalogue, config: Config) -> None:
    with pytest.raises(BenchError) as caught:
        plan_for_community(known, config, community.read(VLLM, "upload"), workload="standard-1")
    assert caught.value.fault.code == "model_missing"
