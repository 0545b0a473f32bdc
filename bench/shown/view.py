"""How a comparison is looked at: what of it travels in a link beside the results' ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from bench.charts import FIRST, Scale


class View(msgspec.Struct, frozen=True, kw_only=True):
    base: str | None = None
    """Id of the baseline; None is the first result."""
    chart: str = FIRST[0]
    """The chart to see first, one of `charts.FIRST`."""
    scale: Scale = "linear"

    def query(self) -> dict[str, str]:
        """What differs from how a comparison is shown by itself, for a link."""
        pairs = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: value for name, value in pairs if value != getattr(USUAL, name)}

    def of(self, ids: Sequence[str]) -> View:
        """The same for these results: a baseline that is not among them is none."""
        return msgspec.structs.replace(self, base=self.base if self.base in ids else None)


USUAL = View()
SCALES: tuple[Scale, ...] = ("linear", "log")


def read(query: Mapping[str, str | None], usual: View = USUAL) -> View:
    """From a link; what it does not say, or nobody knows, is as usual."""
    chart, scale = query.get("chart"), query.get("scale")
    return View(
        base=query.get("base") or usual.base,
        chart=chart if chart in FIRST else usual.chart,
        scale=next((one for one in SCALES if one == scale), usual.scale),
    )
