"""Files that people take away: a figure as PNG or SVG, a table as CSV or Markdown.

An image carries its own caption, so that a chart in a blog post can't lose its meaning.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import altair as alt
import vl_convert

from bench.errors import BenchError
from bench.figure import Figure
from bench.layout import wrapped

FONT = "Noto Sans CJK TC"
WIDTH = 760
GROUND = {"light": ("#ffffff", "#1f2a2e", "#e3e2da"), "dark": ("#12191b", "#e6ebe9", "#2c373a")}
"""Background, text and grid of an image."""
Theme = Literal["light", "dark"]
Table = Sequence[Mapping[str, Any]]
"""Rows of one table: column heading → value; None is an empty cell."""


def png(figure: Figure, caption: Sequence[str], scale: int = 2, theme: Theme = "light") -> bytes:
    """The figure with its caption; ``scale`` 1 to 3 is 824 to 2472 pixels wide.

    Raises BenchError ``fonts_missing`` where Chinese would become empty boxes.
    """
    check_fonts()
    return vl_convert.vegalite_to_png(_spec(figure, caption, theme), scale=min(max(scale, 1), 3))


def svg(figure: Figure, caption: Sequence[str], theme: Theme = "light") -> bytes:
    """The figure with its caption; its text stays text, with a fallback for other machines."""
    check_fonts()
    text = vl_convert.vegalite_to_svg(_spec(figure, caption, theme))
    return text.replace(f'"{FONT}"', f"\"'{FONT}', 'Noto Sans TC', sans-serif\"").encode()


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


def _spec(figure: Figure, caption: Sequence[str], theme: Theme) -> dict[str, Any]:
    ground, ink, grid = GROUND[theme]
    inner = figure.chart.properties(
        width=WIDTH - 80,
        title=alt.TitleParams(figure.title, anchor="start", fontSize=19, offset=14, color=ink),
    )
    lines = [line for part in caption for line in wrapped(part, 112)]
    foot = alt.TitleParams(
        lines,
        orient="bottom",
        anchor="start",
        fontSize=12,
        fontWeight="normal",
        lineHeight=17,
        offset=16,
        color=ink,
    )
    whole = alt.vconcat(inner, title=foot, background=ground, padding=24).resolve_legend(
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
    )
    return dict(whole.to_dict())


def table_csv(table: Table) -> bytes:
    """UTF-8 with a byte order mark, which spreadsheets need to read Chinese; no cell a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_cell(name) for name in _columns(table)])
    for row in table:
        writer.writerow([_cell(row.get(name)) for name in _columns(table)])
    return out.getvalue().encode("utf-8-sig")


def table_markdown(table: Table) -> str:
    columns = _columns(table)
    lines = [columns, ["---"] * len(columns)]
    lines += [
        ["" if row.get(name) is None else str(row[name]) for name in columns] for row in table
    ]
    escaped = ([cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped) + "\n"


def _columns(table: Table) -> list[str]:
    return list(dict.fromkeys(name for row in table for name in row))


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; a number stays a number."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
