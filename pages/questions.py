"""A team's own questions, for operators."""

import streamlit as st

from bench import config
from bench.people import access
from bench.text import words
from pages.elements import questioning, who

t = words(st.session_state["language"])
settings = config.read()
actor = who.visitor(settings)
access.require(actor, "edit")

st.title(t("questions.title"))
st.write(t("questions.lead"))
questioning.every(settings, actor, t)
questioning.add(settings, actor, t)
