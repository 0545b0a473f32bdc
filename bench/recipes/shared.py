"""The community recipes that come with Spark Compare, as files in data/recipes/community."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bench.config import ROOT
from bench.recipes import community
from bench.recipes.community import Community

FOLDER = ROOT / "data" / "recipes" / "community"


@cache
def shipped() -> Mapping[str, Community]:
    """By file name, checked like any other."""
    return {
        file.stem: community.read(file.read_bytes(), f"data/recipes/community/{file.name}")
        for file in sorted(FOLDER.glob("*.yaml"))
    }
