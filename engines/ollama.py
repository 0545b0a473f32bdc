"""Ollama, which fetches its models by itself into a volume that is kept.

It has no flag for a model: the server is started, and then told to fetch the tag. The script is
fixed; the tag is its argument.
"""

from __future__ import annotations

from engines import Launch, Recipe
from engines.containers import caches

PORT = 11434
SCRIPT = (
    'ollama serve & until ollama list >/dev/null 2>&1; do sleep 1; done; ollama pull "$1"; wait'
)


def launch(recipe: Recipe) -> Launch:
    host = "127.0.0.1" if recipe.network == "host" else "0.0.0.0"
    return Launch(
        entrypoint=("/bin/sh",),
        argv=("-c", SCRIPT, "ollama", recipe.path),
        port=PORT,
        served=recipe.path,
        health="/api/version",
        image=recipe.image,
        env={
            "OLLAMA_HOST": f"{host}:{PORT}",
            "OLLAMA_CONTEXT_LENGTH": str(recipe.context),
            "OLLAMA_NUM_PARALLEL": str(recipe.slots),
            "OLLAMA_KEEP_ALIVE": "-1",
            **recipe.env,
        },
        mounts=caches("ollama", "/root/.ollama"),
        gpus=True,
        network=recipe.network,
    )
