"""A comparison: which chart first, how far from a baseline, and what differs in settings."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from bench import charts
from bench.catalogue import Catalogue
from bench.charts import limits
from bench.layout import plain
from bench.numbers import baseline
from bench.results import Result
from bench.shown import sentences, tables
from bench.shown.view import View
from bench.text import Words
from pages.elements import figures


def drawn(results: Sequence[Result], view: View, known: Catalogue, t: Words) -> None:
    """One chart of the reader's choice, and the others on request."""
    names = charts.drawable(results)
    if not names:
        return
    shown = view.chart if view.chart in names else names[0]
    lines = limits.of(results, known)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {name: t(f"charts.{name}.title") for name in names}
        _choice("chart", t("compare.chart"), titles, shown)
        scales = {scale: t(f"compare.scale.{scale}") for scale in ("linear", "log")}
        _choice("scale", t("compare.axis"), scales, view.scale)
    for one in charts.of_comparison(results, t, view.scale, lines, [shown]):
        figures.one(one, t)
    if others := [name for name in names if name != shown]:
        more = st.expander(t("compare.more"), icon=":material/show_chart:", on_change="rerun")
        if more.open:
            with more:
                figures.grid(charts.of_comparison(results, t, view.scale, lines, others), t)


def against(results: Sequence[Result], view: View, t: Words) -> None:
    """The differences from the result that the reader chose, in per cent, or why there are none."""
    base = next((one for one in results if one.id == view.base), results[0])
    others = [one for one in results if one is not base]
    labels = {result.id: result.label for result in results}
    st.subheader(t("against.heading"), help=t("against.hint"))
    _choice("base", t("compare.baseline"), labels, base.id)
    found = baseline.against(
        sentences.measured_of(base), [sentences.measured_of(o) for o in others]
    )
    if rows := tables.against([one for one in found if not one.refused], t):
        st.dataframe(rows, height="content", hide_index=True, placeholder="–")
    elif not any(one.refused for one in found):
        st.write(plain(t("against.none", label=base.label)))
    for one in found:
        if one.refused:
            st.caption(plain(sentences.refusal(one.refused, t)))


def settings(results: Sequence[Result], t: Words) -> None:
    """What differs between the runs, and only that."""
    runs = {result.label: result.run for result in results if result.run}
    if len(runs) < 2:
        return
    with st.expander(t("differ.heading"), icon=":material/difference:"):
        rows = tables.differing([run for run in runs.values() if run], list(runs), t)
        if rows:
            st.dataframe(rows, height="content", hide_index=True, placeholder="–")
        else:
            st.write(t("differ.none"))


def _choice(name: str, label: str, options: Mapping[str, str], chosen: str) -> Any:
    """A part of the view; what is chosen goes into the page's address, so that a link keeps it."""
    key = f"compare-{name}-{chosen}"

    def choose() -> None:
        st.query_params[name] = st.session_state[key]

    return st.selectbox(
        label,
        list(options),
        index=list(options).index(chosen),
        format_func=options.__getitem__,
        key=key,
        on_change=choose,
        width=260,
    )
