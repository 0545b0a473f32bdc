"""Kept comparisons: the title above one, the form that keeps it, the list of all."""

from collections.abc import Sequence

import streamlit as st

from bench import store
from bench.config import Config
from bench.errors import BenchError
from bench.kept import comparisons
from bench.kept.comparisons import LONGEST_NOTES, LONGEST_TITLE, Comparison
from bench.layout import plain
from bench.people import access
from bench.people.access import Actor
from bench.shown import views
from bench.shown.view import View
from bench.text import Words
from bench.web import links
from pages.elements import said, who


def heading(settings: Config, kept: Comparison, t: Words) -> None:
    """Title and notes of a kept comparison, and a way to change them for who may."""
    st.title(plain(kept.title))
    author = t("kept.here") if kept.author == "local" else kept.author
    at = views.when(kept.changed, st.context.timezone)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(plain(t("kept.by", who=author, when=at)), width="content")
        actor = who.visitor(settings)
        if comparisons.may_change(actor, kept):
            with st.popover(t("kept.change"), icon=":material/edit:", type="tertiary"):
                try:
                    _change(settings, actor, kept, t)
                except BenchError as fault:
                    st.error(plain(t.fault(fault.fault)))
    if kept.notes:
        st.markdown(plain(kept.notes))


def form(settings: Config, results: Sequence[str], view: View, t: Words) -> None:
    """Keep what is shown under a title."""
    actor = who.visitor(settings)
    if not (actor.who and access.may(actor, "compare")):
        return
    with st.popover(t("kept.keep"), icon=":material/bookmark_add:"), st.form("keep", border=False):
        st.caption(t("kept.hint"))
        title = st.text_input(t("kept.title"), max_chars=LONGEST_TITLE)
        notes = st.text_area(t("kept.notes"), max_chars=LONGEST_NOTES)
        if st.form_submit_button(t("kept.save"), type="primary"):
            try:
                made = comparisons.keep(settings, actor, title, notes, results, view)
            except BenchError as fault:
                st.error(plain(t.fault(fault.fault)))
            else:
                st.switch_page("compare.py", query_params={"c": made})


def every(settings: Config, t: Words) -> None:
    """All kept comparisons, each a link; nothing where there is none."""
    with store.opened(settings.database) as db:
        found = comparisons.every(db)
    if not found:
        return
    with st.expander(t("kept.list"), icon=":material/bookmarks:"):
        for one in found:
            st.page_link("compare.py", label=plain(one.title), query_params={"c": one.id})
            st.caption(views.when(one.changed, st.context.timezone))


def share(kept: Comparison, t: Words) -> None:
    """The link of a kept comparison."""
    said.link(links.to_page(st.context.url, "compare", c=kept.id), t)


def _change(settings: Config, actor: Actor, kept: Comparison, t: Words) -> None:
    with st.form("change", border=False):
        title = st.text_input(t("kept.title"), kept.title, max_chars=LONGEST_TITLE)
        notes = st.text_area(t("kept.notes"), kept.notes, max_chars=LONGEST_NOTES)
        if st.form_submit_button(t("kept.save"), type="primary"):
            comparisons.change(settings, actor, kept, title, notes)
            st.rerun()
    if st.button(t("kept.delete"), icon=":material/delete:", type="tertiary"):
        comparisons.delete(settings, actor, kept)
        st.switch_page("compare.py")
