"""Signing in and out, and why something is not open to a visitor."""

import time

import streamlit as st

from bench import store
from bench.config import Config
from bench.errors import BenchError
from bench.layout import plain
from bench.people import access, audit, passcode, signins
from bench.people.access import Action, Actor
from bench.text import Words
from pages.elements import who


def gate(actor: Actor, t: Words) -> None:
    """End here, with a way to sign in, for who may not even look."""
    if access.may(actor, "view"):
        return
    new = actor.why == "sign_in"
    st.title(t("access.sign_in_title"))
    if new:
        st.write(t("access.sign_in_lead"))
    else:
        st.warning(plain(t(f"access.why.{actor.why}")), icon=":material/lock:")
    label = t("access.sign_in" if new else "access.sign_in_other")
    if st.button(label, key="sign-in", type="primary", icon=":material/login:"):
        st.login()
    st.stop()


def corner(settings: Config, actor: Actor, t: Words) -> None:
    """Who one is, and how to become or cease to be somebody; in the sidebar."""
    if actor.who == "local":
        return
    icon = ":material/key:" if actor.role == "operator" else ":material/visibility:"
    st.badge(t(f"access.role.{actor.role}"), icon=icon, color="gray")
    if actor.why == "no_passcode":
        st.caption(plain(t("access.why.no_passcode")))
    elif actor.why == "passcode":
        _passcode(settings, t)
    elif actor.who:
        st.caption(plain(audit.name(actor.who, t)))
        if st.button(t("access.sign_out"), key="sign-out", icon=":material/logout:"):
            _leave(settings, actor)


def reason(actor: Actor, action: Action, t: Words) -> str | None:
    """Why this is not open to the actor, for a disabled button; None when it is."""
    return None if access.may(actor, action) else plain(t(f"access.why.{actor.why or 'viewer'}"))


def _passcode(settings: Config, t: Words) -> None:
    with (
        st.popover(t("access.sign_in"), icon=":material/login:"),
        st.form("passcode-form", clear_on_submit=True, border=False),
    ):
        given = st.text_input(t("access.passcode"), type="password", key="passcode")
        if not st.form_submit_button(t("access.sign_in")):
            return
        try:
            grant = passcode.sign_in(settings, given, who.address(), time.time())
        except BenchError as error:
            st.error(plain(t.fault(error.fault)), icon=":material/error:")
            return
    st.session_state["grant"] = grant
    st.rerun()


def _leave(settings: Config, actor: Actor) -> None:
    """End a sign-in everywhere, not only in this tab."""
    st.session_state.pop("grant", None)
    with store.opened(settings.database) as db, store.writing(db):
        audit.note(db, actor, "sign_out")
        if st.user.get("is_logged_in"):
            signins.end(db, st.user.to_dict(), time.time())
    if st.user.get("is_logged_in"):
        st.logout()
    else:
        st.rerun()
