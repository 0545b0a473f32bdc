"""Plain English without end, from a seeded generator and word lists of our own."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

TAG = 20
"""Random words before the first sentence: at least 16 tokens, whatever the tokenizer."""


def words(random: Random) -> Iterator[str]:
    """The tag, then sentences without end, word by word."""
    tag = random.choices(TAG_WORDS, k=TAG)
    yield from tag[:-1]
    yield tag[-1] + "."
    while True:
        sentence = " ".join(_sentence(random)).split()
        sentence[0] = sentence[0].capitalize()
        sentence[-1] += "."
        yield from sentence


def _sentence(random: Random) -> Iterator[str]:
    """Somebody does something, sometimes somewhere, sometimes with a reason."""
    if random.random() < 0.4:
        yield random.choice(TIMES) + ","
    yield f"{random.choice(PEOPLE)} {random.choice(DEEDS)} the {_thing(random)}"
    if random.random() < 0.6:
        yield f"{random.choice(WHERE)} the {_thing(random)}"
    if random.random() < 0.4:
        yield f"because the {_thing(random)} {random.choice(STATES)}"


def _thing(random: Random) -> str:
    noun = random.choice(NOUNS)
    return f"{random.choice(QUALITIES)} {noun}" if random.random() < 0.5 else noun


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS = _listed("""
    bridge boat garden letter map river harbour kitchen ladder lamp market mill mirror mountain
    notebook orchard parcel path piano plate road roof school shop station street table tower train
    valley village wall well window workshop basket bell blanket bottle box bread camera chair
    clock cloud coat corner cup door drum engine fence field forest gate hill island key lake
    library
""")
QUALITIES = _listed("""
    old new quiet broken bright small heavy green narrow warm wooden empty long cold plain yellow
    high round dusty gentle
""")
PEOPLE = (
    *("the baker", "the teacher", "my neighbour", "a young doctor", "the captain", "our guide"),
    *("the farmer", "her brother", "the painter", "an engineer", "the children", "the postman"),
    *("his aunt", "a stranger", "the musician", "the shopkeeper"),
)
DEEDS = (
    *("found", "carried", "repaired", "sold", "painted", "remembered", "looked for", "measured"),
    *("described", "opened", "cleaned", "left", "drew", "counted", "borrowed", "talked about"),
)
WHERE = ("near", "behind", "beside", "under", "across from", "inside", "on the way to", "above")
TIMES = (
    *("in the morning", "after the rain", "late that evening", "before the meeting", "on Sunday"),
    *("during the winter", "some years ago", "at the end of the day"),
)
STATES = (
    *("was too far away", "had been closed", "looked different", "would not wait"),
    *("needed water", "was almost finished", "made no sound", "belonged to nobody"),
)
TAG_WORDS = (
    *NOUNS,
    *QUALITIES,
    *_listed("""
    apple arrow badge barn beach berry bird blade board bone brick brush butter button cabin candle
    canoe card carpet castle cattle chain chalk cheese cherry circle clay cliff coal coin copper
    coral cotton crown crystal desert diamond dragon eagle feather finger flag flame flower fog
    fountain fox frost glass glove gold grain grass hammer hat honey horn horse ice iron ivory
    jacket jewel kite knife leaf lemon lion log maple marble meadow metal milk mint moon moss mouse
    nail needle nest oak ocean olive onion orange owl paint palm paper pearl pebble pepper pine
    pipe pond potato pump rabbit rain ribbon ring rope rose salt sand seed shell silk silver snow
    soap spoon star steam stone storm straw sugar swan sword tea thread tiger tin tree tunnel
    umbrella violin wagon wheat wheel whistle willow wind wolf wood wool yarn
    """),
)
