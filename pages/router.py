"""Language, navigation, and the page that was asked for."""

from pathlib import Path

import streamlit as st

from bench import config
from bench.errors import BenchError
from bench.layout import plain
from bench.text import LANGUAGES, preferred, words
from pages.elements import signin, who

PAGES = {
    "launch": (":material/play_circle:", "visible"),
    "runs": (":material/list_alt:", "visible"),
    "run": (":material/insights:", "hidden"),
    "compare": (":material/compare_arrows:", "visible"),
    "chinese": (":material/translate:", "visible"),
    "imports": (":material/upload_file:", "operators"),
    "vote": (":material/how_to_vote:", "hidden"),
    "questions": (":material/quiz:", "operators"),
    "audit": (":material/history:", "operators"),
}

st.session_state.setdefault("language", preferred(st.context.locale))
t = words(st.session_state["language"])
settings = config.read()
try:
    actor = who.visitor(settings)
except BenchError as fault:
    st.error(plain(t.fault(fault.fault)), icon=":material/error:")
    st.stop()
shown = ("visible", "operators") if actor.role == "operator" else ("visible",)

pages = {
    name: st.Page(
        f"{name}.py",
        title=t(f"nav.{name}"),
        icon=icon,
        default=name == "launch",
        visibility="visible" if visibility in shown else "hidden",
        help=t(f"nav.{name}_help"),
    )
    for name, (icon, visibility) in PAGES.items()
}
page = st.navigation(
    list(pages.values()), position="hidden" if actor.role == "nobody" else "sidebar"
)
st.set_page_config(
    page_title=f"{page.title} · {t('app.title')}",
    page_icon=str(Path(__file__).with_name("icon.svg")),
    layout="centered" if page in (pages["launch"], pages["runs"]) else "wide",
)
st.logo(Path(__file__).with_name("logo.svg"), size="large")
with st.sidebar:
    st.segmented_control(
        t("app.language"),
        list(LANGUAGES),
        format_func=LANGUAGES.__getitem__,
        required=True,
        key="language",
        persist_state="session",
    )
    signin.corner(settings, actor, t)
    st.caption(t("app.about"))
if page != pages["launch"]:
    st.session_state.pop("launch_token", None)  # the next form is a new run

try:
    signin.gate(actor, t)
    page.run()
except BenchError as fault:
    st.error(plain(t.fault(fault.fault)), icon=":material/error:")
