"""Choose a model, an engine and a workload; see what will happen; start."""

from uuid import uuid4

import streamlit as st
from msgspec.structs import replace

from bench import available, catalogue, config, planning, store
from bench.errors import BenchError
from bench.layout import plain
from bench.people import access, actions
from bench.running import preparing, roster
from bench.shown import offers, remarks
from bench.text import words
from pages.elements import forms, questioning, signin, starting, who

t = words(st.session_state["language"])
settings = config.read()
known = catalogue.load()
actor = who.visitor(settings)
with store.opened(settings.database) as db:
    runs = store.runs(db, most=100)

st.title(t("launch.title"))
st.write(t("launch.lead"))
if any(run.live for run in runs):
    st.info(t("launch.busy"), icon=":material/schedule:")

try:
    machine = starting.machine(settings, t)
    choices = available.availability(known, settings, machine)
    model = forms.choice(t("launch.model"), offers.models(known, choices, t), "model")
    if model.id == offers.ENDPOINT:
        access.require(actor, "launch")  # a server is asked, with its key, as soon as it is named
    asked = forms.asked(known, choices, model.id, t)
    workload = forms.choice(t("launch.workload"), offers.workloads(known, model.id, t), "workload")
    own = questioning.chosen(settings, t)
    plan = offers.plan(known, settings, machine, workload.id, asked)
    plan = planning.asking(plan, own.prompts) if own else plan
    judged = preparing.check_fit(settings, plan)
except BenchError as fault:
    st.warning(f"**{t('launch.missing')}** – {plain(t.fault(fault.fault))}", icon=":material/info:")
    starting.button(t, disabled=True)
    st.stop()

starting.happens(plan, runs, t)
with store.opened(settings.database) as db:
    kept = roster.kept(db, plan.host)
starting.remarks(remarks.of(plan, kept, offers.shared(asked)), t)
starting.command(plan, t)

tight = forms.fit(judged, t)
starting.calculation(judged, t)
fetch = starting.image(settings, plan, t)
keep = starting.keep(plan, t)
if closed := signin.reason(actor, "launch", t):
    st.info(closed, icon=":material/lock:")
token = st.session_state.setdefault("launch_token", uuid4().hex)  # a second click is the same run
if starting.button(t, disabled=None in (tight, fetch) or closed is not None):
    plan = replace(plan, override_tight=tight, fetch_image=fetch, keep_running=keep)
    started = actions.launch(settings, actor, plan, token)
    st.switch_page("run.py", query_params={"run": started})
