"""Blind votes in the store and on the page: who sees what, what is kept, what it says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import streamlit as st
from msgspec.structs import replace
from sqlite_utils import Database
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit.testing.v1 import AppTest

from bench import config, store
from bench.errors import BenchError
from bench.people import access, actions, audit, gate
from bench.people.access import Actor
from bench.text import LANGUAGES, words
from bench.votes import ballots, tally
from bench.votes.ballots import Entrant, Pair
from bench.votes.cast import Choice, Vote
from pages.elements import voting, who
from tests import chinese_examples as made
from tests.test_pages import text, visit


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    monkeypatch.setenv("SPARK_COMPARE_START_WORKER", "0")
    monkeypatch.setattr(who, "voter", lambda actor: "browser:of-a-test-person")
    return tmp_path


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody reads for a long time."""
    monkeypatch.setattr(voting, "since", lambda ballot, pair: 600.0)


def start(db: Database, *qualities: str) -> tuple[str, dict[str, str]]:
    """A ballot on runs of these qualities, and the runs by quality."""
    runs = {quality: made.run(db, quality) for quality in qualities}
    entrants = [Entrant(run=run, name=made.NAMES[quality]) for quality, run in runs.items()]
    return ballots.create(db, entrants, "zh-tw-1"), runs


def following(db: Database, ballot: str, voter: str) -> Pair | None:
    found = ballots.load(db, ballot)
    assert found
    there, asked = ballots.offered(db, found), ballots.questions(db, found)
    return ballots.next_pair(found, there, asked, ballots.votes_of(db, ballot), voter)


def go_on(
    db: Database, ballot: str, voter: str, choose: Callable[[Pair], Choice], most: int = 99
) -> int:
    """Vote until nothing is left; how many votes it took."""
    number = 0
    while number < most and (pair := following(db, ballot, voter)):
        ballots.cast(db, ballot, voter, pair, choose(pair), 300.0, "")
        number += 1
    return number


