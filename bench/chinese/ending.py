"""How an answer ended, and what of its thinking ran into it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.chinese.finding import Finding, found

_THINKING = re.compile(
    r"<(?P<tag>think|thinking|thought|reasoning|reflection)>.*?(?:</(?P=tag)>|\Z)"
    r"|</(?:think|thinking|thought|reasoning)>"
    r"|<\|channel\|>\s*(?:analysis|commentary|final)|<\|start\|>|<\|message\|>|\bassistantfinal\b",
    re.DOTALL | re.IGNORECASE,
)
_SPECIAL = re.compile(
    r"<\|(?:im_start|im_end|eot_id|end|endoftext|assistant|user|system|return|begin_of_text"
    r"|start_header_id|end_header_id|end_of_text)\|>"
    r"|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|<<SYS>>|<\uff5c[^\uff5c\n]{1,40}\uff5c>"
)
_THINKING_ALOUD = re.compile(
    r"\A\s*(?:(?:Okay|Ok|Alright|Hmm|First)?,?\s*(?:so )?(?:the user|we need to|I need to|let me)"
    r"\b[^\n]*|(?:好的，|首先，|嗯，|那麼，)?(?:使用者|用戶|用户)(?:要求|希望|想要|問|请|請)[^\n]*"
    r"|(?:好的，|首先，|嗯，)?我(?:需要|得)先(?:分析|理解|思考|確認)[^\n]*)",
    re.IGNORECASE,
)


def unfinished(text: str, reasoning: str, finish: str | None) -> Iterator[Finding]:
    """Nothing said, or cut off at the length limit. ``finish`` is the engine's finish reason."""
    end = len(text)
    if not text.strip():
        if reasoning.strip():
            yield found(text, end, end, "only_thinking", "error", characters=len(reasoning))
        else:
            yield found(text, end, end, "empty", "error")
    elif finish == "length":
        yield found(text, end, end, "truncated", "error", characters=end)


def leaked_thinking(text: str) -> Iterator[Finding]:
    """Thinking and its marks that a reader of the answer sees."""
    for match in _THINKING.finditer(text):
        yield found(text, *match.span(), "leaked_thinking", "error")
    if aloud := _THINKING_ALOUD.search(text):
        start = aloud.end() - len(aloud.group().lstrip())
        yield found(text, start, aloud.end(), "thinking_aloud", "warning")


def special_tokens(text: str) -> Iterator[Finding]:
    """Marks of the chat template that belong between engine and model."""
    for match in _SPECIAL.finditer(text):
        yield found(text, *match.span(), "special_token", "error")


def without_marks(text: str) -> str:
    """The text without marks of the chat template and the role that follows one."""
    return re.sub(rf"(?:{_SPECIAL.pattern})(?:(?:assistant|user|system|admin)\b)?", "", text)
