"""Community recipes: what is taken over, what is refused, and every bad file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.errors import BenchError
from bench.recipes import commandline, community
from bench.text import LANGUAGES, words
from engines import Recipe
from engines.launches import launch_for

ROOT = Path(__file__).parents[1]
OURS = sorted((ROOT / "data" / "recipes" / "community").glob("*.yaml"))


def eugr(**change: Any) -> bytes:
    entries = {"recipe_version": "1", "name": "demo", "container": "eugr/spark-vllm:latest",
               "model": "org/demo", "command": "vllm serve {model} --port {port}",
               "defaults": {"port": 8000}, **change}  # fmt: skip
    return yaml.safe_dump(entries).encode()


def sparkrun(**change: Any) -> bytes:
    entries = {"recipe_version": "2", "model": "org/demo", "runtime": "vllm",
               "container": "nvcr.io/nvidia/vllm:26.05-py3", **change}  # fmt: skip
    return yaml.safe_dump(entries).encode()


def refused(data: bytes) -> tuple[str, str]:
    with pytest.raises(BenchError) as caught:
        community.read(data, "test")
    for language in LANGUAGES:
        assert words(language).fault(caught.value.fault)
    return caught.value.fault.code, str(caught.value.fault.fields.get("what", ""))


@pytest.mark.parametrize("file", OURS, ids=[file.stem for file in OURS])
def test_our_own_recipes_can_be_read_and_launched(file: Path) -> None:
    found = community.read(file.read_bytes(), file.name)
    assert found.recipe.source == file.name
    recipe = community.placed(found, f"/models/{found.model}", "/models")
    launch = launch_for(recipe)
    assert launch.network == "bridge"
    assert all(mount.read_only or mount.kind == "volume" for mount in launch.mounts)


def test_a_sparkrun_recipe_becomes_a_launch_of_ours() -> None:
    file = next(file for file in OURS if "gpt-oss" in file.name)
    found = community.read(file.read_bytes(), file.name)
    assert (found.schema, found.model, found.notes) == ("sparkrun-2", "openai/gpt-oss-120b", ())
    launch = launch_for(community.placed(found, "/models/openai/gpt-oss-120b", "/models"))
    assert launch.argv == (
        "vllm", "serve", "/models/openai/gpt-oss-120b", "--served-model-name", "gpt-oss-120b",
        "--host", "0.0.0.0", "--port", "8000", "--max-model-len", "32768", "--max-num-seqs", "32",
        "--gpu-memory-utilization", "0.7", "--max-num-batched-tokens", "8192",
        "--quantization", "mxfp4", "--mxfp4-backend", "CUTLASS",
        "--mxfp4-layers", "moe,qkv,o,lm_head", "--attention-backend", "FLASHINFER",
        "--kv-cache-dtype", "fp8", "--enable-prefix-caching",
    )  # fmt: skip


def test_an_eugr_recipe_keeps_json_values_and_says_what_the_sweep_cannot_show() -> None:
    file = next(file for file in OURS if "qwen3.6" in file.name)
    found = community.read(file.read_bytes(), file.name)
    assert found.schema == "eugr-1"
    assert found.recipe.flags["speculative-config"] == (
        '{"method": "mtp", "num_speculative_tokens": 3}'
    )
    assert (found.recipe.context, found.recipe.slots) == (262_144, 4)
    assert found.recipe.image == "eugr/spark-vllm:latest"
    assert [note.code for note in found.notes] == ["community.local_image"]
    (note,) = community.sweep_notes(found.recipe, (1, 4, 8, 16, 32))
    said = words("en").fault(note)
    assert "4 requests at once: the levels 8, 16, 32 would measure waiting" in said
    assert community.sweep_notes(found.recipe, (1, 4)) == ()
    assert community.sweep_notes(Recipe(engine="endpoint", model="m"), (1, 64)) == ()


def test_a_recipe_without_a_command_is_its_defaults() -> None:
    found = community.read(
        sparkrun(defaults={"port": 9000, "max_model_len": 4096, "enable_prefix_caching": True,
                           "gpu_memory_utilization": 0.6, "tensor_parallel": 1}),
        "x",
    )  # fmt: skip
    assert found.recipe.flags == {"enable-prefix-caching": True, "gpu-memory-utilization": "0.6"}
    assert (found.recipe.engine, found.recipe.context) == ("vllm", 4096)


def test_llama_cpp_s_pool_is_divided_among_its_slots() -> None:
    found = community.read(
        sparkrun(runtime="llama-cpp", model="org/demo-GGUF:Q4_K_M",
                 container="ghcr.io/ggml-org/llama.cpp:server-cuda13",
                 command="llama-server -hf {model} -c 32768 -np 4 -ngl 99 -fa on --jinja"),
        "x",
    )  # fmt: skip
    recipe = found.recipe
    assert (recipe.engine, recipe.model) == ("llama.cpp", "demo-GGUF")
    assert (recipe.context, recipe.slots, recipe.flags) == (8192, 4, {"flash-attn": "on"})


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (eugr(mods=["mods/fix"]), "mods"),
        (eugr(build_args=["--no-cache"]), "build_args"),
        (sparkrun(pre_exec=["rm -rf /"]), "pre_exec"),
        (sparkrun(post_exec=["echo"]), "post_exec"),
        (sparkrun(post_commands=["curl example.test"]), "post_commands"),
        (sparkrun(builder="docker"), "builder"),
        (sparkrun(volumes=["/:/host"]), "volumes"),
        (sparkrun(executor_config={"privileged": True}), "executor_config.privileged"),
        (sparkrun(executor_config={"entrypoint": "/bin/sh"}), "executor_config.entrypoint"),
        (sparkrun(executor_config={"volumes": ["/:/host"]}), "executor_config.volumes"),
        (eugr(command="vllm serve {model} --middleware evil.Middleware"), "--middleware"),
        (eugr(command="vllm serve {model} --tool_parser_plugin /x.py"), "--tool-parser-plugin"),
    ],
)
def test_what_asks_for_more_than_an_engine_is_refused_by_name(data: bytes, what: str) -> None:
    assert refused(data) == ("recipe_asks", what)


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve {model} && curl example.test",
        "vllm serve {model} ; reboot",
        "vllm serve {model} | tee log",
        "vllm serve {model} > /models/x",
        "vllm serve {model} --x `id`",
        "vllm serve {model} --x $(id)",
        "vllm serve {model} --x $HOME",
        "vllm serve {model} &",
        "vllm serve {model}\nreboot",
        "vllm serve 'unclosed",
    ],
)
def test_a_command_for_a_shell_is_refused(command: str) -> None:
    assert refused(eugr(command=command))[0] == "recipe_shell"


@pytest.mark.parametrize(
    "command", ["bash -c 'vllm serve x'", "X=1 vllm serve {model}", "pip install x", "vllm bench"]
)
def test_another_program_is_refused(command: str) -> None:
    assert refused(eugr(command=command))[0] == "recipe_program"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xff\xfe\x00", "recipe_not_yaml"),
        (b"a: [1, 2", "recipe_not_yaml"),
        (b"just words", "recipe_not_yaml"),
        (b"- a\n- b", "recipe_not_yaml"),
        (b"", "recipe_not_yaml"),
        (b"1: x", "recipe_not_yaml"),
        (b"a: !!python/object/apply:os.system ['id']", "recipe_not_yaml"),
        (b"[" * 5000, "recipe_not_yaml"),
        (b"x" * (community.LIMIT + 1), "recipe_too_large"),
        (eugr(recipe_version="3"), "recipe_version"),
        (eugr(name=""), "recipe_missing"),
        (eugr(container=None), "recipe_missing"),
        (eugr(command=["vllm", "serve"]), "recipe_wrong"),
        (eugr(defaults=[1]), "recipe_wrong"),
        (eugr(env={"A B": "x"}), "recipe_wrong"),
        (eugr(env={"A": ["x"]}), "recipe_wrong"),
        (eugr(model="../../etc"), "recipe_wrong"),
        (eugr(command="vllm serve {model} --max-num-seqs many"), "recipe_wrong"),
        (eugr(command="vllm serve {model} --x {absent}"), "recipe_parameter"),
        (eugr(command="vllm serve {model} --x 1 --x 2"), "recipe_repeated"),
        (eugr(command="vllm serve {model} -Z 3"), "recipe_flag"),
        (eugr(command="vllm serve {model} other"), "recipe_flag"),
        (eugr(command="vllm serve {model} -tp 2"), "recipe_cluster"),
        (eugr(cluster_only=True), "recipe_cluster"),
        (sparkrun(min_nodes=2), "recipe_cluster"),
        (sparkrun(container="someone/else:latest"), "recipe_image"),
        (sparkrun(container="nvcr.io/nvidia/vllm.evil:latest"), "recipe_image"),
        (sparkrun(container="--privileged"), "recipe_image"),
        (sparkrun(runtime="ray"), "recipe_program"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value[:25]),
)
def test_bad_recipes_are_refused_with_their_reason(data: bytes, code: str) -> None:
    assert refused(data)[0] == code


def test_a_value_can_never_become_two_arguments() -> None:
    found = commandline.read("vllm serve m --x {x}", {"x": "1 --privileged; reboot"})
    assert found.flags == {"x": "1 --privileged; reboot"}


def test_a_command_is_split_as_a_shell_would() -> None:
    text = "vllm serve m -tp 1 --a=b --c 'd e' \\\n  --n -1 --json '{{\"k\": {x}}}' --bare"
    found = commandline.read(text, {"x": 3})
    assert found.flags == {"tensor-parallel-size": "1", "a": "b", "c": "d e", "n": "-1",
                           "json": '{"k": 3}', "bare": True}  # fmt: skip
    assert shlex.split("--c 'd e'")[1] == found.flags["c"]
    assert found.positional == ("m",)


def test_unknown_keys_secrets_and_remote_code_are_left_out_and_said() -> None:
    found = community.read(
        eugr(surprise=1, env={"HF_TOKEN": "abc", "HOME_X": "$HOME", "A": True, "B": 1.5},
             command="vllm serve {model} --trust-remote-code"),
        "x",
    )  # fmt: skip
    assert found.recipe.env == {"A": "1", "B": "1.5"}
    assert "trust-remote-code" not in found.recipe.flags
    said = [note.code.removeprefix("community.") for note in found.notes]
    assert said == ["unknown_key", "remote_code", "slots_unknown", "env_left_out", "env_left_out"]
    for language in LANGUAGES:
        assert all(words(language).fault(note) for note in found.notes)


def test_a_digest_pins_an_image_that_may_be_started() -> None:
    image = "nvcr.io/nvidia/vllm@sha256:" + "a" * 64
    assert community.read(sparkrun(container=image), "x").recipe.image == image


def test_names_that_refer_to_each_other_a_million_times_cost_nothing() -> None:
    levels = ["a0: &a0 [x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    bomb = "\n".join(levels).encode() + b"\n" + eugr(defaults={"port": 1})
    assert len(community.read(bomb, "x").notes) == 21
    aimed = "\n".join(levels) + "\n" + eugr().decode().replace("port: 8000", "port: *a19")
    assert refused(aimed.encode())[0] == "recipe_parameter"
