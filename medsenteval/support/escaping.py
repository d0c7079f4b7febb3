"""Names and texts of strangers on their way out: what each kind of output could take for a command is shown as text instead."""

from __future__ import annotations

import re
from typing import Final, TypeVar

T = TypeVar("T")

#: Control characters, marks that turn the direction of reading, other ends of line, halves of surrogate pairs.
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
#: A cell that begins so is a formula to spreadsheets, full-width signs included; a number with a mark is not.
_FORMULA: Final = re.compile(r"\s*[=+\-@＝＋－＠]")
_NUMBER: Final = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?( ?%)?\*?( [a-z, ]+)?")
_MARKDOWN: Final = re.compile(r"[\\`*_{}\[\]<>|~&#!]")
_LATEX: Final = str.maketrans(
    {
        "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "[": "{[}", "]": "{]}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    }
)  # fmt: skip


def for_terminal(text: str, keep: str = "") -> str:
    r"""Show every character that a terminal would obey as an escape (``\x1b``), but for those to ``keep``."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode("ascii"), text)


def for_csv(cell: T) -> T | str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula; what is no text stays what it is."""
    if not isinstance(cell, str):
        return cell
    text = for_terminal(cell)
    return f"'{text}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(text) else text


def for_markdown(text: str) -> str:
    """Keep Markdown and the HTML inside it from seeing mark-up."""
    return _MARKDOWN.sub(r"\\\g<0>", for_terminal(text))


def for_latex(text: str) -> str:
    """Keep LaTeX from seeing commands, and a row of a table from beginning with an option."""
    return for_terminal(text).translate(_LATEX)
