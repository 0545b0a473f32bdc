"""TensorRT-LLM, whose own flags have underscores."""

from __future__ import annotations

from engines import Launch, Recipe, flag_args
from engines.containers import caches, inside, model_mounts

PORT = 8000


def launch(recipe: Recipe) -> Launch:
    host = "127.0.0.1" if recipe.network == "host" else "0.0.0.0"
    return Launch(
        argv=(
            *("trtllm-serve", inside(recipe)),
            *("--served_model_name", recipe.model),
            *("--host", host),
            *("--port", str(PORT)),
            *flag_args(
                {
                    "max_seq_len": recipe.context or False,
                    "max_batch_size": recipe.slots or False,
                    **recipe.flags,
                }
            ),
        ),
        port=PORT,
        served=recipe.model,
        image=recipe.image,
        env=recipe.env,
        mounts=(*model_mounts(recipe), *caches("trtllm", "/root/.cache/flashinfer")),
        gpus=True,
        network=recipe.network,
        ipc_host=True,
        ulimits={"memlock": -1, "stack": 64 * 1024**2},
    )
