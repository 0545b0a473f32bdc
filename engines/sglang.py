"""SGLang."""

from __future__ import annotations

from engines import Launch, Recipe, flag_args
from engines.containers import GIB, caches, inside, model_mounts

PORT = 30000


def launch(recipe: Recipe) -> Launch:
    host = "127.0.0.1" if recipe.network == "host" else "0.0.0.0"
    return Launch(
        argv=(
            *("python3", "-m", "sglang.launch_server"),
            *("--model-path", inside(recipe)),
            *("--served-model-name", recipe.model),
            *("--host", host),
            *("--port", str(PORT)),
            *flag_args(
                {
                    "context-length": recipe.context or False,
                    "max-running-requests": recipe.slots or False,
                    "enable-metrics": True,
                    **recipe.flags,
                }
            ),
        ),
        port=PORT,
        served=recipe.model,
        image=recipe.image,
        env=recipe.env,
        mounts=(
            *model_mounts(recipe),
            *caches("sglang", "/root/.cache/flashinfer", "/root/.triton"),
        ),
        gpus=True,
        network=recipe.network,
        ipc_host=True,
        shm_bytes=16 * GIB,
    )
