"""Hostile names on their way out: no output obeys them, and none that are harmless are changed."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from medsenteval.cli.main import main
from medsenteval.comparison.compare import compare_results
from medsenteval.report.comparison_table import FORMATS, render_comparison
from medsenteval.running.result_store import ResultStore
from medsenteval.running.score_table import detail_table, score_table
from medsenteval.support.escaping import for_csv, for_latex, for_markdown, for_terminal
from medsenteval.support.text_table import text_table
from tests.comparison.simulated import accuracy_result

HOSTILE = (
    "\x1b[2J\x1b[31mred", "a\nb", "a\r\nFAKE ROW", "\x9b31m", "\u202egnal\u2066", "\x00\x07\x08", "a\tb", "\u2028x",
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", " =cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "＝1+1", "<script>alert(1)</script>",
    "[x](javascript:alert(1))", "![x](http://a/b)", "a|b|c", "`code`", "**bold**", r"\input{/etc/passwd}", "$x_1$", "a_b",
    "100%", "{x}", "[option]", "a & b", "#1", "~", "^", "\\",
)  # fmt: skip
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066]")


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "BioBERT (mean)", "Ärzte-Größe", "模型", "a b", "4.5"])
def test_harmless_names_stay_as_they_are(name: str) -> None:
    assert (for_terminal(name), for_csv(name)) == (name, name)


@pytest.mark.parametrize("cell", ["-0.5", "+3.25", "-1e-05", "-1.2 %", "-0.12*", "-0.12* a b", 5, -0.5, None, ""])
def test_numbers_in_csv_stay_numbers(cell: object) -> None:
    assert for_csv(cell) == cell


@given(st.text())
def test_nothing_is_lost_and_nothing_unseen_is_left(text: str) -> None:
    shown = for_terminal(text)
    assert shown.isprintable() or not CONTROL.search(shown)
    assert shown == for_terminal(shown)
    shown.encode("utf-8")
    spreadsheet = for_csv(text)
    assert isinstance(spreadsheet, str)
    assert not re.match(r"\s*[=@]", spreadsheet)
    # Of each special character of LaTeX and Markdown, only the escaped form is left.
    assert not re.search(r"(?<!\\)[&%$#_]", for_latex(text))
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>|]", re.sub(r"\\\\", "", for_markdown(text)))


@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_comparison_of_hostile_names_is_one_table(name: str, style: str) -> None:
    results = [
        replace(accuracy_result("RQE", encoder, [0, 1] * 10, predicted, encoder_identity=encoder), protocol=name, task=task)
        for encoder, predicted in ((name, [0, 1] * 10), ("plain", [1, 1] * 10))
        for task in ("RQE", name)
    ]
    text = render_comparison(compare_results(results, resamples=100), style)
    assert not CONTROL.search(text)
    if style == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert {len(row) for row in rows} == {15}
        assert not [cell for row in rows for cell in row if re.match(r"\s*[=@＝]|[+-].*[^\d.e-]", cell)]
    elif style == "markdown":
        table = [line for line in text.split("\n") if line.startswith("|")]
        bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", re.sub(r"\\\\", "", line))) for line in table[:4]}
        assert len(bars) == 1
        assert "<script" not in text.replace(r"\<", "")
    elif style == "latex":
        known = r"text(bf|superscript|backslash|ascii|less|greater|bar)|(top|mid|bottom)rule|begin|end|dag|[&%$#_{}]"
        seen = "\n".join(line for line in text.split("\n") if not line.startswith("%"))
        assert not re.search(rf"\\(?!{known})", seen.replace(" \\\\\n", "\n"))
    for plain in (detail_table(results), score_table(results)):
        assert not CONTROL.search(plain)


def test_a_table_has_a_line_for_each_row() -> None:
    table = text_table(["Encoder"], [[name] for name in HOSTILE], [False])
    assert len(table.split("\n")) == len(HOSTILE) + 2


def test_commands_show_what_a_terminal_would_obey(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "results")
    for name in ("\x1b[2Jevil\nNote: faked", "plain"):
        store.save(accuracy_result("RQE", name, [0, 1] * 10, [0, 1] * 10))
    shown = CliRunner().invoke(main, ["compare", str(store.folder)]).output
    assert r"\x1b[2Jevil\nNote: faked" in shown
    for arguments in (["compare", "\x1b[2J"], ["run", "-e", "\x1b[2J", "-t", "BIOSSES"], ["tasks", "\x1b[2J"]):
        assert "\x1b" not in CliRunner().invoke(main, arguments).output
    run = ["run", "-t", "BIOSSES", "-e", "lexical,name=\x1b[2Jevil\nx", "-o", str(tmp_path)]
    made = CliRunner().invoke(main, run)
    assert made.exit_code == 0
    assert "\x1b" not in made.stdout + made.stderr
    assert made.stderr.count("BIOSSES: \\x1b[2Jevil\\nx: done") == 1
