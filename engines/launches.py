"""Which module launches which engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engines import (
    Launch,
    Recipe,
    endpoint,
    llama_cpp,
    llama_cpp_local,
    ollama,
    sglang,
    trtllm,
    vllm,
    vllm_community,
)

LAUNCHES: Mapping[str, Callable[[Recipe], Launch]] = {
    "vllm": vllm.launch,
    "vllm-community": vllm_community.launch,
    "llama.cpp": llama_cpp.launch,
    "sglang": sglang.launch,
    "trtllm": trtllm.launch,
    "ollama": ollama.launch,
    "llama.cpp-local": llama_cpp_local.launch,
    "endpoint": endpoint.launch,
}


def launch_for(recipe: Recipe) -> Launch:
    return LAUNCHES[recipe.engine](recipe)
