"""Community recipes: eugr v1 and sparkrun v2 YAML, read as they are and checked.

What a recipe says about the engine is taken over: image, environment, flags, context and slots.
How the engine is started stays ours: loopback port, read-only models, no privileges. A recipe that
asks for more is refused with the reason, since a container may do to this machine what root may.
Formats: github.com/eugr/spark-vllm-docker and github.com/spark-arena/sparkrun.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import yaml

from bench.errors import BenchError, Fault
from bench.recipes import commandline
from bench.recipes.commandline import Command, flag_of
from engines import Recipe

LIMIT = 256 * 1024
"""Bytes of a recipe; real ones have a few thousand."""
IMAGES = (
    "nvcr.io/nvidia/vllm", "vllm/vllm-openai", "eugr/spark-vllm", "eugr/spark-vllm-b12x",
    "ghcr.io/spark-arena/dgx-vllm-eugr-nightly", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly-tf5",
    "sparkarena/spark-vllm-docker", "ghcr.io/ggml-org/llama.cpp",
    "ghcr.io/spark-arena/dgx-llama-cpp", "scitrera/dgx-spark-llama-cpp", "lmsysorg/sglang",
    "scitrera/dgx-spark-sglang-mm", "nvcr.io/nvidia/tensorrt-llm/release",
)  # fmt: skip
"""Images that may be started, whatever their tag or digest."""
LOCAL_NAMES = {"vllm-node": "eugr/spark-vllm:latest"}
"""Names that a community tool gives to an image it built or fetched."""

Schema = Literal["eugr-1", "sparkrun-2"]


class Community(msgspec.Struct, frozen=True, kw_only=True):
    schema: Schema
    name: str
    description: str
    model: str
    """As the recipe names it: ``organisation/name``, for GGUF with ``:quantization``."""
    recipe: Recipe
    """Without the model's place on this machine, which `placed` fills in."""
    notes: tuple[Fault, ...] = ()
    """What a reader must know: `Words.fault` makes sentences of them."""


def read(data: bytes, source: str) -> Community:
    """A recipe from the text of a file.

    Raises BenchError: ``recipe_too_large``, ``recipe_not_yaml``, ``recipe_version``,
    ``recipe_missing``, ``recipe_wrong``, ``recipe_asks`` (for privileges, mounts, host commands…),
    ``recipe_cluster``, ``recipe_image``, and those of `commandline.read`.
    """
    entries = _entries(data)
    schema = _schema(entries)
    known = _EUGR if schema == "eugr-1" else _SPARKRUN
    _refuse(entries)
    command = _command(entries)
    notes = [_note("unknown_key", name=str(key)) for key in entries if key not in known]
    recipe = _recipe(entries, command, source, notes)
    return Community(
        schema=schema,
        name=_text(entries, "name") or _model(entries, command),
        description=_text(entries, "description") or str(_table(entries, "metadata").get(
            "description", "")),
        model=_model(entries, command),
        recipe=recipe,
        notes=tuple(notes),
    )  # fmt: skip


def placed(found: Community, path: str, root: str) -> Recipe:
    """The recipe with the model's place on this machine."""
    return msgspec.structs.replace(found.recipe, path=path, root=root)


def sweep_notes(recipe: Recipe, levels: Sequence[int]) -> tuple[Fault, ...]:
    """What a sweep of these levels cannot show with this recipe."""
    above = [level for level in levels if recipe.slots and level > recipe.slots]
    if not above:
        return ()
    return (_note("queueing", slots=recipe.slots, levels=", ".join(map(str, above))),)


