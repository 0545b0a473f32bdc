"""Bringing a file in: choose it, look at it, save it."""

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from bench import store
from bench.catalogue import Catalogue
from bench.config import Config
from bench.imports.keep import Choice
from bench.imports.values import Import
from bench.layout import plain
from bench.shown import incoming
from bench.shown.incoming import File
from bench.store import Run
from bench.text import Words
from pages.elements import imported

LIMIT = 20
"""Megabytes that a browser may send; a shell reads more."""


def chosen(t: Words) -> UploadedFile | None:
    """The file that a reader gives."""
    file = st.file_uploader(t("imports.file"), key="import-file", max_upload_size=LIMIT)
    if file is None:
        st.caption(t("imports.readable", limit=LIMIT))
    return file


@st.cache_resource(scope="session", max_entries=2, show_spinner=False)
def read(id: str, name: str, _file: UploadedFile) -> File:
    """What a file says; read once, however often its reader changes a choice."""
    return incoming.read(_file, name)


def looked_at(found: File, known: Catalogue, t: Words) -> Sequence[Choice]:
    """What a file says, number by number, and what its reader adds."""
    if isinstance(found, Import):
        return imported.results(found, known, t)
    imported.bundle(found, t)
    return ()


def saving(settings: Config, found: File, file: UploadedFile, t: Words) -> bool:
    """What the file is, and whether it shall be saved now: the button comes first, since what a
    file says may be long."""
    st.success(plain(incoming.what(found, file.name, t)), icon=":material/description:")
    if isinstance(found, Import):
        st.write(incoming.counted(found, t))
    with store.opened(settings.database) as db:
        new = incoming.new(db, found)
    if not new:
        st.info(t("imports.already"), icon=":material/content_copy:")
        return False
    label = t("imports.save", n=new)
    return st.button(label, key="import-save", type="primary", icon=":material/save:")


def links(found: Sequence[Run], t: Words) -> None:
    """Where the runs of a file can be seen."""
    for run in found[: imported.MOST]:
        label = plain(t("imports.open", title=run.title))
        st.page_link(
            "run.py", label=label, icon=":material/insights:", query_params={"run": run.id}
        )
    if len(found) > 1:
        ids = [run.id for run in found[:8]]
        icon = ":material/compare_arrows:"
        st.page_link("compare.py", label=t("imports.compare"), icon=icon, query_params={"run": ids})
