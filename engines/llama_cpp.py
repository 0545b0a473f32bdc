"""llama.cpp: its server's arguments, and its container.

``--ctx-size`` is the pool that the slots divide among them, so it is context times slots (A18).
"""

from __future__ import annotations

from pathlib import PurePath

from engines import Launch, Recipe, flag_args
from engines.containers import inside, model_mounts


def launch(recipe: Recipe) -> Launch:
    port = 8080
    host = "127.0.0.1" if recipe.network == "host" else "0.0.0.0"
    return Launch(
        argv=(
            "--host",
            host,
            "--port",
            str(port),
            *server_args(recipe, inside(recipe)),
            "--no-mmap",
            "--n-gpu-layers",
            "99",
            *flag_args(recipe.flags),
        ),
        port=port,
        served=recipe.model,
        image=recipe.image,
        env=recipe.env,
        mounts=model_mounts(recipe),
        gpus=True,
        network=recipe.network,
    )


def server_args(recipe: Recipe, path: str | PurePath) -> tuple[str, ...]:
    """What llama.cpp's server needs wherever it runs. Without a context it takes the model's."""
    return (
        "--model", str(path), "--alias", recipe.model,
        "--ctx-size", str(recipe.context * recipe.slots), "--parallel", str(max(1, recipe.slots)),
        "--metrics", "--slots", "--jinja",
    )  # fmt: skip
