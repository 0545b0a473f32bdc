"""Charts and tables with the files that people take away."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from bench.charts.figure import Figure
from bench.export import picture
from bench.export import table as report
from bench.export.picture import Look, Shape, Theme
from bench.layout import plain
from bench.results import Result
from bench.shown import tables, views
from bench.text import Words

T = TypeVar("T", bound=str)


def one(drawn: Figure | None, t: Words) -> None:
    """A chart with its definition and its files; nothing where there is nothing to draw."""
    if drawn is None:
        return
    with st.container(gap="xsmall"):
        st.markdown(f"**{plain(drawn.title)}**")
        st.vega_lite_chart(
            spec=drawn.spec, height=drawn.whole_height, alt=drawn.spoken, key=f"chart-{drawn.name}"
        )
        with st.container(horizontal=True):
            if drawn.metrics:
                with st.popover(t("export.definition"), icon=":material/help:", type="tertiary"):
                    for metric in drawn.metrics:
                        st.markdown(plain(views.definition(metric, t)))
            with st.popover(t("export.save"), icon=":material/download:", type="tertiary"):
                _files(drawn, t)


def grid(drawn: Sequence[Figure | None], t: Words) -> None:
    """Charts two a row where there is room."""
    with st.grid(2, min_column_width=340, gap=("small", "large")):
        for figure in drawn:
            with st.container():
                one(figure, t)


def _files(drawn: Figure, t: Words) -> None:
    caption = views.caption(drawn, t, st.context.timezone)
    look, name = looked(drawn.name, t), drawn.name
    _file(t("export.png"), partial(picture.png, drawn, caption, look), f"{name}.png", "image/png")
    svg = partial(picture.svg, drawn, caption, look)
    _file(t("export.svg"), svg, f"{name}.svg", "image/svg+xml")
    pdf = partial(picture.pdf, drawn, caption, look)
    _file(t("export.pdf"), pdf, f"{name}.pdf", "application/pdf")
    _file(t("export.csv"), partial(report.table_csv, drawn.rows), f"{name}.csv", "text/csv")


def looked(key: str, t: Words, shape: Shape = "free") -> Look:
    """How a picture is to be, as its reader chooses it."""
    shapes: list[Shape] = ["free", "blog", "square", "wide"]
    themes: list[Theme] = ["light", "dark"]
    chosen = _choice(t("export.shape"), shapes, shape, f"shape-{key}", t)
    size = st.segmented_control(
        t("export.size"),
        [1, 2, 3],
        default=2,
        required=True,
        format_func="{}×".format,
        key=f"size-{key}",
    )
    theme = _choice(t("export.theme"), themes, "light", f"theme-{key}", t)
    return Look(theme=theme, shape=chosen, scale=size)


def _choice(label: str, options: list[T], first: T, key: str, t: Words) -> T:
    return st.segmented_control(
        label,
        options,
        default=first,
        required=True,
        format_func=lambda one: t(f"export.look.{one}"),
        key=key,
    )


def table(results: Sequence[Result], t: Words) -> None:
    """All numbers for reading, and as files."""
    rows = tables.overview(results, t)
    st.dataframe(rows, height="content", hide_index=True, alt=t("compare.table"), placeholder="–")
    with st.container(horizontal=True):
        values = tables.measurements(results, t)
        _file(t("export.csv"), partial(report.table_csv, values), "results.csv", "text/csv")
        text = partial(report.table_markdown, rows)
        _file(t("export.markdown"), text, "results.md", "text/markdown")


def _file(label: str, make: Callable[[], Any], name: str, mime: str) -> None:
    st.download_button(
        label,
        make,
        name,
        mime,
        key=f"file-{name}",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
