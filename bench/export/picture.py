"""A figure as a picture: PNG, SVG or PDF, in a shape that its place asks for.

A picture carries its own caption, so that a chart in a blog post can't lose its meaning. What is
drawn is text in a font that has Chinese; without one nothing is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, Literal

import altair as alt
import msgspec
import vl_convert
from PIL import Image

from bench.charts.figure import Figure
from bench.errors import BenchError
from bench.layout import wrapped

FONT = "Noto Sans CJK TC"
PADDING = 24
LINE = 17
"""Pixels of a line of the caption."""
COLUMNS = 112 / 776
"""Columns of the caption's text that fit into a pixel."""
GROUND = {"light": ("#ffffff", "#1f2a2e", "#e3e2da"), "dark": ("#12191b", "#e6ebe9", "#2c373a")}
"""Background, text and grid of an image."""
Theme = Literal["light", "dark"]
Shape = Literal["free", "blog", "square", "wide"]
SIZES: Mapping[Shape, tuple[int, int]] = {
    "blog": (1200, 675),
    "square": (1080, 1080),
    "wide": (1600, 668),
}
"""Pixels of a PNG at 1×. A shape that is free is as high as its chart needs."""
WIDTHS = (824, 1040, 1280, 1600, 2000)
"""Widths to draw in, the first in which the chart has room: a wider one has smaller letters."""
ROOM = 190
"""Pixels of height below which a chart can't be read."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """How a picture is to be."""

    theme: Theme = "light"
    shape: Shape = "free"
    scale: int = 2
    """Of a PNG, 1 to 3."""


PLAIN = Look()


def png(figure: Figure, caption: Sequence[str], look: Look = PLAIN) -> bytes:
    """The figure with its caption, in the pixels of its shape times the scale.

    Raises BenchError ``fonts_missing`` where Chinese would become empty boxes.
    """
    check_fonts()
    drawn, width = _drawn(figure, caption, look)
    scale, shape = min(max(look.scale, 1), 3), look.shape
    if shape == "free":
        return _exact(vl_convert.vegalite_to_png(drawn, scale=scale), None, look.theme)
    wide, high = (scale * side for side in SIZES[shape])
    image = vl_convert.vegalite_to_png(drawn, scale=wide / width)
    return _exact(image, (wide, high), look.theme)


def svg(figure: Figure, caption: Sequence[str], look: Look = PLAIN) -> bytes:
    """The figure with its caption; its text stays text, with a fallback for other machines."""
    check_fonts()
    text = vl_convert.vegalite_to_svg(_drawn(figure, caption, look)[0])
    return text.replace(f'"{FONT}"', f"\"'{FONT}', 'Noto Sans TC', sans-serif\"").encode()


def pdf(figure: Figure, caption: Sequence[str], look: Look = PLAIN) -> bytes:
    """The figure with its caption on a page of its size; the letters it needs are in the file."""
    check_fonts()
    return vl_convert.vegalite_to_pdf(_drawn(figure, caption, look)[0])


def check_fonts(draw: Callable[[str], bytes] = vl_convert.svg_to_png) -> None:
    """Refuse to draw without a Chinese font: two unlike characters must not look the same."""
    first, second = (draw(_glyph(character)) for character in "測驗")
    if first == second:
        raise BenchError("fonts_missing", font=FONT)


def _glyph(character: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
        f'<text x="4" y="32" font-size="28" font-family="{FONT}">{character}</text></svg>'
    )


def _drawn(figure: Figure, caption: Sequence[str], look: Look) -> tuple[dict[str, Any], float]:
    """A Vega-Lite chart of the shape that is asked for, and the width that it is drawn in."""
    if look.shape == "free":
        return _spec(figure, caption, look.theme, WIDTHS[0], figure.height), WIDTHS[0]
    wide, high = SIZES[look.shape]
    real, tall = _size(_spec(figure, caption, look.theme, WIDTHS[0], figure.height))
    around = tall - figure.height - LINE * len(_lines(caption, WIDTHS[0]))
    needed = max(ROOM, 0.6 * figure.height)
    for width in WIDTHS:
        height = width * high / wide - around - LINE * len(_lines(caption, width))
        if height >= needed:
            break
    inner = width - (real - WIDTHS[0])
    return _spec(figure, caption, look.theme, inner, max(height, ROOM)), width


def _bars(figure: Figure, height: float) -> dict[str, float]:
    """Shares of a step that stay empty around bars. Where a shape is much higher than its few bars
    need, most of it becomes room, and no bar a wall."""
    growth = height / figure.height / 2
    if growth <= 1 or not any("test" in row for row in figure.rows):
        return {}
    return {
        "bandWithNestedOffsetPaddingOuter": min(growth / 3, 1),
        "bandWithNestedOffsetPaddingInner": min(growth / 5, 0.6),
    }


def _exact(image: bytes, size: tuple[int, int] | None, theme: Theme) -> bytes:
    """The picture in exactly these pixels (axes that grew with their chart make it a little off),
    and packed well: a third of what the drawing's own PNG takes."""
    with Image.open(BytesIO(image)) as drawn:
        size = size or drawn.size
        if any(theirs > 1.02 * ours for theirs, ours in zip(drawn.size, size, strict=True)):
            drawn.thumbnail(size)  # less is taken off the empty edge
        whole = Image.new("RGB", size, GROUND[theme][0])
        whole.paste(drawn, ((size[0] - drawn.width) // 2, (size[1] - drawn.height) // 2))
    out = BytesIO()
    whole.save(out, "PNG", optimize=True)
    return out.getvalue()


def _lines(caption: Sequence[str], width: float) -> list[str]:
    columns = int((width - 2 * PADDING) * COLUMNS)
    return [line for part in caption for line in wrapped(part, columns)]


def _size(spec: dict[str, Any]) -> tuple[float, float]:
    """Width and height in which a chart is drawn, with all that stands around its plot."""
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', vl_convert.vegalite_to_svg(spec))
    assert found
    return float(found[1]), float(found[2])


def _spec(
    figure: Figure, caption: Sequence[str], theme: Theme, width: float, height: float
) -> dict[str, Any]:
    ground, ink, grid = GROUND[theme]
    title = alt.TitleParams(figure.title, anchor="start", fontSize=19, offset=14, color=ink)
    inner = figure.chart.properties(title=title)
    if not isinstance(inner, alt.FacetChart):
        inner = inner.properties(width=width - 2 * PADDING - 96, height=height)
    foot = alt.TitleParams(
        _lines(caption, width),
        orient="bottom",
        anchor="start",
        fontSize=12,
        fontWeight="normal",
        lineHeight=LINE,
        offset=16,
        color=ink,
    )
    whole = alt.vconcat(inner, title=foot, background=ground, padding=PADDING).resolve_legend(
        color="independent", shape="independent", strokeDash="independent", opacity="independent"
    )
    axis = {"labelColor": ink, "titleColor": ink, "gridColor": grid, "domainColor": grid}
    sizes = {"labelFontSize": 13, "titleFontSize": 13, "tickColor": grid}
    whole = whole.configure(
        font=FONT,
        axis=axis | sizes,
        legend={"labelColor": ink, "labelFontSize": 13, "titleColor": ink},
        text={"fontSize": 13},
        view={"stroke": None},
        scale=_bars(figure, height),
    )
    return dict(whole.to_dict())
