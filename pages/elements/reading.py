"""Chinese answers for reading: several models beside each other, with what was found in them."""

from collections.abc import Mapping, Sequence

import streamlit as st

from bench.chinese import explanation
from bench.layout import plain
from bench.results import Result
from bench.shown import annotated, tables, written
from bench.shown.writing import Reading, Writing
from bench.text import Words
from pages.elements import answers


def prompt_set(sets: Sequence[str], t: Words) -> str:
    """The set whose answers are shown; the address says which."""
    asked = st.query_params.get("set")
    current = asked if asked and asked in sets else sets[0]
    if len(sets) == 1:
        return current

    def choose() -> None:
        st.query_params["set"] = st.session_state["set"]
        st.query_params.pop("prompt", None)

    st.session_state["set"] = current
    chosen = st.segmented_control(
        t("zh.set"),
        list(sets),
        format_func=lambda name: plain(written.set_name(name, t)),
        required=True,
        help=t("zh.one_set"),
        key="set",
        on_change=choose,
    )
    return chosen or current


def summary(figures: Mapping[str, Writing], t: Words) -> None:
    """Models side by side in figures."""
    st.subheader(t("zh.summary"))
    rows = tables.escaped(written.rows(figures, t))
    st.table(rows, border="horizontal", hide_index=True)
    st.caption(plain(t("zh.summary_note")))


def questions(
    asked: Mapping[str, Mapping[str, Sequence[Reading]]],
    results: Sequence[Result],
    figures: Mapping[str, Writing],
    t: Words,
) -> None:
    """All questions, or the one that the address names; ``figures`` by the results' labels."""
    st.html(annotated.STYLE)
    one = st.query_params.get("prompt", "")
    if one and one not in asked:
        st.warning(t("zh.unknown_question"))
    shown = [one] if one in asked else list(asked)
    link = {"run": [result.id for result in results]}
    if one in asked:
        st.page_link(
            "chinese.py", label=t("zh.all_questions"), icon=":material/arrow_back:",
            query_params=link,
        )  # fmt: skip
    for name in shown:
        with st.container(border=True):
            _question(name, asked[name], t, link if one not in asked else None)
            columns = st.columns(len(results), gap="medium")
            for column, result in zip(columns, results, strict=True):
                with column:
                    st.caption(f"**{plain(result.label)}**")
                    able = figures[result.label].literacy.level != "no"
                    _answers(asked[name].get(result.id, ()), able, t)


def _question(
    name: str,
    answered: Mapping[str, Sequence[Reading]],
    t: Words,
    link: Mapping[str, Sequence[str]] | None,
) -> None:
    prompt = next(iter(answered.values()))[0].prompt
    answers.question(prompt.text)
    with st.container(horizontal=True, vertical_alignment="center"):
        if why := prompt.why.get(t.language):
            st.caption(plain(why), width="stretch")
        if link is not None:
            st.page_link(
                "chinese.py", label=t("zh.only_this"), icon=":material/link:",
                query_params={**link, "prompt": name, "set": prompt.set},
            )  # fmt: skip


def _answers(every: Sequence[Reading], able: bool, t: Words) -> None:
    """What one model answered to one question, first and in repeats."""
    if not every:
        st.caption(t("zh.no_answer"))
        return
    answer(every[0], able, t)
    if len(every) > 1:
        with st.expander(written.repeats(every, t), icon=":material/repeat:", type="compact"):
            for number, one in enumerate(every[1:], 2):
                st.caption(t("zh.time", n=number))
                answer(one, able, t)


def answer(one: Reading, able: bool, t: Words) -> None:
    """An answer with its findings; the thinking is folded away."""
    sample = one.answer.sample
    if sample.error:
        st.warning(plain(t("run.answer_failed", error=sample.error)))
    if sample.reasoning:
        with st.expander(t("run.thinking"), type="compact"):
            st.text(sample.reasoning)
    key = "".join(ch for ch in f"{sample.id}{one.answer.repeat}" if ch.isascii() and ch.isalnum())
    if sample.text.strip():
        st.html(annotated.html(sample.text, one.findings, key, t))
    elif not sample.error:
        st.caption(t("zh.empty_answer"))
    if len(sample.text) > annotated.LONGEST:
        cut = {"shown": f"{annotated.LONGEST:,}", "n": f"{len(sample.text):,}"}
        st.caption(t("zh.cut", **cut))
    st.caption(plain(written.figures(one, t)))
    _found(one, able and sample.ok, t)


def _found(one: Reading, able: bool, t: Words) -> None:
    missed = [outcome.finding for outcome in one.outcomes if outcome.finding]
    if one.outcomes:
        kept = len(one.outcomes) - len(missed)
        icon = ":material/check:" if not missed else ":material/rule:"
        colour = "green" if not missed else "orange"
        said = t("zh.followed", k=kept, n=len(one.outcomes))
        if able:
            st.badge(said, color=colour, icon=icon)  # type: ignore[arg-type]
    if not one.counted and able:
        st.badge(t("zh.clean"), color="green", icon=":material/check:")
    if one.findings:
        label = t("zh.found", n=len(one.counted)) if one.counted else t("zh.hints")
        with st.expander(label, icon=":material/flag:", type="compact"):
            for why in dict.fromkeys(explanation(mark, t) for mark in one.findings):
                st.caption(plain(why))
