"""What a comparison says of Chinese: findings, votes, and their agreement."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlite_utils import Database

from bench import store
from bench.catalogue import Catalogue
from bench.shown import taste, writing
from bench.text import LANGUAGES, words
from bench.votes import ballots
from bench.votes.ballots import Entrant
from bench.votes.cast import Vote
from bench.web import links
from tests import chinese_examples as made
from tests.test_pages import text, visit

EN = words("en")
ENGLISH = dict.fromkeys([one.id for one in made.SHORT], "The cat sat on the mat today. " * 9)


@pytest.fixture
def db(tmp_path: Path) -> Database:
    with store.opened(tmp_path / "bench.db") as opened:
        yield opened  # type: ignore[misc]


def said(
    db: Database, known: Catalogue, runs: list[str], held: taste.Held = (), language: str = "en"
) -> list[str]:
    t = words(language)
    return taste.sentences(links.load(db, runs, known, t), held, t)


def ballot(first: str, second: str, wins: int, of: int = 20) -> taste.Held:
    """A ballot on two runs, ``wins`` of whose votes went to the first."""
    entrants = (Entrant(run=first, name="One"), Entrant(run=second, name="Two"))
    votes = [
        Vote(voter=f"v{n}", prompt="p", left=first, right=second, seconds=99, characters=9,
             choice="left" if n < wins else "right")
        for n in range(of)
    ]  # fmt: skip
    return [(ballots.Ballot(id="x", at="", prompt_set="zh-tw-1", entrants=entrants), votes)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_findings_and_instructions_are_cited(db: Database, known: Catalogue, language: str) -> None:
    runs = [made.run(db, "poor"), made.run(db, "good")]
    found, none = said(db, known, runs, language=language)
    assert found.startswith("Example A") and "Example C" in found
    assert "26" in found and "12" in found
    assert none == words(language)("taste.no_votes")


def test_votes_that_agree_are_cited_without_a_word_more(db: Database, known: Catalogue) -> None:
    good, poor = made.run(db, "good"), made.run(db, "poor")
    findings, votes = said(db, known, [good, poor], ballot(good, poor, 18))
    assert "closest to Taiwan usage" in findings
    assert votes.startswith("One is preferred to Two: it won 18 of 20")


@pytest.mark.parametrize("language", LANGUAGES)
def test_votes_against_the_findings_are_told(db: Database, known: Catalogue, language: str) -> None:
    good, poor = made.run(db, "good"), made.run(db, "poor")
    last = said(db, known, [good, poor], ballot(good, poor, 2), language)[-1]
    t = words(language)
    assert last == t("taste.disagree", liked="Example C", correct="Example A")


def test_few_votes_and_few_findings_claim_nothing(db: Database, known: Catalogue) -> None:
    good, again = made.run(db, "good"), made.run(db, "good")
    findings, votes = said(db, known, [good, again], ballot(good, again, 3, of=4))
    assert "no clear difference" in findings
    assert "not enough votes yet" in votes


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_model_that_writes_no_chinese_is_told_as_such_and_is_in_no_count(
    db: Database, known: Catalogue, language: str
) -> None:
    unable, good = made.run(db, "unable", ENGLISH), made.run(db, "good")
    first, second = said(db, known, [unable, good], language=language)
    t = words(language)
    assert first == t("taste.unable", name="unable", chinese=0, answers=12)
    assert "unable" not in second and "Example A" in second
    assert said(db, known, [unable, made.run(db, "other", ENGLISH)], language=language) == [
        t("taste.unable", name=name, chinese=0, answers=12) for name in ("unable", "other")
    ]


def test_only_the_same_questions_are_compared(db: Database, known: Catalogue) -> None:
    few = made.run(db, "poor", prompts=made.SHORT[:6])
    findings = said(db, known, [made.run(db, "good"), few])[0]
    assert "the same 6 questions" in findings
    other = tuple(made.replace(one, set="own-1") for one in made.SHORT)
    assert said(db, known, [made.run(db, "good"), made.run(db, "poor", prompts=other)]) == []
    assert said(db, known, [few]) == []


def test_the_same_results_give_the_same_interval_each_time(db: Database, known: Catalogue) -> None:
    results = links.load(db, [made.run(db, "poor"), made.run(db, "good")], known, EN)
    found = taste.compared(results)
    assert found
    for result in results:
        alone = writing.of(writing.readings(result), "zh-tw-1")
        assert found.figures[result.id].usage == alone.usage


def test_a_ballot_on_another_set_is_not_cited(db: Database, known: Catalogue) -> None:
    good, poor = made.run(db, "good"), made.run(db, "poor")
    ((held, votes),) = ballot(good, poor, 18)
    other = made.replace(held, prompt_set="own-1")
    assert said(db, known, [good, poor], [(other, votes)])[-1] == EN("taste.no_votes")


@pytest.mark.parametrize("language", LANGUAGES)
def test_compare_says_it_before_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv("SPARK_COMPARE_VAR", str(tmp_path))
    with store.opened(tmp_path / "bench.db") as db:
        runs = [made.run(db, "good"), made.run(db, "poor")]
    shown = text(visit("compare.py", language, run=runs))
    t = words(language)
    assert t("taste.heading") in shown and t("taste.no_votes") in shown
