"""Other languages that slipped into a Chinese answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.catalogue import Prompt
from bench.chinese import counting, mask
from bench.chinese.finding import Finding, found

SCRIPTS = {
    "Cyrillic": "\u0400-\u052f",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Hebrew": "\u0590-\u05ff",
    "Thai": "\u0e00-\u0e7f",
    "Devanagari": "\u0900-\u097f",
}
_FOREIGN = {
    name: re.compile(f"[{letters}]{{2,}}(?:[ ,.]{{1,2}}[{letters}]+)*")
    for name, letters in SCRIPTS.items()
}
_RUN = re.compile(f"[{mask.HAN}{mask.KANA}、]+")
_KANA = re.compile(f"[{mask.KANA}]{{3}}")
_ENGLISH = re.compile(r"[A-Za-z][A-Za-z'’-]*(?:[ ]?[,:;()]?[ ]+[A-Za-z][A-Za-z'’-]*){9,}[.?!]?")
_NAMED = re.compile(
    "文|語|原名|歌詞|歌名|片名|日本|韓國|俄|泰國|阿拉伯|印度|以色列|烏克蘭|書名|論文|顏文字"
)
_OTHER_LANGUAGE = re.compile(
    r"英文|英語|日文|日語|韓文|韓語|法文|德文|西班牙文|俄文|泰文|越南文|翻譯|雙語|原文|json|程式碼"
    r"|\b(?:english|japanese|translat)",
    re.IGNORECASE,
)
_INTO_CHINESE = re.compile("(?:成|用|以)[^。\n]{0,10}中文|臺灣商務書信")
_ENOUGH = 12
"""Letters below which nothing is said about an answer's language."""


def leaked_scripts(text: str) -> Iterator[Finding]:
    """Words of another script. A line that speaks of a language may show it.

    ``text`` has code and quotations left out.
    """
    for name, start, end in _foreign(text):
        named = _NAMED.search(_line_without(text, start, end))
        if not named and not _bracketed(text, start, end):
            yield found(text, start, end, "leaked_script", "warning", script=name)


def _foreign(text: str) -> Iterator[tuple[str, int, int]]:
    """Script and place of each foreign word, and of each run that holds three kana in a row."""
    for name, pattern in _FOREIGN.items():
        for match in pattern.finditer(text):
            yield name, *match.span()
    for run in _RUN.finditer(text):
        if _KANA.search(run.group()):
            yield "Kana", *run.span()


def english_sentences(text: str, prompt: Prompt | None) -> Iterator[Finding]:
    """Ten or more English words in a row, unless the prompt or the line is about a language."""
    if prompt is not None and (prompt.language == "en" or _other_language(prompt.text)):
        return
    for match in _ENGLISH.finditer(text):
        if not _NAMED.search(_line_without(text, *match.span())):
            yield found(text, *match.span(), "english_sentence", "warning")


def not_chinese(text: str, prompt: Prompt | None) -> Iterator[Finding]:
    """An answer to a Chinese prompt that is hardly Chinese at all."""
    if prompt is None or prompt.language != "zh-TW" or _other_language(prompt.text):
        return
    if {"json_keys", "tool", "format"} & set(prompt.checks):
        return
    share = counting.han_share(mask.without_code(text))
    if share is not None and counting.letters(text) >= _ENOUGH and share < 0.3:
        yield found(text, 0, len(text), "not_chinese", "error", share=round(100 * share))


def _bracketed(text: str, start: int, end: int) -> bool:
    """Whether it stands alone in brackets: the original of a name, or a link's words."""
    return text[start - 1 : start] in tuple("[(（") and text[end : end + 1] in tuple("])）")


def _other_language(asked: str) -> bool:
    """Whether a prompt's words let the answer be in another language."""
    return bool(_OTHER_LANGUAGE.search(asked)) and not _INTO_CHINESE.search(asked)


def _line_without(text: str, start: int, end: int) -> str:
    """The rest of the line (at most 60 characters each way) around a stretch."""
    left = max(text.rfind("\n", 0, start) + 1, start - 60)
    right = text.find("\n", end, end + 60)
    return text[left:start] + text[end : right if right >= 0 else end + 60]
