"""Taking results along: one choice of what, one button."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from bench import config
from bench.errors import BenchError
from bench.export import files as exports
from bench.export import picture
from bench.export.files import Asked, Kind
from bench.export.picture import Look
from bench.layout import plain
from bench.results import Result
from bench.text import LANGUAGES, Words
from pages.elements import figures


def block(results: Sequence[Result], t: Words) -> None:
    """A post, a report, pictures, tables or the runs themselves, made when they are asked for."""
    kinds = exports.possible(results)
    if not kinds:
        return
    with st.expander(t("export.block"), icon=":material/ios_share:"):
        kind: Kind = st.selectbox(
            t("export.what"),
            kinds,
            format_func=lambda one: t(f"export.kind.{one}"),
            key="export-kind",
        )
        st.caption(t(f"export.about.{kind}"))
        with st.container(horizontal=True):
            language = _language(kind, t)
            look = figures.looked("export", t, "blog") if kind in exports.DRAWN else Look()
        asked = Asked(
            kind=kind,
            ids=tuple(result.id for result in results),
            language=language,
            look=look,
            timezone=st.context.timezone,
        )
        _button(asked, t)


def _language(kind: Kind, t: Words) -> str:
    if kind not in exports.WORDED:
        return t.language
    return st.segmented_control(
        t("export.language"),
        list(LANGUAGES),
        default=t.language,
        required=True,
        format_func=LANGUAGES.__getitem__,
        key="export-language",
    )


def _button(asked: Asked, t: Words) -> None:
    if asked.kind in exports.DRAWN:
        try:
            picture.check_fonts()
        except BenchError as fault:
            st.warning(plain(t.fault(fault.fault)), icon=":material/font_download_off:")
            return
    st.download_button(
        t("export.make"),
        partial(exports.make, config.read(), asked),
        asked.name,
        asked.mime,
        key="export-make",
        on_click="ignore",
        type="primary",
        icon=":material/download:",
    )
