"""Bring in results of other tools, or runs of another installation: look first, then save."""

import streamlit as st

from bench import catalogue, config, store
from bench.people import access
from bench.shown import incoming as files
from bench.text import words
from pages.elements import incoming, who

t = words(st.session_state["language"])
settings = config.read()
actor = who.visitor(settings)
access.require(actor, "import")
known = catalogue.load()

st.title(t("imports.title"))
st.write(t("imports.lead"))
file = incoming.chosen(t)
if file is None:
    st.stop()

found = incoming.read(file.file_id, file.name, file)
head = st.container()
choices = incoming.looked_at(found, known, t)
with head:
    if incoming.saving(settings, found, file, t):
        files.save(settings, actor, found, file, known, choices)
        st.success(t("imports.saved"), icon=":material/check:")
    with store.opened(settings.database) as db:
        here = store.load(db, files.before(db, found))
    incoming.links(here, t)
