"""Which module launches which engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engines import Launch, Recipe, endpoint, llama_cpp, llama_cpp_local

LAUNCHES: Mapping[str, Callable[[Recipe], Launch]] = {
    "llama.cpp": llama_cpp.launch,
    "llama.cpp-local": llama_cpp_local.launch,
    "endpoint": endpoint.launch,
}


def launch_for(recipe: Recipe) -> Launch:
    return LAUNCHES[recipe.engine](recipe)
