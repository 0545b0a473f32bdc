"""Numbers of other tools: each with its meaning, those that are not used in grey."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from bench.imports import preview
from bench.imports.keep import Choice
from bench.imports.mark import Mark
from bench.imports.preview import Row
from bench.imports.values import Found
from bench.layout import plain
from bench.text import Words

GREY = "color: #7f8b90; font-style: italic"


def grey(mark: Mark | None, t: Words) -> None:
    """What is kept of an imported run and not used."""
    if mark and mark.doubtful:
        with st.expander(t("imports.grey"), icon=":material/help:"):
            _table(preview.grey(mark, t), [False] * len(mark.doubtful), t("imports.grey"))


def result(found: Found, number: int, t: Words) -> None:
    """What one result of a file says."""
    model = plain(found.model) or t("imports.no_model")
    st.subheader(t("imports.result", n=number, model=model), anchor=False)
    if found.date:
        st.caption(plain(t("imports.measured_on", date=found.date)))
    for warning in found.warnings:
        st.caption(plain(t.fault(warning)))
    rows, used = preview.rows(found, t)
    if rows:
        with st.expander(t("imports.numbers"), expanded=number == 1, icon=":material/numbers:"):
            _table(rows, used, t("imports.numbers"))


def choice(number: int, models: dict[str, str], engines: dict[str, str], t: Words) -> Choice:
    """What the reader knows of a result and its file does not say."""
    told = {"": t("imports.as_told")}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = _one(t("imports.model"), told | models, f"import-model-{number}")
        engine = _one(t("imports.engine"), told | engines, f"import-engine-{number}")
        spark = st.checkbox(
            t("imports.spark"), key=f"import-spark-{number}", help=t("imports.spark_help")
        )
    return Choice(model=model, engine=engine, spark=spark)


def _one(label: str, options: dict[str, str], key: str) -> str:
    return st.selectbox(label, list(options), format_func=options.__getitem__, key=key)


def _table(rows: Sequence[Row], used: Sequence[bool], alt: str) -> None:
    frame = pd.DataFrame(rows)
    style = frame.style.apply(lambda row: ["" if used[row.name] else GREY] * len(row), axis=1)
    st.dataframe(style, hide_index=True, height="content" if len(rows) < 30 else 600, alt=alt)
