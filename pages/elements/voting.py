"""Blind votes: two answers without names, the choice, and what all votes say."""

import time
from collections.abc import Mapping, Sequence
from typing import get_args

import streamlit as st
from msgspec.structs import replace

from bench import config, store
from bench.config import Config
from bench.errors import BenchError
from bench.layout import plain
from bench.people import actions
from bench.people.access import Actor
from bench.results import Result
from bench.shown import annotated, tables, written
from bench.shown.views import when
from bench.text import Words
from bench.votes import ballots, opinion, opinions, tally
from bench.votes.ballots import Ballot, Entrant, Pair
from bench.votes.cast import Choice, Vote, marks
from bench.web import links
from pages.elements import answers, signin

ICONS: Mapping[Choice, str] = {
    "left": ":material/counter_1:",
    "right": ":material/counter_2:",
    "tie": ":material/equal:",
    "both_bad": ":material/thumb_down:",
}


def pair(one: Pair, t: Words) -> None:
    """The question and its two answers. Nothing here tells whose they are: no name, no time, and
    no id, in the markup neither."""
    st.progress((one.number - 1) / one.of, t("vote.progress", number=one.number, of=one.of))
    answers.question(one.question)
    sides = zip(st.columns(2, gap="medium", border=True), ("left", "right"), strict=True)
    st.html(annotated.STYLE)
    for column, side in sides:
        with column:
            st.markdown(f"**{t(f'vote.side.{side}')}**")
            text = one.left_text if side == "left" else one.right_text
            if text:
                st.html(annotated.html(text, (), side, t))
            else:
                st.caption(t("zh.empty_answer"))


def choice(one: Pair, t: Words) -> tuple[Choice, str] | None:
    """What the voter chose, and why, once they did."""
    reason = st.text_input(
        t("vote.reason"), max_chars=ballots.LONGEST_REASON, key=f"reason-{one.number}"
    )
    chosen: Choice | None = None
    with st.container(horizontal=True):
        for key, name in enumerate(get_args(Choice), 1):
            if st.button(
                t(f"vote.choice.{name}"),
                icon=ICONS[name],
                shortcut=str(key),
                key=f"{name}-{one.number}",
            ):
                chosen = name
    st.caption(t("vote.keys"))
    return None if chosen is None else (chosen, reason or "")


def since(ballot: Ballot, one: Pair) -> float:
    """Seconds since this browser's page showed this pair for the first time."""
    shown: dict[tuple[str, str, str], float] = st.session_state.setdefault("votes_shown", {})
    key = (ballot.id, one.prompt, "".join(sorted((one.left, one.right))))
    return time.monotonic() - shown.setdefault(key, time.monotonic())


def keep(
    settings: Config,
    actor: Actor,
    ballot: Ballot,
    one: Pair,
    voter: str,
    chosen: tuple[Choice, str],
) -> None:
    """Store the vote; one that does not count is told to its voter on the next page. A vote is
    secret: the log says that there was one, not whose."""
    seconds, somebody = since(ballot, one), replace(actor, who="")
    with actions.acting(settings, somebody, "vote", ballot=ballot.id) as db:
        vote = ballots.cast(db, ballot.id, voter, one, chosen[0], seconds, chosen[1])
    st.session_state["vote_too_fast"] = marks([vote]) == ["too_fast"]


def result(ballot: Ballot, cast: Sequence[Vote], t: Words) -> None:
    """What the votes say, a sentence for every two models; then all figures; last, and marked as
    such, what a model thinks."""
    _votes(ballot, cast, t)
    with store.opened(config.read().database) as db:
        panels = opinions.panels(opinions.of(db, ballot.id), cast)
    for panel in panels:
        st.badge(t("opinion.badge"), color="violet", icon=":material/smart_toy:")
        for sentence in opinions.sentences(ballot, panel, t):
            st.caption(plain(sentence))
        with st.expander(t("opinion.rubric"), type="compact"):
            st.text(opinion.RUBRIC)


def _votes(ballot: Ballot, cast: Sequence[Vote], t: Words) -> None:
    found = tally.tally(ballot, cast)
    for duel in found.duels:
        st.markdown(f"**{plain(tally.sentence(ballot, duel, t))}**")
    st.caption(plain(tally.count(found, t)))
    if not found.cast:
        return
    with st.expander(t("vote.details"), icon=":material/table_chart:", type="compact"):
        rows = tables.escaped(tally.duel_rows(ballot, found, t))
        st.table(rows, border="horizontal", hide_index=True)
        if found.scale:
            st.caption(t("vote.scale_note"))
            rows = tables.escaped(tally.scale_rows(ballot, found, t))
            st.table(rows, border="horizontal", hide_index=True)


def results(settings: Config, actor: Actor, runs: Sequence[str], t: Words) -> None:
    """The votes on these runs, newest first; operators may end one."""
    with store.opened(settings.database) as db:
        held = [
            (ballots.named(db, one, t), ballots.votes_of(db, one.id))
            for one in ballots.among(db, runs)
        ]
    if not held:
        return
    st.subheader(t("vote.results"))
    for ballot, cast in held:
        with st.container(border=True):
            at = when(ballot.at, st.context.timezone)
            st.caption(plain(t("vote.of", at=at, set=written.set_name(ballot.prompt_set, t))))
            result(ballot, cast, t)
            if ballot.closed:
                continue
            st.code(links.to_page(st.context.url, "vote", ballot=ballot.id), language=None)
            closed = signin.reason(actor, "edit", t)
            if st.button(t("vote.close"), key=f"close-{ballot.id}", disabled=closed is not None):
                with actions.acting(settings, actor, "edit", closed=ballot.id) as db:
                    ballots.close(db, ballot.id)
                st.rerun()


def make(
    settings: Config, actor: Actor, shown: Sequence[Result], prompt_set: str, t: Words
) -> None:
    """Make a vote on the results of the page."""
    if len(shown) < 2:
        return
    closed = signin.reason(actor, "edit", t)
    with st.popover(t("vote.make"), icon=":material/how_to_vote:"):
        st.caption(closed or t("vote.make_hint"))
        if not st.button(t("vote.make_button"), key="make-ballot", disabled=closed is not None):
            return
        entrants = [Entrant(run=one.id, name=one.label) for one in shown]
        try:
            with actions.acting(settings, actor, "edit", vote=prompt_set) as db:
                made = ballots.create(db, entrants, prompt_set)
        except BenchError as fault:
            st.error(plain(t.fault(fault.fault)))
            return
        st.write(t("vote.link"))
        st.code(links.to_page(st.context.url, "vote", ballot=made), language=None)
        if links.only_here(st.context.url):
            st.caption(t("share.only_here"))
