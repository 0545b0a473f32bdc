"""A server that already runs: nothing is launched, and nothing is stopped."""

from __future__ import annotations

from typing import Any

from engines import Launch, Recipe


def launch(recipe: Recipe) -> Launch:
    return Launch(argv=(), port=0, served=recipe.model)


class Elsewhere:
    """A `Running` engine that is somebody else's: it can't be polled and is not ours to stop."""

    log_path = None

    def __init__(self, url: str) -> None:
        self.url = url

    def poll(self) -> None:
        return None

    def stop(self) -> None:
        return None

    def facts(self) -> dict[str, Any]:
        return {}
