"""vLLM in NVIDIA's container, or in the project's own."""

from __future__ import annotations

from engines import Launch, Recipe, flag_args
from engines.containers import GIB, caches, inside, model_mounts

PORT = 8000
CACHES = ("/root/.cache/vllm", "/root/.cache/flashinfer", "/root/.triton")


def launch(recipe: Recipe) -> Launch:
    image = recipe.image or ""
    serves = image.startswith("vllm/vllm-openai")  # its entrypoint is ``vllm serve`` already
    return Launch(
        argv=(*(() if serves else ("vllm", "serve")), *serve_args(recipe)),
        port=PORT,
        served=recipe.model,
        image=image,
        env=recipe.env,
        mounts=(*model_mounts(recipe), *caches("vllm", *CACHES)),
        gpus=True,
        network=recipe.network,
        ipc_host=True,
        shm_bytes=16 * GIB,
    )


def serve_args(recipe: Recipe) -> tuple[str, ...]:
    """What follows ``vllm serve``."""
    host = "127.0.0.1" if recipe.network == "host" else "0.0.0.0"
    return (
        inside(recipe),
        *("--served-model-name", recipe.model),
        *("--host", host),
        *("--port", str(PORT)),
        *flag_args(
            {
                "max-model-len": recipe.context or False,
                "max-num-seqs": recipe.slots or False,
                **recipe.flags,
            }
        ),
    )
