"""Results beside each other: a sentence first, then one chart, then everything."""

import streamlit as st

from bench import catalogue, charts, config, links, store
from bench.layout import plain
from bench.text import words
from pages.elements import answers, export, figures, forms, said, writing

t = words(st.session_state["language"])
settings = config.read()
known = catalogue.load()
with store.opened(settings.database) as db:
    wanted = st.query_params.get_all("run") or links.newest(db)
    results = links.load(db, wanted, known, t)
    labels = links.selectable(db, known, t, st.context.timezone)

st.title(t("compare.title"))
ids = [result.id for result in results]
forms.chosen(ids, labels, t)
if unknown := [id[:40] for id in wanted if id not in ids]:
    st.warning(plain(t("compare.unknown", ids=", ".join(unknown))))
if len(results) < 2:
    st.write(t("compare.one" if results else "compare.empty"))
    st.page_link("launch.py", label=t("nav.launch"), icon=":material/play_circle:")
    st.stop()

said.verdict(results, t)
said.sources(results, t)
said.share(ids, t)

first, *others = charts.of_comparison(results, t)
figures.one(first, t)
figures.grid(others, t)
with st.expander(t("compare.table"), icon=":material/table_chart:", expanded=True):
    figures.table(results, t)
export.block(results, t)
writing.verdict(settings, results, t)
if any(result.answers for result in results):
    st.subheader(t("compare.answers"))
    answers.side_by_side(results, t)
    st.page_link(
        "chinese.py",
        label=t("compare.answers_more"),
        icon=":material/translate:",
        query_params={"run": ids},
    )
