"""What is not judged: code, addresses, Japanese, and text that the prompt itself brought.

A masked text is as long as the original, so that places stay true; each character left out is a
``GAP``. Every step takes time in proportion to the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

GAP = "\0"
HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f"

_FENCE = re.compile(
    r"^[ ]{0,3}(```|~~~)[^\n]*\n(?:(?![ ]{0,3}\1)[^\n]*\n)*(?:[ ]{0,3}\1|[^\n]*\Z)", re.MULTILINE
)
_INLINE = re.compile(r"(`{1,2})[^`\n]{1,400}\1")
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[^\s\u3000-\u303f\uff00-\uffef<>\"'）]{1,2000}"
    r"|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
)
_TAG = re.compile(r"<[!/]?[A-Za-z][^<>]{0,3000}>|<!--[^<>]{0,3000}?-->")
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^)\n]{0,2000}\)")
_SCRIPT = re.compile(r"<(script|style)\b[^>]{0,200}>[^<]{0,5000}</\1\s*>", re.IGNORECASE)
_SEGMENT = re.compile(r"[^。！？；\n「」『』（）()《》“”\"]+")
_JAPANESE_RUN = re.compile(f"[{HAN}{KANA}]*[{KANA}][{HAN}{KANA}]*")
_KANA = re.compile(f"[{KANA}]")
_QUOTE = re.compile('「[^「」\n]{1,400}」|『[^『』\n]{1,400}』|“[^“”\n]{1,400}”|"[^"\n]{1,400}"')
_BLOCK_QUOTE = re.compile(r"^>[^\n]*", re.MULTILINE)
_TITLE = re.compile("《[^《》\n]{1,100}》|〈[^〈〉\n]{1,100}〉")
_WORDS = re.compile(f"[{HAN}，、A-Za-z0-9 ]{{4,200}}")


def left_out(text: str, *patterns: re.Pattern[str]) -> str:
    """The text with every match of the patterns turned into gaps, line ends kept."""
    for pattern in patterns:
        text = pattern.sub(lambda match: gap(match.group()), text)
    return text


def without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """The text with these places turned into gaps; they do not overlap and are in order."""
    pieces, done = [], 0
    for start, end in places:
        if start >= done:
            pieces += [text[done:start], gap(text[start:end])]
            done = end
    return "".join([*pieces, text[done:]])


def gap(piece: str) -> str:
    return re.sub(r"[^\n]", GAP, piece)


def without_code(text: str) -> str:
    """Code fences, inline code, HTML, images and addresses left out."""
    return left_out(text, _FENCE, _INLINE, _SCRIPT, _IMAGE, _ADDRESS, _TAG)


def without_japanese(text: str) -> str:
    """Japanese left out: sentences with much kana whole, else the words that hold kana."""
    return _SEGMENT.sub(lambda match: _japanese(match.group()), text)


def _japanese(segment: str) -> str:
    kana = len(_KANA.findall(segment))
    if not kana:
        return segment
    if kana * 6 >= len(segment):
        return gap(segment)
    return _JAPANESE_RUN.sub(lambda match: _run(match.group()), segment)


def _run(run: str) -> str:
    kana = len(_KANA.findall(run))
    if kana * 5 >= len(run) or len(run) <= 8:
        return gap(run)
    return re.sub(f"[{HAN}]{{0,2}}[{KANA}]+[{HAN}]{{0,2}}", lambda found: gap(found.group()), run)


def without_quotations(text: str) -> str:
    """What stands in quotation marks or in a Markdown quotation left out."""
    return left_out(text, _QUOTE, _BLOCK_QUOTE)


def without_titles(text: str) -> str:
    """Titles of works left out: 《》 and 〈〉."""
    return left_out(text, _TITLE)


def without_echo(text: str, prompt: str) -> str:
    """Runs of four or more characters that the prompt brought word for word left out."""
    return _WORDS.sub(lambda m: gap(m.group()) if m.group() in prompt else m.group(), text)
