"""Results beside each other: a sentence a question, then one chart, then everything."""

import streamlit as st

from bench import catalogue, config, store
from bench.kept import comparisons
from bench.layout import plain
from bench.shown import view
from bench.text import words
from bench.web import links
from pages.elements import answers, compared, export, figures, forms, kept, said, writing

t = words(st.session_state["language"])
settings = config.read()
known = catalogue.load()
asked, wanted = st.query_params.get("c", ""), st.query_params.get_all("run")
with store.opened(settings.database) as db:
    one = comparisons.load(db, asked) if asked else None
    wanted = list(dict.fromkeys(wanted or (one.results if one else ()) or links.newest(db)))
    results = links.load(db, wanted[: comparisons.MOST], known, t)
    labels = links.selectable(db, known, t, st.context.timezone, results)
ids = [result.id for result in results]
seen = view.read(st.query_params.to_dict(), one.view if one else view.USUAL).of(ids)

if one:
    kept.heading(settings, one, t)
else:
    st.title(t("compare.title"))
if asked and not one:
    st.warning(t("kept.unknown"))
forms.chosen(ids, labels, t)
if unknown := [id[:40] for id in wanted[: comparisons.MOST] if id not in ids]:
    st.warning(plain(t("compare.unknown", ids=", ".join(unknown))))
if len(wanted) > comparisons.MOST:
    st.warning(t("compare.too_many", most=comparisons.MOST))
if not st.query_params:
    kept.every(settings, t)
if len(results) < 2:
    st.write(t("compare.one" if results else "compare.empty"))
    st.page_link("launch.py", label=t("nav.launch"), icon=":material/play_circle:")
    st.stop()

said.verdict(results, t)
writing.verdict(settings, results, t)
said.sources(results, t)
with st.container(horizontal=True):
    if one:
        kept.share(one, t)
    else:
        said.share(ids, t, **seen.query())
        kept.form(settings, ids, seen, t)

compared.drawn(results, seen, known, t)
compared.against(results, seen, t)
compared.settings(results, t)
with st.expander(t("compare.table"), icon=":material/table_chart:"):
    figures.table(results, t)
export.block(results, t)
if any(result.answers for result in results):
    st.subheader(t("compare.answers"))
    answers.side_by_side(results, t)
    st.page_link(
        "chinese.py",
        label=t("compare.answers_more"),
        icon=":material/translate:",
        query_params={"run": ids},
    )
