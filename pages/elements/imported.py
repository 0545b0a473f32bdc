"""Numbers of other tools: each with its meaning, those that are not used in grey."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from bench.catalogue import Catalogue
from bench.export.unbundle import Bundle
from bench.imports import keep, mark, preview
from bench.imports.keep import Choice
from bench.imports.mark import Mark
from bench.imports.preview import Row
from bench.imports.values import NAMES, Import
from bench.layout import plain
from bench.shown import incoming
from bench.store import Run
from bench.text import Words

GREY = "color: #7f8b90; font-style: italic"
MOST = 12
"""Results of a file that are shown one by one."""


def grey(found: Mark | None, t: Words) -> None:
    """What is kept of an imported run and not used."""
    if found and found.doubtful:
        with st.expander(t("imports.grey"), icon=":material/help:"):
            _table(preview.grey(found, t), [False] * len(found.doubtful), t("imports.grey"))


def elsewhere(run: Run, t: Words) -> None:
    """Mark a run that another installation measured."""
    if mark.elsewhere(run):
        st.badge(t("imports.elsewhere"), color="violet", icon=":material/upload:")
        st.caption(t("imports.elsewhere_note"))


def bundle(found: Bundle, t: Words) -> None:
    """What a run bundle holds."""
    if found.about.left_out:
        kinds = [t(f"imports.left.{kind}") for kind in found.about.left_out]
        st.caption(t("imports.left_out", what=t("charts.list_separator").join(kinds)))
    rows = incoming.listed(found, t, st.context.timezone)
    st.dataframe(rows, hide_index=True, height="content", alt=t("imports.title"))


def results(found: Import, known: Catalogue, t: Words) -> list[Choice]:
    """What a file says, result by result, with what its reader chooses for each."""
    for warning in found.warnings:
        st.caption(plain(t.fault(warning)))
    alone = len(found.results) <= MOST
    common = None if alone else _choice(found, 0, known, t)
    choices = [
        _result(found, place, known, common, t) for place in range(len(found.results))[:MOST]
    ]
    if common is None:
        return choices
    st.caption(t("imports.more", n=len(found.results) - MOST))
    return [common] * len(found.results)


def _result(file: Import, place: int, known: Catalogue, common: Choice | None, t: Words) -> Choice:
    found = file.results[place]
    model = plain(found.model) or t("imports.no_model")
    st.subheader(t("imports.result", n=place + 1, model=model), anchor=False)
    if found.date:
        st.caption(plain(t("imports.measured_on", date=found.date)))
    for warning in found.warnings:
        st.caption(plain(t.fault(warning)))
    choice = common or _choice(file, place, known, t)
    rows, used = preview.rows(keep.chosen(found, choice, known), t)
    with st.expander(t("imports.numbers"), expanded=place == 0, icon=":material/numbers:"):
        _table(rows, used, t("imports.numbers"))
    return choice


def _choice(file: Import, place: int, known: Catalogue, t: Words) -> Choice:
    """What the reader knows of a result and its file does not say."""
    found, alone = file.results[place], len(file.results) <= MOST
    key = f"{file.sha256[:12]}-{place}"
    models = {"": t("imports.as_told")} | {one.id: one.name for one in known.models.values()}
    engines = {"": t("imports.as_told")} | {one.id: one.name for one in known.engines.values()}
    st.caption(t("imports.known" if alone else "imports.for_all"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = _one(t("imports.model"), models, f"model-{key}", keep.guess(found, known))
        engine = _one(t("imports.engine"), engines, f"engine-{key}", found.engine or "")
        title = ""
        if alone:
            name = f"{known.models[model].name if model else found.model or '?'}"
            title = st.text_input(
                t("imports.name"),
                placeholder=f"{name} · {NAMES[file.tool]}",
                max_chars=120,
                key=f"title-{key}",
            )
    spark = st.checkbox(t("imports.spark"), key=f"spark-{key}", help=t("imports.spark_help"))
    return Choice(title=title, model=model, engine=engine, spark=spark)


def _one(label: str, options: dict[str, str], key: str, first: str) -> str:
    index = list(options).index(first) if first in options else 0
    return st.selectbox(label, list(options), index, format_func=options.__getitem__, key=key)


def _table(rows: Sequence[Row], used: Sequence[bool], alt: str) -> None:
    frame = pd.DataFrame(rows)
    style = frame.style.apply(lambda row: ["" if used[row.name] else GREY] * len(row), axis=1)
    st.dataframe(style, hide_index=True, height="content" if len(rows) < 30 else 600, alt=alt)
