"""The answers to the prompts in Traditional Chinese side by side, with what is not Taiwan's."""

import streamlit as st

from bench import catalogue, config, store
from bench.layout import plain
from bench.shown import writing, written
from bench.text import words
from bench.web import links
from pages.elements import answers, forms, reading, said, voting, who

t = words(st.session_state["language"])
settings = config.read()
actor = who.visitor(settings)
known = catalogue.load()
with store.opened(settings.database) as db:
    wanted = st.query_params.get_all("run") or links.newest(db)
    results = [result for result in links.load(db, wanted, known, t) if result.run]
    labels = links.selectable(db, known, t, st.context.timezone, results)

st.title(t("zh.title"))
st.write(t("zh.lead"))
ids = [result.id for result in results]
forms.chosen(ids, {id: name for id, name in labels.items() if id not in known.published}, t)
if unknown := [id[:40] for id in wanted if id not in ids]:
    st.warning(plain(t("compare.unknown", ids=", ".join(unknown))))
sets = writing.prompt_sets(results)
if not sets:
    st.write(t("zh.empty"))
    st.page_link("launch.py", label=t("nav.launch"), icon=":material/play_circle:")
    st.stop()

shown = reading.prompt_set(sets, t)
results = [result for result in results if result.answers]
read = {result.id: writing.readings(result) for result in results}
figures = {result.label: writing.of(read[result.id], shown) for result in results}
answers.able({label: found.literacy for label, found in figures.items()}, t)
with st.container(horizontal=True):
    said.share(ids, t)
    voting.make(settings, actor, results, shown, t)
if "prompt" not in st.query_params:
    voting.results(settings, actor, ids, t)
    reading.summary(figures, t)
st.caption(t("zh.how_read"))
reading.questions(written.questions(read, shown), results, figures, t)
