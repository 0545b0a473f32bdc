"""Answers for reading, as they were written."""

from collections.abc import Mapping, Sequence

import streamlit as st

from bench.chinese import Literacy
from bench.layout import plain
from bench.results import Result
from bench.shown import views
from bench.store import Answer
from bench.text import Words


def side_by_side(results: Sequence[Result], t: Words) -> None:
    """Answers beside each other, one block a question, the first of them open."""
    results = [result for result in results if result.answers]
    for number, answered in enumerate(views.answered(results)):
        title = plain(answered.question.partition("\n")[0])
        with st.expander(title, expanded=number == 0):
            if "\n" in answered.question:
                st.caption(plain(answered.question.partition("\n")[2].strip()))
            columns = st.columns(len(results), gap="medium")
            for column, result in zip(columns, results, strict=True):
                with column:
                    st.caption(plain(result.label))
                    if found := answered.answers.get(result.id):
                        one(found, t)
                    else:
                        st.caption(t("zh.no_answer"))


def question(text: str) -> None:
    """A question as it was sent: what is asked in bold, the text that it brings below."""
    first, _, more = text.partition("\n")
    st.markdown(f"**{plain(first)}**")
    if more.strip():
        st.markdown(plain(more.strip()))


def able(labels: Mapping[str, Literacy], t: Words) -> None:
    """Which models cannot write Chinese, or not always: then nothing found is no praise."""
    for label, found in labels.items():
        if found.level != "yes":
            said = t(
                f"chinese.literacy.{found.level}", chinese=found.chinese, answers=found.answers
            )
            st.warning(f"**{plain(label)}** – {plain(said)}", icon=":material/info:")


def one(found: Answer, t: Words) -> None:
    """One answer as it was written; thoughts folded away."""
    sample = found.sample
    if sample.error:
        st.warning(plain(t("run.answer_failed", error=sample.error)))
    if sample.reasoning:
        with st.expander(t("run.thinking"), type="compact"):
            st.text(sample.reasoning)
    st.text(sample.text)
    if speed := views.answer_speed(sample, found.language, t):
        st.caption(speed)
