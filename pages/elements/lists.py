"""A run in a list, what it is doing, and what it found."""

import streamlit as st

from bench import charts, store
from bench.config import Config
from bench.kept.labels import Label
from bench.kept.shelf import PAGE
from bench.layout import plain
from bench.people import actions
from bench.results import Result
from bench.shown import views
from bench.shown.live import Now
from bench.store import Run
from bench.text import Words
from pages.elements import figures, shelf, signin, who


def line(run: Run, t: Words, said: str = "") -> None:
    """A run in a list: its name as a link, its state, and what it was."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.page_link("run.py", label=f"**{plain(run.title)}**", query_params={"run": run.id})
        state(run, t)
    st.caption(plain(views.subtitle(run, t, st.context.timezone)))
    if said:
        st.markdown(plain(said))


def picked(settings: Config, run: Run, label: Label, said: str, t: Words) -> bool:
    """A run in a list that can be ticked, with what people put on it; whether it is."""
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        name = plain(t("runs.pick", title=run.title))
        ticked = st.checkbox(name, key=f"pick-{run.id}", label_visibility="collapsed")
        with st.container(gap="xxsmall"):
            line(run, t, said)
            shelf.labels(label, t)
        shelf.menu(settings, run, label, t)
    return ticked


def moment(settings: Config, run: Run, now: Now, t: Words) -> None:
    """What a live run is doing, how far it is, and a way to stop it."""
    st.progress(now.share or 0.0, text=plain(now.sentence))
    if now.detail:
        st.caption(plain(now.detail))
    actor = who.visitor(settings)
    closed = signin.reason(actor, "cancel", t)
    if st.button(
        t("runs.cancel"),
        key=f"cancel-{run.id}",
        disabled=run.cancel or closed is not None,
        help=closed,
        icon=":material/stop_circle:",
    ):
        actions.cancel(settings, actor, run.id)
        st.rerun()


def turn(total: int, t: Words) -> None:
    """How many runs there are, and the other pages a click away."""
    if total:
        st.caption(t("shelf.found_one") if total == 1 else t("shelf.found", n=total))
    if total > PAGE:
        st.pagination(-(-total // PAGE), key="runs-page")


def state(run: Run, t: Words) -> None:
    text, colour, icon = views.badge(run, t)
    st.badge(text, color=colour, icon=icon)


def ending(run: Run, t: Words) -> None:
    """Why a run did not end well, and what to do."""
    if run.fault:
        st.error(plain(t.fault(run.fault)), icon=":material/error:")
    elif run.state in ("cancelled", "interrupted"):
        st.warning(t(f"run.stopped.{run.state}"), icon=":material/info:")
    if run.state in ("failed", "cancelled", "interrupted"):
        st.page_link("launch.py", label=t("run.again"), icon=":material/replay:")


def numbers(result: Result, t: Words) -> None:
    """The key numbers, each with its definition."""
    found = views.numbers(result, t)
    if not found:
        return
    with st.grid(len(found), min_column_width=180):
        for one in found:
            st.metric(one.label, one.value, help=one.help, border=True, height="stretch")


def requests(settings: Config, result: Result, t: Words) -> None:
    """The requests of one level of a run, drawn when a reader opens them."""
    levels = {level.concurrency: place for place, level in views.sweeps(result.levels)}
    if not levels:
        return
    opened = st.expander(t("run.requests"), icon=":material/stacked_bar_chart:", on_change="rerun")
    if not opened.open:
        return
    with opened:
        people = st.segmented_control(
            t("run.level"), list(levels), default=max(levels), required=True
        )
        with store.opened(settings.database) as db:
            samples = {n: store.samples(db, result.id, place) for n, place in levels.items()}
        figures.one(charts.requests(samples[people], result, t), t)
        figures.one(charts.spread(samples, result, t), t)


def machine(settings: Config, result: Result, t: Words) -> None:
    """Memory, power and temperature while a run went on, drawn when a reader opens them."""
    if not result.levels or result.mark:
        return
    opened = st.expander(t("run.machine"), icon=":material/monitoring:", on_change="rerun")
    if not opened.open:
        return
    with opened:
        with store.opened(settings.database) as db:
            readings = store.telemetry(db, result.id)
        figures.grid(charts.machine(readings, result, t), t)
