"""What results say in sentences, where they come from, and the link that shares them."""

from collections.abc import Sequence

import streamlit as st

from bench import catalogue
from bench.layout import plain
from bench.results import Result
from bench.shown import sentences, views
from bench.text import Words
from bench.web import links


def headline(result: Result, t: Words) -> None:
    """What a run found, in a sentence, and what that holds for."""
    if sentence := sentences.headline(result, t):
        st.markdown(f"### {plain(sentence)}")
        with st.expander(t("run.why"), icon=":material/help:", type="compact"):
            limit = sentences.memory_limit(result, catalogue.load(), t)
            for reason in [*sentences.reasons(result, t), limit, *sentences.repeated(result, t)]:
                st.markdown(plain(reason))
    for warning in sentences.warnings(result, t):
        st.caption(plain(warning))


def verdict(results: Sequence[Result], t: Words) -> None:
    """Results against each other: a sentence a question."""
    for sentence in sentences.compared(results, t):
        st.markdown(f"#### {plain(sentence)}", anchors=False)


def sources(results: Sequence[Result], t: Words) -> None:
    """Mark what was not measured here."""
    for result in results:
        if one := result.published:
            st.badge(t("compare.published"), color="violet", icon=":material/menu_book:")
            fields = {"author": one.author, "date": one.date, "source": one.source}
            note = t(
                "compare.published_note",
                label=result.label,
                workload=one.workload[t.language],
                **fields,
            )
            st.caption(plain(note))
        if mark := result.mark:
            st.badge(t("imports.badge", tool=mark.name), color="violet", icon=":material/upload:")
            st.caption(plain(views.imported(result, mark, t)))


def share(ids: Sequence[str], t: Words, **query: str) -> None:
    """The link to what is shown."""
    link(links.link(st.context.url, ids, **query), t)


def link(address: str, t: Words) -> None:
    """A link with a button that copies it, and as a QR code where others can open it."""
    with st.popover(t("share.share"), icon=":material/share:"):
        st.caption(t("share.hint"))
        st.code(address, language=None, wrap_lines=True)
        if links.only_here(st.context.url):
            st.caption(t("share.only_here"))
        else:
            st.image(links.qr(address), caption=t("share.qr"), width=200)
