"""nvidia-smi, asked and not believed: on a GB10 many of its answers are N/A."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence


def ask(arguments: Sequence[str], seconds: float = 10) -> str | None:
    """What nvidia-smi prints; None where there is none, or none that answers in time."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    try:
        told = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=seconds, check=True
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return told.stdout
