"""Every run: what is going on, what was measured, and two or more of them to compare."""

import streamlit as st

from bench import catalogue, config, links, live, progress, sentences, store
from bench.text import words
from pages.elements import lists, loading

t = words(st.session_state["language"])
settings = config.read()
with store.opened(settings.database) as db:
    runs = store.runs(db)

st.title(t("runs.title"))
if not runs:
    st.write(t("runs.empty"))
    st.page_link("launch.py", label=t("runs.first"), icon=":material/play_circle:")
    st.stop()

going = [run.id for run in runs if run.live]


@st.fragment(run_every=2 if going else None)
def going_on() -> None:
    """What happens now, read anew every two seconds while something does."""
    with store.opened(settings.database) as db:
        every = store.runs(db)
        seen = [(run, store.events(db, run.id)) for run in every if run.id in going]
    if any(not run.live for run, _ in seen):
        st.rerun()  # once: the next full run no longer polls
    for run, events in seen:
        with st.container(border=True):
            counted, before = progress.read(settings, run.id), live.before(run, every)
            lists.line(run, t)
            lists.moment(settings, run, live.now(run, events, counted, before, t), t)


if going:
    st.subheader(t("runs.now"))
    going_on()

loading.engines(settings, t)
ended = [run for run in runs if not run.live]
if ended:
    st.subheader(t("runs.before"))
    bar = st.container(horizontal=True, vertical_alignment="center")
    shown = lists.paged(ended, t)
    with store.opened(settings.database) as db:
        results = links.load(db, [run.id for run in shown], catalogue.load(), t)
    said = {result.id: sentences.outcome(result, t) for result in results}
    picked = [run.id for run in shown if lists.picked(run, said[run.id], t)]
    bar.caption(t("runs.pick_hint"))
    if bar.button(
        t("runs.compare", n=len(picked)) if picked else t("nav.compare"),
        key="compare",
        disabled=len(picked) < 2,
        type="primary",
        icon=":material/compare_arrows:",
    ):
        st.switch_page("compare.py", query_params={"run": picked})
