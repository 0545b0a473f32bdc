"""An engine that starts, what its start gave, and engines that still run."""

from collections.abc import Sequence

import streamlit as st

from bench import store
from bench.config import Config
from bench.layout import plain
from bench.machine import machines
from bench.people import actions
from bench.running import lock, roster, tail
from bench.running.roster import Engine
from bench.shown import loadview, tables
from bench.store import Event, Run
from bench.text import Words
from pages.elements import figures, signin, who


def now(settings: Config, run: Run, events: Sequence[Event], t: Words) -> None:
    """Memory falling towards its floor, and the end of the engine's log."""
    figures.one(loadview.memory(events, settings.floor_gib, t), t)
    log(settings, run, t, expanded=True)


def log(settings: Config, run: Run, t: Words, expanded: bool = False) -> None:
    """The last lines of an engine's log; nothing where there is none."""
    if lines := tail.of(settings.logs / f"{run.id}.log"):
        with st.expander(t("run.log"), icon=":material/article:", expanded=expanded):
            st.code("\n".join(lines), language=None, wrap_lines=True, height=320)


def facts(run: Run, t: Words) -> None:
    """What the start gave."""
    if rows := loadview.facts(run, t):
        with st.expander(t("run.start"), icon=":material/rocket_launch:"):
            st.table(tables.escaped(rows), border="horizontal", hide_index=True)


def engines(settings: Config, t: Words) -> None:
    """Engines that were kept, or left by a worker that is gone, each with a way to stop it."""
    shown = _idle(settings)
    if not shown:
        return
    st.subheader(t("engines.title"))

    @st.fragment(run_every=2)
    def listed() -> None:
        found = _idle(settings)
        if [engine.run for engine in found] != [engine.run for engine in shown]:
            st.rerun()
        for engine in found:
            _engine(settings, engine, t)

    listed()


def _idle(settings: Config) -> list[Engine]:
    worked = [id for id in machines.read(settings) if not lock.is_free(machines.lock(settings, id))]
    with store.opened(settings.database) as db:
        return roster.idle(db, worked)


def _engine(settings: Config, engine: Engine, t: Words) -> None:
    actor = who.visitor(settings)
    closed = signin.reason(actor, "cancel", t)
    kind = "kept" if engine.used_by is None else "left"
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.page_link("run.py", label=f"**{plain(engine.title)}**", query_params={"run": engine.run})
        st.caption(plain(t(f"engines.{kind}", container=engine.container)))
        if st.button(
            t("engines.stopping" if engine.stop else "engines.stop"),
            key=f"stop-{engine.run}",
            disabled=engine.stop or closed is not None,
            help=closed,
            icon=":material/stop_circle:",
        ):
            actions.stop_engine(settings, actor, engine)
            st.rerun()
