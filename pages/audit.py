"""Who did what and when, for operators."""

import streamlit as st

from bench import config, store
from bench.people import access, audit
from bench.text import words
from pages.elements import who

t = words(st.session_state["language"])
settings = config.read()
access.require(who.visitor(settings), "audit")
with store.opened(settings.database) as db:
    entries = audit.entries(db)

st.title(t("audit.title"))
if not entries:
    st.write(t("audit.empty"))
    st.stop()
rows = audit.rows(entries, t, st.context.timezone)
st.dataframe(rows, height="content", hide_index=True, alt=t("audit.title"))
