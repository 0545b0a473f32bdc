"""Prompts of an exact length that no engine has seen before.

Each prompt begins with a tag of 20 random words, before any text that prompts could share: no two
prompts of a run, of two repeats or of two seeds have a block of 16 tokens in common, and so an
engine's prefix cache has nothing to give (A11). The rest is plain English prose (`prose.py`): a
model that guesses ahead (speculative decoding) meets sentences, not noise.

The length is met through a counter that is passed in, the engine's own ``/tokenize``, in about
three calls a prompt. Without one the length is estimated and the prompt says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import msgspec

from bench.prose import TAG, words

Count = Callable[[str], int | None]
"""Tokens in a text as the engine counts them, or None when it cannot tell."""

TRIES = 8
"""Calls of the counter for one prompt before it is left a little off."""
TOKENS_PER_WORD = 1.13
"""Of this prose with the tokenizer of SmolLM2; used where nobody counts."""
ENDING = " Go on with this account in the same manner, at length."


class SizedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt and how long it is without the chat template, in tokens."""

    text: str
    tokens: int
    counted: bool
    """True when the engine counted, False for an estimate."""

    def exact(self, wanted: int) -> bool:
        return self.counted and self.tokens == wanted


def build(
    count: Count | None,
    *,
    seed: int,
    stream: str,
    tokens: int,
    n: int,
    overhead: int = 0,
) -> tuple[SizedPrompt, ...]:
    """`n` prompts that make `tokens` prompt tokens each.

    `seed` is the run's, `stream` names the place in it (``"c8/2/warmup"``): another of either gives
    other prompts, the same of both the same. `overhead` is what the chat template adds to each
    prompt, as a warm-up request revealed it (`template_tokens`); the texts are that much shorter.
    """
    wanted = max(1, tokens - overhead)
    pace = TOKENS_PER_WORD
    prompts = []
    for number in range(n):
        prompt, pace = _sized(count, Random(f"{seed}/{stream}/{number}"), wanted, pace)
        if not prompt.counted:
            count = None
        prompts.append(prompt)
    return tuple(prompts)


def template_tokens(prompt: SizedPrompt, prompt_tokens: int | None) -> int:
    """Tokens that the chat template added, from a warm-up's prompt and the usage it came back with.

    0 when the server told nothing, or the prompt's own length was only estimated.
    """
    if prompt_tokens is None or not prompt.counted:
        return 0
    return max(0, prompt_tokens - prompt.tokens)


def calibrated(text: str, tokens: int) -> Count:
    """A counter for an engine without ``/tokenize``, from one request's text and its usage.

    It is an estimate by length: pass it to learn a better one than `TOKENS_PER_WORD`, not to claim
    an exact length.
    """
    share = tokens / max(1, len(text))
    return lambda other: max(1, round(len(other) * share))


def _sized(
    count: Count | None, random: Random, wanted: int, pace: float
) -> tuple[SizedPrompt, float]:
    """One prompt, and the tokens a word that it took: the next one starts closer."""
    source = words(random)
    pool: list[str] = []
    ending = ENDING if wanted >= 3 * TAG else ""
    fixed = len(ending.split())

    def text(length: int, filler: int) -> str:
        while len(pool) < length:
            pool.append(next(source))
        return " ".join(pool[:length]) + " and" * filler + ending

    length = max(1, round(wanted / pace) - fixed)
    if count is None:
        return _estimated(text(length, 0)), pace
    best: SizedPrompt | None = None
    low, high = 0, math.inf
    filler = 0
    for _ in range(TRIES):
        found = count(text(length, filler))
        if found is None:
            return best or _estimated(text(length, filler)), pace
        if best is None or abs(found - wanted) < abs(best.tokens - wanted):
            best = SizedPrompt(text=text(length, filler), tokens=found, counted=True)
        if found == wanted:
            break
        if found < wanted:
            low = max(low, length)
        elif not filler:
            high = min(high, length)
        missing = wanted - found
        if low + 1 >= high or 0 < missing <= 2 or filler:
            length, filler = max(1, low), max(0, filler + missing)
            continue
        pace = max(0.2, found / (length + fixed))
        step = round(missing / pace) or int(math.copysign(1, missing))
        length = int(min(max(length + step, low + 1), high - 1))
    assert best is not None
    return best, pace


def _estimated(text: str) -> SizedPrompt:
    return SizedPrompt(text=text, tokens=round(len(text.split()) * TOKENS_PER_WORD), counted=False)
