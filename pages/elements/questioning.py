"""A team's own questions: a set from a file or a form, the sets that there are, and the choice."""

import streamlit as st

from bench import store
from bench.chinese import own
from bench.config import Config
from bench.errors import BenchError
from bench.kept import questions
from bench.kept.questions import QuestionSet
from bench.layout import plain
from bench.people import actions
from bench.people.access import Actor
from bench.shown import tables
from bench.shown.views import when
from bench.text import Words


def add(settings: Config, actor: Actor, t: Words) -> None:
    """A new set. What is wrong with it is said in a sentence, and nothing is kept."""
    st.subheader(t("questions.add"))
    name = st.text_input(t("questions.name"), help=t("questions.name_help"), max_chars=40)
    by_file, by_form = st.tabs([t("questions.by_file"), t("questions.by_form")])
    with by_file:
        file = st.file_uploader(t("questions.file"), type="csv", max_upload_size=5)
        st.caption(plain(t("questions.checks_help")))
        st.download_button(
            t("questions.example"), own.example().encode("utf-8-sig"), "questions.csv", "text/csv",
            icon=":material/download:", on_click="ignore",
        )  # fmt: skip
    with by_form:
        rows = _form(t)
    if not st.button(t("questions.save"), type="primary", key="save-questions"):
        return
    try:
        content = questions.decoded(file.getvalue()) if file else questions.as_csv(rows)
        prompts = questions.parse(name or "", content)
        with actions.acting(settings, actor, "edit", questions=prompts[0].set) as db:
            kept = questions.save(db, name or "", prompts, actor.who)
    except BenchError as fault:
        st.error(plain(t.fault(fault.fault)), icon=":material/error:")
        return
    st.success(plain(t("questions.saved", id=kept)), icon=":material/check:")


def _form(t: Words) -> list[dict[str, object]]:
    empty: list[dict[str, object]] = [dict.fromkeys(own.COLUMNS, "")]
    edited = st.data_editor(
        empty,
        num_rows="dynamic",
        hide_index=True,
        column_config={
            column: st.column_config.TextColumn(
                t(f"questions.column.{column}"),
                help=t("questions.checks_help") if column == "checks" else None,
            )
            for column in own.COLUMNS
        },
        key="questions-form",
    )
    return list(edited)


def every(settings: Config, actor: Actor, t: Words) -> None:
    """The sets that there are, newest first."""
    with store.opened(settings.database) as db:
        known = questions.every(db)
    if not known:
        st.write(t("questions.none"))
    for one in known:
        at = when(one.at, st.context.timezone)
        with st.expander(plain(t("questions.set", id=one.id, n=len(one.prompts), at=at))):
            st.table(tables.escaped(_rows(one, t)), border="horizontal", hide_index=True)
            if st.button(
                t("questions.remove"), help=t("questions.remove_help"), key=f"remove-{one.id}"
            ):
                with actions.acting(settings, actor, "edit", removed=one.id) as db:
                    questions.remove(db, one.id)
                st.rerun()


def _rows(one: QuestionSet, t: Words) -> list[dict[str, str]]:
    return [
        {
            t("questions.column.text"): prompt.text,
            t("questions.column.kind"): prompt.kind,
            t("questions.column.checks"): own.written(prompt.checks),
            t("questions.column.why"): prompt.why.get(t.language, ""),
        }
        for prompt in one.prompts
    ]


def chosen(settings: Config, t: Words) -> QuestionSet | None:
    """The set whose answers a run is to keep; None for the workload's, and nothing is asked where
    there is no other."""
    with store.opened(settings.database) as db:
        known = {one.id: one for one in questions.every(db)}
    if not known:
        return None
    id = st.selectbox(
        t("questions.choose"),
        ["", *known],
        format_func=lambda id: id or t("questions.of_workload"),
        help=t("zh.one_set"),
        key=f"questions-{'-'.join(known)}",
    )
    return known.get(id)
