"""Each engine's launch against the command that a person would type."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pytest

from bench.catalogue import Catalogue
from engines import PORT, PYTHON, Mount, Recipe, launches
from engines.launches import launch_for

GIB = 1024**3


def recipe_of(known: Catalogue, engine: str, model: str, artifact: str, path: str) -> Recipe:
    entry = next(
        entry
        for entry in known.recipes
        if (entry.engine, entry.model, entry.artifact) == (engine, model, artifact)
    )
    return Recipe(
        engine=engine,
        model=model,
        path=path,
        root="/srv/models",
        image=entry.image or known.engines[engine].image,
        flags=entry.flags,
        env=entry.env,
        context=entry.context,
        slots=entry.slots,
    )


def test_vllm_is_the_published_command_but_behind_a_published_port(known: Catalogue) -> None:
    recipe = recipe_of(known, "vllm", "gpt-oss-120b", "mxfp4", "/srv/models/openai/gpt-oss-120b")
    launch = launch_for(recipe)
    assert launch.image == "nvcr.io/nvidia/vllm:26.07-py3"
    assert launch.argv == tuple(
        shlex.split(
            """
            vllm serve /models/openai/gpt-oss-120b --served-model-name gpt-oss-120b
            --host 0.0.0.0 --port 8000 --max-model-len 32768 --max-num-seqs 32
            --gpu-memory-utilization 0.7 --kv-cache-dtype fp8_e4m3
            --enable-prefix-caching --enable-chunked-prefill
            """
        )
    )
    assert launch.env == {
        "VLLM_USE_DEEP_GEMM": "0",
        "VLLM_MOE_USE_DEEP_GEMM": "0",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    }
    assert (launch.gpus, launch.ipc_host, launch.shm_bytes) == (True, True, 16 * GIB)
    assert (launch.network, launch.port, launch.entrypoint) == ("bridge", 8000, None)
    assert launch.mounts == (
        Mount(source="/srv/models", target="/models", kind="bind", read_only=True),
        Mount(source="spark-compare-vllm-vllm", target="/root/.cache/vllm", kind="volume",
              read_only=False),
        Mount(source="spark-compare-vllm-flashinfer", target="/root/.cache/flashinfer",
              kind="volume", read_only=False),
        Mount(source="spark-compare-vllm-triton", target="/root/.triton", kind="volume",
              read_only=False),
    )  # fmt: skip


def test_on_the_host_network_vllm_itself_listens_on_loopback_only(known: Catalogue) -> None:
    recipe = recipe_of(known, "vllm", "gpt-oss-120b", "mxfp4", "/srv/models/gpt-oss-120b")
    launch = launch_for(msgspec.structs.replace(recipe, network="host"))
    assert launch.network == "host"
    assert launch.argv[launch.argv.index("--host") + 1] == "127.0.0.1"


def test_the_image_of_the_vllm_project_is_a_vllm_serve_already(known: Catalogue) -> None:
    recipe = recipe_of(known, "vllm", "qwen3.8-27b", "fp8", "/srv/models/Qwen/Qwen3.8-27B-FP8")
    launch = launch_for(msgspec.structs.replace(recipe, image="vllm/vllm-openai:v0.28.0"))
    assert launch.argv[:3] == ("/models/Qwen/Qwen3.8-27B-FP8", "--served-model-name", "qwen3.8-27b")


def test_community_vllm_with_the_flags_of_its_fork(known: Catalogue) -> None:
    launch = launch_for(
        recipe_of(known, "vllm-community", "gpt-oss-120b", "mxfp4", "/srv/models/gpt-oss-120b")
    )
    assert launch.image == "sparkarena/spark-vllm-docker:mxfp4"
    assert launch.argv == tuple(
        shlex.split(
            """
            vllm serve /models/gpt-oss-120b --served-model-name gpt-oss-120b
            --host 0.0.0.0 --port 8000 --max-model-len 32768 --max-num-seqs 32
            --gpu-memory-utilization 0.7 --kv-cache-dtype fp8 --quantization mxfp4
            --mxfp4-backend CUTLASS --mxfp4-layers moe,qkv,o,lm_head
            --attention-backend FLASHINFER --max-num-batched-tokens 8192 --enable-prefix-caching
            """
        )
    )
    assert launch.env == {"VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8": "1"}
    assert "spark-compare-vllm-community-tilelang" in {mount.source for mount in launch.mounts}


def test_what_a_recipe_does_not_say_is_left_to_the_engine(known: Catalogue) -> None:
    """A community recipe may name neither context nor slots."""
    for engine, model, artifact in (
        ("vllm", "gpt-oss-120b", "mxfp4"),
        ("sglang", "gpt-oss-120b", "mxfp4"),
        ("trtllm", "gpt-oss-120b", "mxfp4"),
    ):
        recipe = recipe_of(known, engine, model, artifact, "/srv/models/m")
        launch = launch_for(msgspec.structs.replace(recipe, context=0, slots=0))
        assert "0" not in launch.argv
    recipe = recipe_of(known, "llama.cpp", "qwen3.8-27b", "gguf-q4", "/srv/models/m.gguf")
    argv = launch_for(msgspec.structs.replace(recipe, context=0, slots=0)).argv
    assert argv[argv.index("--ctx-size") + 1] == "0"  # llama.cpp's word for the model's own
    assert argv[argv.index("--parallel") + 1] == "1"


def test_llama_cpp_divides_its_context_among_its_slots(known: Catalogue) -> None:
    path = "/srv/models/gpt-oss-120b-GGUF/gpt-oss-120b-mxfp4-00001-of-00003.gguf"
    launch = launch_for(recipe_of(known, "llama.cpp", "gpt-oss-120b", "gguf-mxfp4", path))
    assert launch.image == "ghcr.io/ggml-org/llama.cpp:server-cuda13"
    assert launch.argv == tuple(
        shlex.split(
            """
            --host 0.0.0.0 --port 8080
            --model /models/gpt-oss-120b-GGUF/gpt-oss-120b-mxfp4-00001-of-00003.gguf
            --alias gpt-oss-120b --ctx-size 327680 --parallel 32 --metrics --slots --jinja
            --no-mmap --n-gpu-layers 99 --flash-attn on --ubatch-size 2048
            """
        )
    )
    assert 327680 == 10240 * 32
    assert (launch.gpus, launch.port) == (True, 8080)


def test_llama_cpp_on_this_machine_takes_its_port_when_it_starts(known: Catalogue) -> None:
    recipe = recipe_of(
        known, "llama.cpp-local", "smollm2-135m", "gguf-q4", "/srv/models/smollm2.gguf"
    )
    tail = tuple(
        shlex.split(
            """
            --model /srv/models/smollm2.gguf --alias smollm2-135m --ctx-size 4096 --parallel 4
            --metrics --slots --jinja
            """
        )
    )
    listen = ("--host", "127.0.0.1", "--port", PORT)
    launch = launch_for(recipe)
    assert launch.argv == (PYTHON, "-m", "engines.llama_cpp_local", *listen, *tail)
    assert (launch.image, launch.port, launch.served) == (None, 0, "smollm2-135m")
    program = "/opt/llama.cpp/llama-server"
    assert launch_for(msgspec.structs.replace(recipe, program=program)).argv == (
        program,
        *listen,
        *tail,
    )


def test_sglang(known: Catalogue) -> None:
    launch = launch_for(
        recipe_of(known, "sglang", "gpt-oss-120b", "mxfp4", "/srv/models/gpt-oss-120b")
    )
    assert launch.argv == tuple(
        shlex.split(
            """
            python3 -m sglang.launch_server --model-path /models/gpt-oss-120b
            --served-model-name gpt-oss-120b --host 0.0.0.0 --port 30000
            --context-length 32768 --max-running-requests 32 --enable-metrics
            --mem-fraction-static 0.75
            """
        )
    )
    assert launch.port == 30000


def test_trtllm(known: Catalogue) -> None:
    launch = launch_for(
        recipe_of(known, "trtllm", "gpt-oss-120b", "mxfp4", "/srv/models/gpt-oss-120b")
    )
    assert launch.argv == tuple(
        shlex.split(
            """
            trtllm-serve /models/gpt-oss-120b --served_model_name gpt-oss-120b --host 0.0.0.0
            --port 8000 --max_seq_len 32768 --max_batch_size 32
            --kv_cache_free_gpu_memory_fraction 0.7
            """
        )
    )
    assert launch.ulimits == {"memlock": -1, "stack": 67108864}


def test_ollama_is_told_its_model_as_an_argument_of_a_fixed_script(known: Catalogue) -> None:
    launch = launch_for(
        recipe_of(known, "ollama", "ornith-1.5-35b-a3b", "ollama", "ornith-1.5:35b")
    )
    assert launch.entrypoint == ("/bin/sh",)
    assert launch.argv[0] == "-c"
    assert launch.argv[2:] == ("ollama", "ornith-1.5:35b")
    assert "35b" not in launch.argv[1]
    assert launch.served == "ornith-1.5:35b"
    assert launch.env["OLLAMA_NUM_PARALLEL"] == "32"


def test_nothing_is_launched_for_an_endpoint() -> None:
    launch = launch_for(Recipe(engine="endpoint", model="m", url="http://127.0.0.1:1"))
    assert (launch.argv, launch.image, launch.served) == ((), None, "m")


def test_every_engine_of_the_catalogue_has_a_module(known: Catalogue) -> None:
    assert set(launches.LAUNCHES) == set(known.engines)


def test_every_recipe_of_the_catalogue_can_be_launched(known: Catalogue) -> None:
    for entry in known.recipes:
        launch = launch_for(
            recipe_of(known, entry.engine, entry.model, entry.artifact, "/srv/models/a/b")
        )
        in_docker = known.engines[entry.engine].kind == "docker"
        assert bool(launch.image) == in_docker
        assert all(mount.read_only for mount in launch.mounts if mount.kind == "bind")


def test_every_flag_that_is_set_is_explained(known: Catalogue) -> None:
    text = (Path(__file__).parents[1] / "docs" / "engines.md").read_text()
    for entry in known.recipes:
        launch = launch_for(
            recipe_of(known, entry.engine, entry.model, entry.artifact, "/srv/models/a/b")
        )
        names = [word for word in launch.argv if word.startswith("--")] + list(launch.env)
        missing = [name for name in names if f"`{name}`" not in text]
        assert not missing, f"{entry.engine}: {missing} not in docs/engines.md"


@pytest.mark.parametrize("module", ["engines.launches", "bench.planning"])
def test_engines_and_planning_do_not_load_streamlit(module: str) -> None:
    import subprocess
    import sys

    code = f"import sys, {module}; sys.exit('streamlit' in sys.modules or 'docker' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
