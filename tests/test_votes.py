"""Blind votes: fair ballots, votes that count, and what they say."""

from collections import Counter
from itertools import count

import numpy as np
import pytest
from scipy.special import expit

from bench.votes.cast import Vote, ballot, ballots, counted, duel, marks
from bench.votes.strength import strengths

NUMBER = count()


def vote(left, right, choice, *, voter=None, prompt="p", seconds=60.0, characters=400):
    return Vote(
        voter=voter or f"v{next(NUMBER)}",
        prompt=prompt,
        left=left,
        right=right,
        choice=choice,
        seconds=seconds,
        characters=characters,
    )


def test_a_ballot_is_the_same_for_a_voter_and_random_between_voters():
    assert ballot("anna", "p", "a", "b") == ballot("anna", "p", "b", "a")
    lefts = Counter(ballot(f"voter{i}", "p", "a", "b")[0] for i in range(1000))
    assert 430 < lefts["a"] < 570


def test_a_voter_gets_every_pair_of_every_prompt_once_in_an_order_of_their_own():
    mine, yours = (ballots(name, ["p", "q"], ["a", "b", "c"]) for name in ("me", "you"))
    pairs = {(prompt, frozenset(pair)) for prompt, *pair in mine}
    assert len(mine) == len(pairs) == 6
    assert mine == ballots("me", ["p", "q"], ["c", "b", "a"])
    assert mine != yours


def test_a_second_vote_on_the_same_pair_is_marked_even_with_sides_changed():
    votes = [vote("a", "b", "left", voter="v"), vote("b", "a", "left", voter="v")]
    assert marks(votes) == [None, "duplicate"]
    assert counted(votes) == votes[:1]


def test_the_same_pair_on_another_prompt_is_no_duplicate():
    votes = [vote("a", "b", "left", voter="v", prompt=p) for p in ("p", "q")]
    assert marks(votes) == [None, None]


def test_a_click_faster_than_reading_is_marked_and_does_not_use_up_the_vote():
    votes = [
        vote("a", "b", "left", voter="v", seconds=3, characters=1600),
        vote("a", "b", "right", voter="v", seconds=45, characters=1600),
    ]
    assert marks(votes) == ["too_fast", None]


def test_wins_are_counted_whatever_the_side():
    votes = [
        *(vote("a", "b", "left") for _ in range(4)),
        *(vote("b", "a", "right") for _ in range(5)),
        vote("a", "b", "right"),
        vote("a", "b", "tie"),
        vote("a", "b", "both_bad"),
        vote("a", "c", "right"),
    ]
    found = duel(votes, "a", "b")
    assert (found.wins, found.losses, found.ties, found.both_bad) == (9, 1, 1, 1)
    assert found.share == 0.9
    assert found.interval.low == pytest.approx(0.596, abs=0.001)
    assert found.left_share == 0.4
    assert found.outcome == "first"
    assert duel(votes, "b", "a").outcome == "second"


@pytest.mark.parametrize(
    ("wins", "losses", "outcome"),
    [
        (0, 0, "too_few"),
        (5, 0, "too_few"),
        (6, 0, "first"),
        (0, 6, "second"),
        (5, 3, "open"),
        (21, 20, "no_difference"),
        (40, 10, "first"),
    ],
)
def test_too_few_votes_open_votes_and_even_votes_are_told_apart(wins, losses, outcome):
    votes = [vote("a", "b", choice) for choice in ["left"] * wins + ["right"] * losses]
    assert duel(votes, "a", "b").outcome == outcome


def test_six_ties_are_not_enough_votes():
    assert duel([vote("a", "b", "tie")] * 6, "a", "b").outcome == "too_few"


def played(strength, rounds):
    """Votes as models of these strengths would win them."""
    draw = np.random.default_rng(3)
    for a in strength:
        for b in strength:
            if a < b:
                for _ in range(rounds):
                    won = draw.random() < expit(strength[a] - strength[b])
                    yield vote(a, b, "left" if won else "right")


def test_bradley_terry_finds_the_strengths_that_made_the_votes():
    true = {"a": 1.0, "b": 0.0, "c": -1.0}
    found = strengths(list(played(true, 300)))
    assert [one.model for one in found] == ["a", "b", "c"]
    assert all(one.interval.low <= true[one.model] <= one.interval.high for one in found)
    assert all(one.enough and one.votes == 600 for one in found)
    assert found[0].beats_average == pytest.approx(expit(found[0].strength))


def test_a_model_without_a_defeat_stays_on_the_scale():
    votes = [vote("a", "b", "left"), vote("a", "c", "left"), vote("b", "c", "tie")]
    best, *rest = strengths(votes)
    assert best.model == "a" and best.strength < 5 and not best.enough
    assert rest[0].strength == pytest.approx(rest[1].strength, abs=1e-3)


def test_two_models_need_no_scale_and_bad_answers_say_nothing():
    assert strengths([vote("a", "b", "left")]) == []
    assert strengths([vote("a", "b", "both_bad"), vote("a", "c", "both_bad")]) == []
