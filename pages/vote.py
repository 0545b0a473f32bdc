"""A blind vote: one pair of answers at a time; then what everybody's votes say."""

import streamlit as st

from bench import config, store
from bench.layout import plain
from bench.people import access
from bench.text import words
from bench.votes import ballots
from bench.web import links
from pages.elements import voting, who

t = words(st.session_state["language"])
settings = config.read()
actor = who.visitor(settings)
access.require(actor, "vote")
id = st.query_params.get("ballot", "")
with store.opened(settings.database) as db:
    ballot = ballots.load(db, id)
    if ballot:
        ballot = ballots.named(db, ballot, t)
        there, cast = ballots.offered(db, ballot), ballots.votes_of(db, id)
        asked = ballots.questions(db, ballot)

st.title(t("vote.title"))
if ballot is None:
    st.write(plain(t("vote.unknown", id=id[:40]) if id else t("vote.none")))
    st.page_link("chinese.py", label=t("nav.chinese"), icon=":material/translate:")
    st.stop()
if ballot.closed or not there:
    st.info(t("vote.closed" if ballot.closed else "vote.gone"), icon=":material/info:")
    voting.result(ballot, cast, t)
    st.stop()
token = who.voter(actor)
if token is None:
    st.info(t("vote.no_token"), icon=":material/info:")
    st.link_button(t("vote.open"), links.to_page(st.context.url, "vote", ballot=id))
    st.stop()

voter = ballots.voter(id, token)
pair = ballots.next_pair(ballot, there, asked, cast, voter)
if pair is None:
    st.success(t("vote.thanks", of=ballots.voted(cast, voter)), icon=":material/check:")
    voting.result(ballot, cast, t)
    st.stop()

st.write(t("vote.lead"))
if st.session_state.pop("vote_too_fast", False):
    st.warning(t("vote.too_fast"), icon=":material/speed:")
voting.since(ballot, pair)
voting.pair(pair, t)
if chosen := voting.choice(pair, t):
    voting.keep(settings, actor, ballot, pair, voter, chosen)
    st.rerun()
