"""Tables for terminals, with cells aligned in columns, for notebooks and for pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from medsenteval.errors import import_extra
from medsenteval.support.escaping import for_terminal

#: No column is made narrower than this to fit a terminal.
_NARROWEST: Final = 6


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], width: int | None = None) -> str:
    """Align cells in columns; ``right`` says which columns hold numbers. What a terminal would obey is shown instead.

    With ``width`` lines are no longer than that as far as can be: the widest columns are narrowed, the first one, which has the
    names, last, and cells that do not fit end in an ellipsis.
    """
    header, *rows = ([for_terminal(cell) for cell in row] for row in (header, *rows))
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    gaps = 2 * (len(widths) - 1)
    while width is not None and sum(widths) + gaps > width and max(widths) > _NARROWEST:
        # Names are cut only where cutting everything else to the least is not enough.
        narrowable = widths if max(widths[1:], default=0) <= _NARROWEST else widths[1:]
        widths[widths.index(max(narrowable), len(widths) - len(narrowable))] -= 1

    def line(row: Sequence[str]) -> str:
        cut = [cell if len(cell) <= most else f"{cell[: most - 1]}…" for cell, most in zip(row, widths, strict=True)]
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cut, widths, right, strict=True)]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def without_empty(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
) -> tuple[list[str], list[list[str]], list[bool]]:
    """Return a table without the column of this name if every row has "-" there."""
    place = list(header).index(name)
    kept = [i for i in range(len(header)) if i != place or any(row[place] != "-" for row in rows)]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows], [right[i] for i in kept]


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], notes: Sequence[str] = ()) -> str:
    """Return a table as a notebook shows it; every cell and note is text."""
    sides = ["right" if number else "left" for number in right]

    def line(row: Sequence[str], kind: str) -> str:
        cells = (f'<{kind} style="text-align:{side}">{escape(cell)}</{kind}>' for side, cell in zip(sides, row, strict=True))
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table><thead>{line(header, 'th')}</thead><tbody>{body}</tbody></table>{said}"


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a pandas data frame with a column for each key."""
    return import_extra("pandas", "a data frame", "pandas").DataFrame(list(rows))
