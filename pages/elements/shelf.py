"""The list of runs: search and filters, what can be done with a run, and how it did over time."""

from collections.abc import Mapping

import streamlit as st

from bench import catalogue, store
from bench.config import Config
from bench.errors import BenchError
from bench.kept import labels as people_say
from bench.kept import shelf as asked_of
from bench.kept import trend as trend_of
from bench.kept.labels import LONGEST_NOTE, LONGEST_TITLE, Label
from bench.kept.shelf import COLUMNS, SORTS, Wanted
from bench.layout import plain
from bench.numbers import baseline
from bench.people import access, actions
from bench.people.access import Action
from bench.results import Result
from bench.shown import sentences, tables
from bench.store import Run
from bench.text import Words
from bench.web import links
from pages.elements import figures, who

NEEDED: Mapping[str, Action] = {
    "star": "edit",
    "unstar": "edit",
    "describe": "edit",
    "archive": "edit",
    "unarchive": "edit",
    "again": "launch",
    "delete": "delete",
}
"""What a menu offers, and what one must be allowed for it."""


def filters(settings: Config, asked: Wanted, t: Words) -> None:
    """A search box, a button with everything else, and the order; all of it in the address."""
    with store.opened(settings.database) as db:
        known, tags = asked_of.options(db), people_say.tags(db)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            t("shelf.search"),
            asked.text,
            key=f"shelf-text-{asked.text}",
            placeholder=t("shelf.search_hint"),
            icon=":material/search:",
            on_change=_choose,
            args=("text", f"shelf-text-{asked.text}"),
        )
        label = t("shelf.filters", n=asked.narrowed) if asked.narrowed else t("shelf.filter")
        with st.popover(label, icon=":material/filter_list:"):
            for column in COLUMNS:
                if len(known[column]) > 1 or getattr(asked, column):
                    _one_of(column, _named(column, known[column], t), asked, t)
            if tags:
                _one_of("tag", {tag: tag for tag in tags}, asked, t)
            for name in ("since", "until"):
                _day(name, asked, t)
            for name in ("starred", "archived"):
                _only(name, asked, t)
            if asked.narrowed:
                st.button(t("shelf.all"), on_click=_everything, icon=":material/filter_list_off:")
        _one_of("sort", {name: t(f"shelf.sort.{name}") for name in SORTS}, asked, t, empty=False)


def _named(column: str, values: Mapping[str, str], t: Words) -> dict[str, str]:
    keys = {"state": "states", "source": "shelf.source"}
    if column not in keys:
        return dict(values)
    return {value: t(f"{keys[column]}.{value}") for value in values}


def _one_of(
    name: str, options: Mapping[str, str], asked: Wanted, t: Words, *, empty: bool = True
) -> None:
    chosen = getattr(asked, name)
    values = (["", *options] if empty else list(options)) + [chosen] * (chosen not in options)
    values = list(dict.fromkeys(values))
    key = f"shelf-{name}-{chosen}"
    st.selectbox(
        t(f"shelf.by.{name}"),
        values,
        index=values.index(chosen),
        format_func=lambda value: options.get(value, value) or t("shelf.any"),
        key=key,
        on_change=_choose,
        args=(name, key),
        width=200 if name == "sort" else "stretch",
    )


def _day(name: str, asked: Wanted, t: Words) -> None:
    chosen = getattr(asked, name)
    key = f"shelf-{name}-{chosen}"
    st.date_input(
        t(f"shelf.by.{name}"),
        value=asked_of.day(chosen),
        key=key,
        format="YYYY-MM-DD",
        on_change=_choose,
        args=(name, key),
    )


def _only(name: str, asked: Wanted, t: Words) -> None:
    key = f"shelf-{name}-{getattr(asked, name)}"
    st.toggle(
        t(f"shelf.by.{name}"),
        bool(getattr(asked, name)),
        key=key,
        on_change=_choose,
        args=(name, key),
    )


def _choose(name: str, key: str) -> None:
    """Into the address, so that a link shows the same list."""
    value = st.session_state[key]
    text = ("1" if value else "") if isinstance(value, bool) else str(value or "")
    if text and text != getattr(Wanted(), name):
        st.query_params[name] = text
    else:
        st.query_params.pop(name, None)
    st.session_state.pop("runs-page", None)


def _everything() -> None:
    for name in Wanted.__struct_fields__:
        if name not in ("text", "sort"):
            st.query_params.pop(name, None)


def menu(settings: Config, run: Run, label: Label, t: Words) -> None:
    """What can be done with a run; nothing for who may do none of it."""
    actor = who.visitor(settings)
    open_to = [name for name in _offered(run, label) if access.may(actor, NEEDED[name])]
    if not open_to:
        return
    chosen = st.menu_button(
        t("shelf.menu"),
        open_to,
        format_func=lambda name: t(f"shelf.do.{name}"),
        key=f"menu-{run.id}",
        type="tertiary",
        icon=":material/more_horiz:",
    )
    if chosen == "describe":
        _describe(settings, run, label, t)
    elif chosen:
        _do(settings, run, chosen)


