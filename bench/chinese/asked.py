"""What a prompt asked for, as far as it decides what of the answer is judged."""

from __future__ import annotations

import re
from typing import Literal

from bench.catalogue import Prompt
from bench.chinese import mask

Script = Literal["taiwan", "quoted", "zh-CN"]
"""``taiwan``: all of it is judged. ``quoted``: quotations may be Simplified. ``zh-CN``: the whole
answer was asked for in Simplified characters."""

_NAMED = re.compile(r"簡體|简体|簡化字|简化字|simplified chinese", re.IGNORECASE)
_REFUSED = re.compile(
    r"(?:不要|不得|不可|請勿|勿|避免|別|禁止|而非|不是|不用)[^。！？\n]{0,8}(?:簡體|简体|簡化字|简化字)"
    r"|\b(?:not?|never|avoid|without)\b[^.\n]{0,20}simplified",
    re.IGNORECASE,
)
_WHOLE = re.compile(
    r"(?:用|以|成|寫|為|到)[^。！？，\n]{0,4}(?:簡體|简体|簡化字|简化字)"
    r"|\b(?:in|into|to)\s+simplified chinese",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"簡體|简体|簡化字|简化字|大陸|大陆|對岸|兩岸|Simplified", re.IGNORECASE)
_LINE = re.compile(r"[^\n]+")


def script(prompt: Prompt | None) -> Script:
    """The script that the prompt asked for: its ``script`` check, else what its words say."""
    if prompt is None:
        return "taiwan"
    match prompt.checks.get("script"):
        case "zh-CN":
            return "zh-CN"
        case "quoted":
            return "quoted"
        case "taiwan":
            return "taiwan"
    if not _NAMED.search(prompt.text) or _REFUSED.search(prompt.text):
        return "taiwan"
    return "zh-CN" if _WHOLE.search(prompt.text) else "quoted"


def judged(text: str, prompt: Prompt | None) -> str:
    """The answer with everything left out that says nothing about how the model writes."""
    text = mask.without_japanese(mask.without_code(text))
    if script(prompt) == "quoted":
        text = mask.without_quotations(text)
    if prompt is not None:
        text = mask.without_echo(text, prompt.text)
    return _LINE.sub(lambda line: _line(line.group()), text)


def _line(line: str) -> str:
    """A line that compares scripts or regions may quote; its quotations are left out."""
    return mask.without_quotations(line) if _COMPARED.search(line) else line