_EUGR = {
    "recipe_version", "name", "description", "model", "container", "command", "defaults", "env",
    "cluster_only", "solo_only", "build_args", "mods",
}  # fmt: skip
_SPARKRUN = {
    "recipe_version", "name", "description", "model", "model_revision", "runtime",
    "runtime_version", "container", "min_nodes", "max_nodes", "mode", "solo_only", "cluster_only",
    "defaults", "env", "command", "runtime_config", "metadata", "benchmark", "executor_config",
    "pre_exec", "post_exec", "post_commands", "stop_after_post", "builder", "builder_config",
}  # fmt: skip
_FORBIDDEN = (
    "pre_exec", "post_exec", "post_commands", "mods", "build_args", "builder", "builder_config",
    "volumes", "mounts", "mount", "devices", "cap_add", "privileged", "security_opt", "entrypoint",
    "docker_args", "docker_options", "extra_args", "pid", "user", "runtime_config",
)  # fmt: skip
"""Keys that would run something on this machine or give the container more of it."""
_FORBIDDEN_EXECUTOR = ("privileged", "entrypoint", "volumes", "mounts", "devices", "cap_add",
                       "security_opt", "user", "extra_args", "pid")  # fmt: skip
_FORBIDDEN_FLAGS = ("middleware", "worker-cls", "worker-extension-cls", "logits-processors",
                    "tool-parser-plugin", "reasoning-parser-plugin", "allowed-local-media-path",
                    "allowed-media-domains", "ssl-keyfile", "ssl-certfile",
                    "log-file")  # fmt: skip
_OURS = {
    "host", "port", "model", "model-path", "served-model-name", "alias", "hf-repo", "api-key",
    "metrics", "slots", "jinja", "no-webui", "no-mmap", "n-gpu-layers", "enable-metrics",
}  # fmt: skip
"""Flags that a launch of ours sets itself."""
_CONTEXT = ("max-model-len", "context-length", "max-seq-len", "ctx-size")
_SLOTS = ("max-num-seqs", "max-running-requests", "max-batch-size", "parallel")
_ONE = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "tensor-parallel",
        "nnodes", "tp-size")  # fmt: skip
_DEFAULT_RUNTIME = "vllm"
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|API_?KEY", re.IGNORECASE)


