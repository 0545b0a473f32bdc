"""Which of a tool's numbers mean the same as ours: the metric definitions decide."""

from __future__ import annotations

from collections.abc import Iterable

from bench.imports.values import Part
from bench.numbers.definitions import TOOLS, same

COMPARED = (
    "ttfr", "ttft", "ttfa", "e2e", "tpot", "gap", "queued", "prefill_speed", "decode_speed",
    "speed_with_wait", "throughput", "throughput_all", "requests_per_second",
)  # fmt: skip


def other_meaning(tool: str, parts: Iterable[Part]) -> dict[str, str]:
    """Metric → tool for each metric of the parts whose number is not the same as ours.

    A tool that the definitions do not know has nothing that is.
    """
    found = {one.metric for part in parts for one in part.numbers}
    if "throughput_all" in found:
        found.add("throughput")
    return {
        metric: tool
        for metric in COMPARED
        if metric in found and (tool not in TOOLS or not same(metric, tool))
    }
