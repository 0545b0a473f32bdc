"""vLLM as the community builds it for the DGX Spark: NVIDIA's arguments, other caches.

A community recipe brings a command of its own, which is then used as it is.
"""

from __future__ import annotations

import msgspec

from engines import Launch, Recipe, vllm
from engines.containers import caches, model_mounts

CACHES = (*vllm.CACHES, "/root/.tilelang")


def launch(recipe: Recipe) -> Launch:
    mounts = model_mounts(recipe) if recipe.path else ()
    command = recipe.command or ("vllm", "serve", *vllm.serve_args(recipe))
    return msgspec.structs.replace(
        vllm.launch(msgspec.structs.replace(recipe, path=recipe.path or "/model")),
        argv=command,
        mounts=(*mounts, *caches("vllm-community", *CACHES)),
    )
