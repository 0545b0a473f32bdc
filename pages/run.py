"""One run: what it found in a sentence, then its numbers, charts, answers and settings."""

import streamlit as st

from bench import catalogue, charts, config, store
from bench.charts import limits
from bench.kept import labels
from bench.layout import plain
from bench.running import progress
from bench.shown import live, tables, views
from bench.store import Run
from bench.text import words
from bench.web import links
from pages.elements import answers, export, figures, imported, lists, loading, said, shelf

t = words(st.session_state["language"])
settings = config.read()
wanted = st.query_params.get("run", "")
with store.opened(settings.database) as db:
    found = [result for result in links.load(db, [wanted], catalogue.load(), t) if result.run]
    events = store.events(db, wanted)
    label = labels.of(db, [wanted]).get(wanted, labels.PLAIN)

run = found[0].run if found else None
if run is None:
    st.title(t("nav.run"))
    if not shelf.deleted(settings, wanted, t):
        st.write(plain(t("run.unknown", id=wanted[:40]) if wanted else t("run.none")))
    st.page_link("runs.py", label=t("run.all"), icon=":material/list_alt:")
    st.stop()
result = found[0]

st.title(plain(run.title))
with st.container(horizontal=True, vertical_alignment="center"):
    lists.state(run, t)
    st.caption(plain(views.subtitle(run, t, st.context.timezone)), width="content")


@st.fragment(run_every=2 if run.live else None)
def going_on(run: Run = run) -> None:
    """What happens now; a new level or state shows the whole page anew."""
    with store.opened(settings.database) as db:
        every = store.live(db)
        now = next(iter(store.load(db, [run.id])), run)
        happened = store.events(db, run.id)
        measured = len(store.levels(db, run.id))
    if now.state != run.state or measured != len(result.levels):
        st.rerun()
    moment = live.now(now, happened, progress.read(settings, run.id), live.before(now, every), t)
    lists.moment(settings, now, moment, t)
    if now.state == "loading":
        loading.now(settings, now, happened, t)


if run.live:
    going_on()
lists.ending(run, t)
said.sources([result], t)
imported.elsewhere(run, t)
said.headline(result, t)
lists.numbers(result, t)
with st.container(horizontal=True):
    said.share([run.id], t)
    shelf.menu(settings, run, label, t)
shelf.labels(label, t)

for heading, drawn in charts.of_run(result, t, limits.of([result], catalogue.load())).items():
    st.subheader(t(heading))
    figures.grid(drawn, t)
if result.answers:
    st.subheader(t("run.answers"))
    for answer in result.answers:
        with st.expander(plain(answer.question)):
            answers.one(answer, t)
lists.requests(settings, result, t)
lists.machine(settings, result, t)
shelf.trend(settings, result, t)
loading.facts(run, t)
with st.expander(t("run.repeat"), icon=":material/terminal:"):
    st.code(tables.command(run) or t(tables.no_command(run)), language="bash", wrap_lines=True)
    st.table(tables.escaped(tables.settings(run, t)), border="horizontal", hide_index=True)
with st.expander(t("run.timeline"), icon=":material/timeline:"):
    rows = tables.timeline(events, t, st.context.timezone)
    st.table(tables.escaped(rows), border="horizontal", hide_index=True)
if run.state != "loading":
    loading.log(settings, run, t)
imported.grey(result.mark, t)
if result.levels:
    with st.expander(t("run.numbers_table"), icon=":material/table_chart:"):
        figures.table([result], t)
export.block([result], t)
