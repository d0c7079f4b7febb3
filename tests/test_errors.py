"""What is said of packages that are absent, and of those that are there and cannot be imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medsenteval.errors import MissingExtraError, caused_by, import_extra


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "which is not installed; install it with: pip install"),
        ("raise ImportError('libcudart.so.12: no such file')", "which cannot be imported: libcudart.so.12: no such file; pip"),
        ("import absent_dependency_of_it", "which cannot be imported: No module named 'absent_dependency_of_it'; pip"),
    ],
)
def test_a_package_that_is_broken_is_not_called_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "package_of_an_extra.py").write_text(content, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError) as caught:
        import_extra("package_of_an_extra", "a probe", "torch", "package-of-an-extra")
    assert str(caught.value).startswith(f"a probe needs the package 'package-of-an-extra', {said}")
    assert "'medsenteval[torch]'" in str(caught.value)


def test_a_package_that_is_there_is_returned() -> None:
    assert import_extra("json", "a probe", "torch") is json


def test_the_cause_of_an_error_is_found_behind_others_and_in_a_circle() -> None:
    first, second, third = OSError("a"), ValueError("b"), KeyError("c")
    third.__cause__, second.__context__ = second, first
    assert caused_by(third, OSError) is True
    assert caused_by(third, (TypeError, MemoryError)) is False
    first.__context__ = third
    assert caused_by(third, TypeError) is False
