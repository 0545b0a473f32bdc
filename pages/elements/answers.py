"""Answers for reading, with what is not Taiwan's marked."""

from collections.abc import Sequence

import streamlit as st

from bench import chinese, views
from bench.layout import marked, plain
from bench.results import Result
from bench.store import Answer
from bench.text import Words


def side_by_side(
    results: Sequence[Result], t: Words, language: str | None = None, judged: bool = False
) -> None:
    """Answers beside each other, one block a question."""
    results = [result for result in results if result.answers]
    for answered in views.answered(results, language):
        with st.container(border=True):
            st.markdown(f"**{plain(answered.question)}**")
            columns = st.columns(len(results), gap="medium")
            for column, result in zip(columns, results, strict=True):
                with column:
                    st.caption(plain(result.label))
                    if found := answered.answers.get(result.id):
                        one(found, t, judged, praised=views.literacy(result).level != "no")
                    else:
                        st.caption(t("zh.no_answer"))


def able(results: Sequence[Result], t: Words) -> None:
    """Which models cannot write Chinese, or not always: then nothing found is no praise."""
    for result in results:
        found = views.literacy(result)
        if found.level != "yes" and result.answers:
            said = t(
                f"chinese.literacy.{found.level}", chinese=found.chinese, answers=found.answers
            )
            st.warning(f"**{plain(result.label)}** – {plain(said)}", icon=":material/info:")


def one(found: Answer, t: Words, judged: bool = False, praised: bool = True) -> None:
    """One answer as it was written; thoughts folded away."""
    sample = found.sample
    if sample.error:
        st.warning(plain(t("run.answer_failed", error=sample.error)))
    if sample.reasoning:
        with st.expander(t("run.thinking"), type="compact"):
            st.text(sample.reasoning)
    if judged:
        findings(found, t, praised)
    else:
        st.text(sample.text)
    if speed := views.answer_speed(sample, found.language, t):
        st.caption(speed)


def findings(found: Answer, t: Words, praised: bool = True) -> None:
    """An answer with what is not Taiwan's marked, and why."""
    marks = chinese.check(found.sample.text, finish=found.sample.finish)
    st.markdown(marked(found.sample.text, marks))
    counted = [mark for mark in marks if mark.severity != "hint"]
    if not counted and praised:
        st.badge(t("zh.clean"), color="green", icon=":material/check:")
    if not marks:
        return
    label = t("zh.found", n=len(counted)) if counted else t("zh.hints")
    with st.expander(label, icon=":material/flag:", type="compact"):
        for why in dict.fromkeys(chinese.explanation(mark, t) for mark in marks):
            st.caption(plain(why))