def test_a_voter_gets_each_pair_once_and_never_more_than_twelve(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        two, _ = start(db, "good", "poor")
        three, _ = start(db, "good", "fair", "poor")
        assert go_on(db, two, "v", lambda pair: "left") == 12
        assert len({vote.prompt for vote in ballots.votes_of(db, two)}) == 12
        assert go_on(db, three, "v", lambda pair: "tie") == 12, "of 36 pairs"
        go_on(db, three, "w", lambda pair: "tie")
        seen = [(v.prompt, frozenset((v.left, v.right))) for v in ballots.votes_of(db, three)]
    assert len(set(seen)) > 12, "another voter sees others"


def test_a_vote_that_was_too_fast_is_kept_marked_and_asked_for_again(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, _ = start(db, "good", "poor")
        first = following(db, ballot, "v")
        assert first
        ballots.cast(db, ballot, "v", first, "left", 0.3, "")
        assert following(db, ballot, "v") == first
        ballots.cast(db, ballot, "v", first, "right", 300.0, "")
        again = following(db, ballot, "v")
        assert again and again.number == 2
        ballots.cast(db, ballot, "v", first, "left", 300.0, "")
        found = ballots.load(db, ballot)
        assert found
        result = tally.tally(found, ballots.votes_of(db, ballot))
    assert (result.cast, result.counted, result.too_fast, result.duplicates) == (3, 1, 1, 1)
    said = tally.count(result, words("en"))
    assert "2 more are kept and do not count: 1 too quick, 1 cast twice" in said


def test_only_answers_to_the_same_question_of_the_set_are_offered(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        changed = tuple(
            replace(one, text=one.text + "！") if one.id == "tw-tech-memory" else one
            for one in made.SHORT
        )
        runs = [made.run(db, "good"), made.run(db, "poor", prompts=changed)]
        entrants = [Entrant(run=run, name=run) for run in runs]
        ballot = ballots.load(db, ballots.create(db, entrants, "zh-tw-1"))
        assert ballot
        there = ballots.offered(db, ballot)
        with pytest.raises(BenchError, match="nothing to vote on"):
            ballots.create(db, entrants, "basic-1")
        with pytest.raises(BenchError, match="nothing to vote on"):
            ballots.create(db, entrants[:1], "zh-tw-1")
    assert "tw-tech-memory" not in there and len(there) == 11


def test_votes_on_a_deleted_run_stay_and_its_answers_are_offered_no_more(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, runs = start(db, "good", "fair", "poor")
        go_on(db, ballot, "v", lambda pair: "left")
        db.execute("delete from runs where id = ?", [runs["poor"]])
        found = ballots.load(db, ballot)
        assert found
        named = ballots.named(db, found, words("en"))
        assert [one.name for one in named.entrants][2] == "Example C (deleted)"
        assert {run for texts in ballots.offered(db, found).values() for run in texts} == {
            runs["good"], runs["fair"],
        }  # fmt: skip
        assert len(ballots.votes_of(db, ballot)) == 12
        db.execute("delete from runs where id = ?", [runs["fair"]])
        assert ballots.offered(db, found) == {}
        assert following(db, ballot, "v") is None
    shown = text(visit("vote.py", ballot=ballot))
    assert words("en")("vote.gone") in shown and "Example B (deleted)" in shown


def test_a_closed_vote_takes_no_more(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, _ = start(db, "good", "poor")
        pair = following(db, ballot, "v")
        assert pair
        ballots.close(db, ballot)
        with pytest.raises(BenchError, match="closed"):
            ballots.cast(db, ballot, "v", pair, "left", 300, "")
    assert words("en")("vote.closed") in text(visit("vote.py", ballot=ballot))


def test_what_is_kept_of_a_voter_tells_nothing_and_differs_by_ballot() -> None:
    assert ballots.voter("a", "person:wang@example.com") != ballots.voter(
        "b", "person:wang@example.com"
    )
    assert "wang" not in ballots.voter("a", "person:wang@example.com")


def votes(first: str, second: str, wins: int, losses: int) -> list[Vote]:
    return [
        Vote(voter=f"v{number}", prompt="p", left=first, right=second, seconds=99, characters=9,
             choice="left" if number < wins else "right")
        for number in range(wins + losses)
    ]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("wins", "losses", "key"),
    [(3, 2, "too_few"), (9, 1, "won"), (1, 9, "won"), (6, 4, "open"), (30, 30, "no_difference")],
)
def test_the_votes_are_a_sentence(wins: int, losses: int, key: str, language: str) -> None:
    entrants = (Entrant(run="a", name="Anna"), Entrant(run="b", name="Bert"))
    ballot = ballots.Ballot(id="x", at="", prompt_set="s", entrants=entrants)
    found = tally.tally(ballot, votes("a", "b", wins, losses))
    said = tally.sentence(ballot, found.duels[0], words(language))
    if key == "won":
        ahead = "Anna" if wins > losses else "Bert"
        assert said.index(ahead) < said.index("Bert" if ahead == "Anna" else "Anna")
        assert "9" in said and "60" in said, "9 of 10 is 60 to 98 %"
    assert (words(language)("vote.outcome.too_few", first="Anna", second="Bert", decided=5,
                            needed=6) == said) is (key == "too_few")  # fmt: skip


# On the page -------------------------------------------------------------------------------------


def html(at: AppTest) -> list[str]:
    return [one.proto.body for one in at.get("html") if 'class="answer' in one.proto.body]


def sent(node: Any) -> str:
    """Everything of a part of the page that goes to the browser, as text."""
    proto = getattr(node, "proto", None)
    own = [getattr(proto, one.name) for one in proto.DESCRIPTOR.fields] if proto else []
    below = getattr(node, "children", {}).values()
    return "\n".join([*(str(one) for one in own), *(sent(child) for child in below)])


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_pair_shows_no_name_no_speed_and_no_id(var: Path, language: str) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, runs = start(db, "good", "poor")
    at = visit("vote.py", language, ballot=ballot)
    assert len(html(at)) == 2
    assert [one.label for one in at.button if one.key and one.key.endswith("-1")] == [
        words(language)(f"vote.choice.{name}") for name in ("left", "right", "tie", "both_bad")
    ]
    main = sent(at.main)
    assert html(at)[0][:40] in main
    for secret in (*runs.values(), "Example", "22.0", "77.0"):
        assert secret not in main
    assert "<mark" not in main, "what was found in an answer is told by nobody"


def test_a_vote_is_kept_with_its_sides_and_reason(var: Path, patient: None) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, _ = start(db, "good", "poor")
    at = visit("vote.py", ballot=ballot)
    at.text_input(key="reason-1").set_value("  clearer ").run()
    at.button(key="right-1").click().run()
    assert any("2 of 12" in str(one.proto.text) for one in at.get("progress"))
    with store.opened(var / "bench.db") as db:
        (vote,) = ballots.votes_of(db, ballot)
        (entry,) = audit.entries(db)
    assert (vote.choice, vote.reason, vote.seconds) == ("right", "clearer", 600.0)
    assert (entry.who, entry.action, dict(entry.detail)) == ("", "vote", {"ballot": ballot})


def test_a_click_too_quick_to_have_read_is_told_and_does_not_count(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, _ = start(db, "good", "poor")
    at = visit("vote.py", ballot=ballot)
    at.button(key="left-1").click().run()
    assert words("en")("vote.too_fast") in text(at)
    assert any("1 of 12" in str(one.proto.text) for one in at.get("progress"))


def test_after_the_last_pair_the_result_is_shown(var: Path, patient: None) -> None:
    with store.opened(var / "bench.db") as db:
        ballot, runs = start(db, "good", "poor")
        mine = ballots.voter(ballot, "browser:of-a-test-person")
        good = runs["good"]
        choose = lambda pair: "left" if pair.left == good else "right"  # noqa: E731
        go_on(db, ballot, mine, choose, most=11)
        last = following(db, ballot, mine)
        assert last
    at = visit("vote.py", ballot=ballot)
    at.button(key="tie-12").click().run()
    shown = text(at)
    assert at.success[0].value == words("en")("vote.thanks", of=12)
    assert "Example A is preferred to Example C: it won 11 of 11 decided votes" in shown


def test_a_browser_without_a_token_cannot_vote_and_is_told_why(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(who, "voter", lambda actor: None)
    with store.opened(var / "bench.db") as db:
        ballot, _ = start(db, "good", "poor")
    at = visit("vote.py", ballot=ballot)
    assert words("en")("vote.no_token") in text(at)
    assert html(at) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_link_to_no_vote_is_a_sentence(var: Path, language: str) -> None:
    assert words(language)("vote.none") in text(visit("vote.py", language))
    shown = text(visit("vote.py", language, ballot="<b>" + "x" * 5_000))
    assert "<b>" in shown and len(shown) < 2_000


def test_an_operator_makes_a_vote_and_ends_it_on_the_chinese_page(var: Path) -> None:
    with store.opened(var / "bench.db") as db:
        runs = [made.run(db, "good"), made.run(db, "poor")]
    at = visit("chinese.py", run=runs)
    at.button(key="make-ballot").click().run()
    link = next(one.value for one in at.code if "vote?ballot=" in one.value)
    ballot = link.rpartition("=")[2]
    at = visit("chinese.py", run=runs)
    assert words("en")("vote.results") in text(at) and "not enough votes yet" in text(at)
    at.button(key=f"close-{ballot}").click().run()
    with store.opened(var / "bench.db") as db:
        found = ballots.load(db, ballot)
        assert found and found.closed
        assert [one.name for one in found.entrants] == ["Example A", "Example C"]
        assert [entry.action for entry in audit.entries(db)] == ["edit", "edit"]


def test_a_viewer_votes_and_makes_and_ends_none(
    var: Path, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(who, "here", lambda: False)
    with store.opened(var / "bench.db") as db:
        ballot, runs = start(db, "good", "poor")
    at = visit("vote.py", ballot=ballot)
    at.button(key="both_bad-1").click().run()
    at = visit("chinese.py", run=list(runs.values()))
    for key in ("make-ballot", f"close-{ballot}"):
        button = at.button(key=key)
        assert button.disabled
        button.proto.disabled = False  # somebody made this click, no browser did
        button.click().run()
        assert words("en")("access.why.no_passcode") in text(at)
        at = visit("chinese.py", run=list(runs.values()))
    with store.opened(var / "bench.db") as db:
        assert len(ballots.among(db, list(runs.values()))) == 1
        found = ballots.load(db, ballot)
        assert found and not found.closed
        assert len(ballots.votes_of(db, ballot)) == 1


def test_who_may_not_look_may_not_vote(var: Path) -> None:
    nobody = Actor(who="", role="nobody", why="sign_in")
    with (
        pytest.raises(BenchError, match="Sign in first"),
        actions.acting(config.read(), nobody, "vote"),
    ):
        raise AssertionError("nothing is done")
    assert access.may(Actor(who="", role="viewer"), "vote")


async def opened(base: str, *paths: str) -> list[str]:
    """Cookies that one browser is given at each of these paths, in the order of opening."""

    async def page(request: object) -> PlainTextResponse:
        return PlainTextResponse("page")

    app = Starlette(
        routes=[Route("/{path:path}", page)], middleware=[Middleware(gate.Gate, base=base)]
    )
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as browser:
        answers = [await browser.get(f"{base}{path}") for path in paths]
    return [answer.headers.get("set-cookie", "") for answer in answers]


@pytest.mark.parametrize("base", ["", "/spark"])
def test_a_browser_gets_one_token_when_it_opens_a_vote_link(base: str) -> None:
    link = "/vote?ballot=abc"
    elsewhere, given, again = asyncio.run(opened(base, "/compare", link, link))
    assert re.match(rf"{gate.VOTER}=[\w-]{{22}}; Max-Age=31536000; Path={base or '/'};", given)
    assert "HttpOnly" in given and "SameSite=Lax" in given
    assert (elsewhere, again) == ("", ""), "only for a vote, and only once"


def whose(monkeypatch: pytest.MonkeyPatch, cookie: str, user: dict[str, object]) -> str | None:
    """Who a visit with this token, by this person, is for a vote."""
    monkeypatch.setattr(st.context.__class__, "cookies", {gate.VOTER: cookie})
    monkeypatch.setattr(st, "user", user)
    return who.voter(Actor(who=str(user.get("email", "")), role="viewer"))


def test_a_voter_is_who_signed_in_or_else_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    token = "x" * 22
    assert whose(monkeypatch, token, {}) == f"browser:{token}"
    assert whose(monkeypatch, "", {}) is None
    assert whose(monkeypatch, "x" * 5_000, {}) is None
    signed_in = {"is_logged_in": True, "email": "wang@example.com"}
    assert whose(monkeypatch, token, signed_in) == "person:wang@example.com"
    assert whose(monkeypatch, "", signed_in) == "person:wang@example.com", "on any device"
