"""What the engines that run in a container share: where the model is, and the caches kept."""

from __future__ import annotations

from pathlib import Path

from engines import Mount, Recipe

MODELS = "/models"
GIB = 1024**3


def inside(recipe: Recipe) -> str:
    """The model's path as the container sees it."""
    return str(MODELS / Path(recipe.path).relative_to(_root(recipe)))


def model_mounts(recipe: Recipe) -> tuple[Mount, ...]:
    """The model root, read-only: the files of one model may be links to others below it."""
    return (Mount(source=str(_root(recipe)), target=MODELS),)


def caches(engine: str, *folders: str) -> tuple[Mount, ...]:
    """Named volumes for what an engine compiles, so that its second start is faster."""
    return tuple(
        Mount(
            source=f"spark-compare-{engine}-{Path(folder).name.lstrip('.')}",
            target=folder,
            kind="volume",
            read_only=False,
        )
        for folder in folders
    )


def _root(recipe: Recipe) -> Path:
    return Path(recipe.root) if recipe.root else Path(recipe.path).parent
