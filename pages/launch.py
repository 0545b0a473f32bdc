"""Choose a model, an engine and a workload; see what will happen; start."""

from uuid import uuid4

import streamlit as st
from msgspec.structs import replace

from bench import access, actions, catalogue, config, offers, planning, preparing, store
from bench.errors import BenchError
from bench.layout import plain
from bench.text import words
from pages.elements import forms, signin, who

t = words(st.session_state["language"])
settings = config.read()
known = catalogue.load()
actor = who.visitor(settings)
choices = planning.availability(known, settings)
with store.opened(settings.database) as db:
    runs = store.runs(db)

st.title(t("launch.title"))
st.write(t("launch.lead"))
if any(run.live for run in runs):
    st.info(t("launch.busy"), icon=":material/schedule:")

models = offers.models(known, choices, t)
model = forms.choice(t("launch.model"), models, "model")
if model.id == offers.ENDPOINT:
    access.require(actor, "launch")  # a server is asked, with its key, as soon as it is named
    asked = forms.server(t)
else:
    engines = offers.engines(known, choices, model.id, t)
    engine = forms.choice(t("launch.engine"), engines, "engine")
    artifacts = offers.artifacts(known, choices, model.id, engine.id)
    asked = forms.recipe(model.id, engine.id, artifacts, t)
workload = forms.choice(t("launch.workload"), offers.workloads(known, model.id, t), "workload")

try:
    plan = planning.plan_for(known, settings, workload=workload.id, **asked)
    judged = preparing.check_fit(settings, plan)
except BenchError as fault:
    st.warning(f"**{t('launch.missing')}** – {plain(t.fault(fault.fault))}", icon=":material/info:")
    st.button(
        t("launch.start"), type="primary", icon=":material/play_arrow:", disabled=True, key="start"
    )
    st.stop()

st.subheader(t("launch.happens"))
for number, sentence in enumerate(offers.happens(plan, t), 1):
    st.markdown(f"{number}. {plain(sentence)}")
st.caption(offers.how_long(plan, runs, t) + t("launch.space") + t("launch.close"))
with st.expander(t("launch.command"), icon=":material/terminal:"):
    st.code(offers.command(plan), language="bash", wrap_lines=True)

tight = forms.fit(judged, t)
plan = replace(plan, override_tight=bool(tight))
if closed := signin.reason(actor, "launch", t):
    st.info(closed, icon=":material/lock:")
token = st.session_state.setdefault("launch_token", uuid4().hex)  # a second click is the same run
if st.button(
    t("launch.start"),
    type="primary",
    icon=":material/play_arrow:",
    key="start",
    disabled=tight is None or closed is not None,
):
    started = actions.launch(settings, actor, plan, token)
    st.switch_page("run.py", query_params={"run": started})
