"""Tables of texts: aligned, narrowed to a terminal, in a notebook and as a data frame."""

from __future__ import annotations

import pytest

from medsenteval.support.text_table import data_frame, html_table, text_table, without_empty

LONG = [["abcdefgh", "0123456789"], ["xy", "\x1b[2J"]]


def test_columns_are_aligned_and_lines_end_where_texts_do() -> None:
    shown = text_table(["a", "bb", "c"], [["x", "1", "long"], ["yyy", "22", ""]], [False, True, False])
    assert shown.splitlines() == ["a    bb  c", "---  --  ----", "x     1  long", "yyy  22"]
    assert text_table(["a", "b"], [], [False, True]) == "a  b\n-  -"


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (None, ["Name      Text", "--------  ----------", "abcdefgh  0123456789", "xy        \\x1b[2J"]),
        (20, ["Name      Text", "--------  ----------", "abcdefgh  0123456789", "xy        \\x1b[2J"]),
        (19, ["Name      Text", "--------  ---------", "abcdefgh  01234567…", "xy        \\x1b[2J"]),
        # Names are cut last, and nothing to less than six letters.
        (16, ["Name      Text", "--------  ------", "abcdefgh  01234…", "xy        \\x1b[…"]),
        (15, ["Name     Text", "-------  ------", "abcdef…  01234…", "xy       \\x1b[…"]),
        (3, ["Name    Text", "------  ------", "abcde…  01234…", "xy      \\x1b[…"]),
    ],
)
def test_a_terminal_narrows_the_widest_columns(width: int | None, lines: list[str]) -> None:
    assert text_table(["Name", "Text"], LONG, [False, False], width).splitlines() == lines


def test_of_equally_wide_columns_the_first_but_one_is_narrowed_first() -> None:
    cells = ["n" * 9, "a" * 9, "b" * 9]
    assert text_table(cells, [], [False] * 3, 30).splitlines()[1] == f"{'-' * 9}  {'-' * 8}  {'-' * 9}"
    assert text_table(["n" * 9], [], [False], 8).splitlines()[0] == "nnnnnnn…"


def test_a_column_that_holds_nothing_is_left_out() -> None:
    header, right = ["a", "b", "c"], [False, True, False]
    assert without_empty("b", header, [["1", "-", "-"], ["2", "-", "x"]], right) == (
        ["a", "c"], [["1", "-"], ["2", "x"]], [False, False],
    )  # fmt: skip
    assert without_empty("c", header, [["1", "-", "-"], ["2", "-", "x"]], right)[0] == header


def test_a_notebook_gets_cells_and_notes_as_text() -> None:
    assert html_table(["Name", "n"], [["<b>", "1"]], [False, True], ["a & b"]) == (
        '<table><thead><tr><th style="text-align:left">Name</th><th style="text-align:right">n</th></tr></thead>'
        '<tbody><tr><td style="text-align:left">&lt;b&gt;</td><td style="text-align:right">1</td></tr></tbody></table>'
        "<p>a &amp; b</p>"
    )


def test_a_data_frame_has_a_column_for_each_key() -> None:
    pytest.importorskip("pandas")
    frame = data_frame([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    assert (list(frame.columns), frame["a"].tolist(), frame["b"].tolist()) == (["a", "b"], [1, 2], ["x", "y"])
