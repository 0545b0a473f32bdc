"""Every run: what is going on, what was measured, and two or more of them to compare."""

import streamlit as st

from bench import catalogue, config, store
from bench.kept import labels
from bench.kept import shelf as asked_of
from bench.running import progress
from bench.shown import live, sentences
from bench.text import words
from bench.web import links
from pages.elements import lists, loading, shelf

t = words(st.session_state["language"])
settings = config.read()
asked = asked_of.wanted(st.query_params.to_dict())
page = st.session_state.get("runs-page") or 1
with store.opened(settings.database) as db:
    going = store.live(db)
    found = asked_of.listed(db, asked, page)
    marks = labels.of(db, [run.id for run in found.runs])
    results = links.load(db, [run.id for run in found.runs], catalogue.load(), t)

st.title(t("runs.title"))
shelf.undo(settings, t)
if not (going or found.total or asked != asked_of.Wanted()):
    st.write(t("runs.empty"))
    st.page_link("launch.py", label=t("runs.first"), icon=":material/play_circle:")
    st.stop()


@st.fragment(run_every=2 if going else None)
def going_on() -> None:
    """What happens now, read anew every two seconds while something does."""
    with store.opened(settings.database) as db:
        now = store.live(db)
        seen = [(run, store.events(db, run.id)) for run in now]
    if len(now) < len(going):
        st.rerun()  # once: the next full run no longer polls
    for run, events in seen:
        with st.container(border=True):
            counted, before = progress.read(settings, run.id), live.before(run, now)
            lists.line(run, t)
            lists.moment(settings, run, live.now(run, events, counted, before, t), t)


if going:
    st.subheader(t("runs.now"))
    going_on()

loading.engines(settings, t)
st.subheader(t("runs.before"))
shelf.filters(settings, asked, t)
bar = st.container(horizontal=True, vertical_alignment="center")
said = {result.id: sentences.outcome(result, t) for result in results}
picked = [
    run.id
    for run in found.runs
    if lists.picked(settings, run, marks.get(run.id, labels.PLAIN), said.get(run.id, ""), t)
]
lists.turn(found.total, t)
if not found.runs and asked != asked_of.Wanted():
    st.write(t("shelf.nothing"))
bar.caption(t("runs.pick_hint"))
if bar.button(
    t("runs.compare", n=len(picked)) if picked else t("nav.compare"),
    key="compare",
    disabled=len(picked) < 2,
    type="primary",
    icon=":material/compare_arrows:",
):
    st.switch_page("compare.py", query_params={"run": picked})
