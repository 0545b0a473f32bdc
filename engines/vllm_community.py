"""vLLM as the community builds it for the DGX Spark: NVIDIA's arguments, caches of its own."""

from __future__ import annotations

import msgspec

from engines import Launch, Recipe, vllm
from engines.containers import caches, model_mounts

CACHES = (*vllm.CACHES, "/root/.tilelang")


def launch(recipe: Recipe) -> Launch:
    mounts = (*model_mounts(recipe), *caches("vllm-community", *CACHES))
    return msgspec.structs.replace(vllm.launch(recipe), mounts=mounts)