def _offered(run: Run, label: Label) -> list[str]:
    found = ["unstar" if label.star else "star", "describe"]
    if run.live:
        return found
    again = ["again"] if run.source == "measured" else []
    return [*found, *again, "unarchive" if label.archived else "archive", "delete"]


def _do(settings: Config, run: Run, chosen: str) -> None:
    actor = who.visitor(settings)
    if chosen == "again":
        new = actions.again(settings, actor, run.id)
        st.switch_page("run.py", query_params={"run": new})
    with actions.acting(
        settings, actor, NEEDED[chosen], run.id, what=chosen, title=run.title
    ) as db:
        match chosen:
            case "star" | "unstar":
                people_say.star(db, run.id, chosen == "star")
            case "archive" | "unarchive":
                people_say.archive(db, run.id, chosen == "archive")
            case "delete":
                people_say.delete(db, run.id)
    if chosen == "delete":
        st.session_state["deleted"] = (run.id, run.title)
        st.switch_page("runs.py")
    st.rerun()


def _describe(settings: Config, run: Run, label: Label, t: Words) -> None:
    """A dialog for a run's name, tags and note."""

    @st.dialog(t("shelf.do.describe"))
    def dialog() -> None:
        with st.form("describe", border=False):
            title = st.text_input(t("shelf.name"), run.title, max_chars=LONGEST_TITLE)
            tags = st.text_input(t("shelf.tags"), ", ".join(label.tags), help=t("shelf.tags_help"))
            note = st.text_area(t("shelf.note"), label.note, max_chars=LONGEST_NOTE)
            if not st.form_submit_button(t("shelf.save"), type="primary"):
                return
        names = tags.replace("，", ",").replace("、", ",").split(",")
        try:
            with actions.acting(settings, who.visitor(settings), "edit", run.id, title=title) as db:
                people_say.describe(db, run.id, title, note, names, (run.title, label))
        except BenchError as fault:
            st.error(plain(t.fault(fault.fault)))
        else:
            st.rerun()

    dialog()


def labels(label: Label, t: Words) -> None:
    """Star, tags and note of a run."""
    if label.star or label.tags or label.archived:
        with st.container(horizontal=True, gap="small"):
            if label.star:
                st.badge(t("shelf.starred"), icon=":material/star:", color="orange")
            if label.archived:
                st.badge(t("shelf.archived"), icon=":material/archive:", color="gray")
            for tag in label.tags:
                st.badge(plain(tag), color="blue")
    if label.note:
        st.caption(plain(label.note))


def undo(settings: Config, t: Words) -> None:
    """What was deleted last, with a way to bring it back."""
    if last := st.session_state.get("deleted"):
        run, title = last
        sentence = t("shelf.deleted", title=title, days=people_say.KEPT)
        _restore(settings, run, title, sentence, t)


def deleted(settings: Config, run: str, t: Words) -> bool:
    """Say of a deleted run that it was deleted; False for any other."""
    with store.opened(settings.database) as db:
        label = people_say.of(db, [run]).get(run)
    if label is None or label.deleted is None:
        return False
    _restore(settings, run, "", t("shelf.was_deleted", days=people_say.KEPT), t)
    return True


def _restore(settings: Config, run: str, title: str, sentence: str, t: Words) -> None:
    actor = who.visitor(settings)
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(plain(sentence))
        if access.may(actor, "delete") and st.button(t("shelf.undo"), icon=":material/undo:"):
            with actions.acting(settings, actor, "delete", run, what="restore", title=title) as db:
                people_say.restore(db, run)
            st.session_state.pop("deleted", None)
            st.rerun()


def trend(settings: Config, result: Result, t: Words) -> None:
    """The same measured before, drawn when a reader opens it: over time, and against the last."""
    run = result.run
    if run is None or run.source != "measured" or run.state != "done":
        return
    with store.opened(settings.database) as db:
        found = trend_of.series(db, run)
    if len(found) < 2:
        return
    opened = st.expander(t("trend.heading"), icon=":material/trending_up:", on_change="rerun")
    if not opened.open:
        return
    with opened:
        figures.one(trend_of.drawn(found, result, t), t)
        before = trend_of.before(found, run.id)
        if before is None:
            return
        with store.opened(settings.database) as db:
            last = links.load(db, [before, run.id], catalogue.load(), t)
        values = [sentences.measured_of(one) for one in last]
        if rows := tables.against(baseline.against(values[0], values[1:]), t):
            st.markdown(t("trend.before"))
            st.dataframe(rows, height="content", hide_index=True, placeholder="–")
        st.page_link(
            "compare.py",
            label=t("trend.compare"),
            icon=":material/compare_arrows:",
            query_params={"run": [before, run.id]},
        )
