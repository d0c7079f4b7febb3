"""What loaders share: options read strictly, and files judged before a library opens them."""

from __future__ import annotations

import collections
import io
import json
import os
import re
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from medsenteval.encoders.model_files import (
    check_choices,
    environment,
    is_a,
    joined_files,
    number,
    read_json,
    torch_file_fault,
    two_files,
    whole_number,
)
from medsenteval.errors import EncoderError


def test_every_option_is_among_its_choices() -> None:
    check_choices("k", case=("a", ("a", "b")), pooling=("c", {"c": 1}))
    with pytest.raises(EncoderError, match=r"^k: pooling is 'd'; it can be a or c$"):
        check_choices("k", case=("a", ("a", "b")), pooling=("d", ("", "a", "c")))


def test_a_library_that_nobody_imported_has_made_nothing() -> None:
    assert is_a(collections.Counter(), "collections", "Counter")
    assert not is_a({}, "collections", "Counter")
    assert not is_a({}, "collections", "NoSuchClass")
    assert not is_a({}, "no_such_library", "Counter")


@pytest.mark.parametrize("text", ["", "-1", "1.0", " 1", "1_0", "１", "9" * 16, "4"])
def test_a_whole_number_has_ascii_digits_and_a_least_value(text: str) -> None:
    with pytest.raises(EncoderError, match=f"^k: size is {text!r}; it must be a whole number from 5$"):
        whole_number("k", "size", text, least=5)


def test_numbers_from_their_least_on() -> None:
    assert [whole_number("k", "size", text) for text in ("0", "007", "9" * 15)] == [0, 7, 10**15 - 1]
    assert whole_number("k", "size", "5", least=5) == 5
    assert [number("k", "size", text) for text in ("0", "1e-3", " 2.5 ")] == [0.0, 0.001, 2.5]
    assert number("k", "size", "0.5", least=0.5) == 0.5
    for text in ("", "nan", "inf", "-0.1", "1,5", "1e999"):
        with pytest.raises(EncoderError, match=f"^k: size is {text!r}; it must be a number from 0$"):
            number("k", "size", text)
    with pytest.raises(EncoderError, match=r"^k: size is '0.4'; it must be a number from 0\.5$"):
        number("k", "size", "0.4", least=0.5)


def test_a_variable_is_set_for_a_while_unless_the_user_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_SETTING", raising=False)
    with suppress(ZeroDivisionError), environment("SOME_SETTING", "1"):
        assert os.environ["SOME_SETTING"] == "1"
        raise ZeroDivisionError
    assert "SOME_SETTING" not in os.environ
    monkeypatch.setenv("SOME_SETTING", "mine")
    with environment("SOME_SETTING", "1"):
        assert os.environ["SOME_SETTING"] == "mine"
    assert os.environ["SOME_SETTING"] == "mine"


def test_json_is_read_as_what_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for content, message in [
        (b"[1]", r"a\.json holds a list; expected is a dict in JSON"),
        (b"{", r"a\.json cannot be read as JSON: "),
        (b"\xff", r"a\.json cannot be read as JSON: "),
        (b"[" * 200_000, r"a\.json cannot be read as JSON: "),
    ]:
        file.write_bytes(content)
        with pytest.raises(EncoderError, match=f"^k: .*{message}"):
            read_json(file, dict, "k")
    file.write_text(json.dumps({"a": 1}))
    assert read_json(file, dict, "k") == {"a": 1}
    for absent in (tmp_path / "none", tmp_path):
        with pytest.raises(EncoderError, match=r"^k: .* is missing or no file$"):
            read_json(absent, dict, "k")


def test_files_are_joined_by_a_plus_that_may_also_stand_in_names(tmp_path: Path) -> None:
    folder = tmp_path / "C++"
    folder.mkdir()
    first, second, third = (folder / name for name in ("a+b", "c", "d+"))
    for file in (first, second, third):
        file.touch()
    assert joined_files(str(first)) == [first]
    assert joined_files(f"{first}+{second}") == [first, second]
    assert joined_files(f"{third}+{first}") == [third, first]
    assert joined_files("plain") == [Path("plain")]
    assert joined_files("~/x+~/y") == [Path.home() / "x", Path.home() / "y"]
    assert two_files(f"{first}+{second}", "k", "e") == (first, second)
    with pytest.raises(EncoderError, match=re.escape(f"k: needs two files joined by '+', got {str(second)!r}; e")):
        two_files(str(second), "k", "e")
    for pair in (f"{second}+{tmp_path / 'none'}", f"{tmp_path / 'none'}+{second}"):
        with pytest.raises(EncoderError, match=re.escape(f"k: there is no file {tmp_path / 'none'}; e")):
            two_files(pair, "k", "e")


def test_a_file_of_torch_is_judged_by_its_first_and_last_bytes(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data.pkl", b"\x80\x02.")
    file = tmp_path / "m.pt"
    for content, fault in [
        (stream.getvalue(), ""),
        (stream.getvalue()[:-5], "its end is missing; is the download complete?"),
        (b"\x80\x02", ""),
        (b"PX", "it is not a file that torch.save wrote"),
        (b"", "it is not a file that torch.save wrote"),
        (b"x\x80", "it is not a file that torch.save wrote"),
    ]:
        file.write_bytes(content)
        assert torch_file_fault(file) == fault