def _entries(data: bytes) -> dict[str, Any]:
    if len(data) > LIMIT:
        raise BenchError("recipe_too_large", kib=len(data) // 1024, limit=LIMIT // 1024)
    try:
        entries = yaml.safe_load(data.decode("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as fault:
        reason = str(getattr(fault, "problem", None) or type(fault).__name__)
        mark = getattr(fault, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        raise BenchError("recipe_not_yaml", line=line, reason=reason) from fault
    if not isinstance(entries, dict) or not all(isinstance(key, str) for key in entries):
        raise BenchError("recipe_not_yaml", line=1, reason="no keys with values")
    return entries


def _schema(entries: Mapping[str, Any]) -> Schema:
    version = str(entries.get("recipe_version", "1"))
    if version not in ("1", "2"):
        raise BenchError("recipe_version", version=version)
    required = ("name", "container", "command") if version == "1" else ("model", "container")
    for key in required:
        if not _text(entries, key):
            raise BenchError("recipe_missing", name=key)
    return "eugr-1" if version == "1" else "sparkrun-2"


def _refuse(entries: Mapping[str, Any]) -> None:
    """More than an engine needs: refused, and what is asked for is named."""
    for key in _FORBIDDEN:
        if entries.get(key):
            raise BenchError("recipe_asks", what=key)
    executor = _table(entries, "executor_config")
    for key in _FORBIDDEN_EXECUTOR:
        if executor.get(key):
            raise BenchError("recipe_asks", what=f"executor_config.{key}")
    nodes = entries.get("min_nodes", 1)
    if entries.get("cluster_only") or (isinstance(nodes, int) and nodes > 1):
        raise BenchError("recipe_cluster")


def _command(entries: Mapping[str, Any]) -> Command:
    defaults = _table(entries, "defaults")
    if text := _text(entries, "command"):
        values = {"tensor_parallel": 1, "pipeline_parallel": 1, **defaults}
        return commandline.read(text, {"model": entries.get("model"), **values})
    runtime = str(entries.get("runtime", _DEFAULT_RUNTIME)).removesuffix("-distributed")
    if runtime not in set(commandline.PROGRAMS.values()):
        raise BenchError("recipe_program", program=runtime)
    flags = {flag_of(name): value if isinstance(value, bool) else str(value)
             for name, value in defaults.items()}  # fmt: skip
    return Command(runtime=runtime, flags=flags)


def _recipe(
    entries: Mapping[str, Any], command: Command, source: str, notes: list[Fault]
) -> Recipe:
    image = _image(entries, notes)
    flags: dict[str, str | bool] = {}
    for name, value in command.flags.items():
        if name in _FORBIDDEN_FLAGS:
            raise BenchError("recipe_asks", what=f"--{name}")
        if name in _ONE and str(value) not in ("1", "True"):
            raise BenchError("recipe_cluster")
        if name == "trust-remote-code":
            notes.append(_note("remote_code"))
        elif name not in (*_OURS, *_CONTEXT, *_SLOTS, *_ONE):
            flags[name] = value
    context, slots = _number(command, _CONTEXT), _number(command, _SLOTS)
    if command.runtime == "llama-cpp" and context and slots:
        context //= slots  # llama.cpp divides one pool among its slots
    if not slots:
        notes.append(_note("slots_unknown"))
    return Recipe(
        engine=_engine(command.runtime, image),
        model=_model(entries, command).split("/")[-1].partition(":")[0],
        image=image,
        flags=flags,
        env=_env(entries, notes),
        context=context,
        slots=slots,
        source=source,
    )


def _engine(runtime: str, image: str) -> str:
    if runtime == "vllm":
        ready = image.startswith(("nvcr.io/nvidia/vllm", "vllm/vllm-openai"))
        return "vllm" if ready else "vllm-community"
    return {"llama-cpp": "llama.cpp"}.get(runtime, runtime)


def _image(entries: Mapping[str, Any], notes: list[Fault]) -> str:
    image = _text(entries, "container")
    if image in LOCAL_NAMES:
        notes.append(_note("local_image", name=image, image=LOCAL_NAMES[image]))
        image = LOCAL_NAMES[image]
    repository = re.sub(r"(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$", "", image)
    if repository not in IMAGES:
        raise BenchError("recipe_image", image=image)
    return image


def _env(entries: Mapping[str, Any], notes: list[Fault]) -> dict[str, str]:
    """Fixed values only: nothing of this machine's environment, and no secrets."""
    env: dict[str, str] = {}
    for name, value in _table(entries, "env").items():
        if not re.fullmatch(r"[A-Za-z_]\w*", str(name)) or isinstance(value, list | dict):
            raise BenchError("recipe_wrong", name=f"env.{name}")
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if _SECRET.search(str(name)) or "$" in text:
            notes.append(_note("env_left_out", name=str(name)))
        else:
            env[str(name)] = text
    return env


def _model(entries: Mapping[str, Any], command: Command) -> str:
    found = _text(entries, "model") or next(iter(command.positional), "")
    for name in ("model", "model-path", "hf-repo"):
        found = found or str(command.flags.get(name, ""))
    if not found:
        raise BenchError("recipe_missing", name="model")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+(?::[\w.-]+)?", found) or ".." in found:
        raise BenchError("recipe_wrong", name="model")
    return found


def _number(command: Command, names: Sequence[str]) -> int:
    for name in names:
        if (value := command.flags.get(name)) is not None:
            if not str(value).isdecimal():
                raise BenchError("recipe_wrong", name=name)
            return int(value)
    return 0


def _table(entries: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = entries.get(key) or {}
    if not isinstance(value, dict):
        raise BenchError("recipe_wrong", name=key)
    return value


def _text(entries: Mapping[str, Any], key: str) -> str:
    value = entries.get(key) or ""
    if not isinstance(value, str):
        raise BenchError("recipe_wrong", name=key)
    return value.strip()


def _note(code: str, **fields: str | int | float) -> Fault:
    return Fault(code=f"community.{code}", fields=fields)
