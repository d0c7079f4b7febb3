"""Names of files made of any names: other names get other files, inside their folder, on every system."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medsenteval.support.atomic_files import file_name_of

AWKWARD = [
    "a b", "a_b", "a  b", "a/b", "a\\b", "a:b", "a?b", "a*b", "a|b", "", ".", "..", "...", "../a", "/etc/a", "~a", "a~b", " a",
    "a ", "a.", ".a", "a", "con", "CON", "nul.json", "con.x/", "_con", "com1", "lpt9.txt", "é", "e\u0301", "\ud800", "x" * 121,
    "x" * 300, "x" * 301, "漢" * 60, "漢" * 100, "a\nb", "a\0b",
]  # fmt: skip


@pytest.mark.parametrize("plain", ["lexical", "all-MiniLM-L6-v2", "glove.6B.300d", "BIOSSES", "naïve_1", "漢字"])
def test_plain_names_stay_as_they_are(plain: str) -> None:
    assert file_name_of(plain) == plain


def test_awkward_names_get_files_of_their_own(tmp_path: Path) -> None:
    made = [file_name_of(name) for name in AWKWARD]
    # Made names are names too, and must not meet those that they were made of.
    made += [file_name_of(name) for name in made if name not in AWKWARD]
    assert len(set(made)) == len(made)
    for name in made:
        assert len(name.encode()) <= 120
        assert (tmp_path / name).resolve().parent == tmp_path.resolve()
        (tmp_path / f"{name}.json").write_text(name)
        assert re.fullmatch(r"[\w.~-]*[\w~-]", name)
        assert not re.match(r"(?i)\.|(con|prn|aux|nul|com\d|lpt\d)(\.|$)", name)
    assert len(list(tmp_path.iterdir())) == len(made)


@given(st.text(), st.text())
def test_two_names_are_two_files(first: str, second: str) -> None:
    assert (file_name_of(first) == file_name_of(second)) == (first == second)
