"""Files are read as what they are, or refused with file, line and remedy."""

from __future__ import annotations

import bz2
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from medsenteval.datasets.archives import archive_kind
from medsenteval.errors import DataError
from medsenteval.support import files
from medsenteval.support.files import (
    clean_text,
    find_file,
    inner_text,
    parse_json,
    read_json,
    read_lines,
    read_word_tables,
    read_xml,
)

Write = Callable[..., Path]


def test_clean_text_collapses_every_kind_of_white_space() -> None:
    assert clean_text("  a\u00a0b\n\tc \r\n") == "a b c"


def test_clean_text_replaces_what_no_tokeniser_can_encode() -> None:
    assert clean_text("a\ud800 b\U0001f600") == "a\ufffd b\U0001f600"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_lf_crlf_or_cr(write: Write, end: str) -> None:
    folder = write({"f.txt": end.join(["one", "", "three"]) + end})
    assert read_lines(folder / "f.txt") == (["one", "", "three"], False)


def test_lines_do_not_break_at_form_feed_or_unicode_separators(write: Write) -> None:
    folder = write({"f.txt": "a\x0cb\u2028c\x85d\nsecond"})
    assert read_lines(folder / "f.txt")[0] == ["a\x0cb\u2028c\x85d", "second"]


def test_utf8_is_tried_before_latin1_and_a_byte_order_mark_is_no_text(write: Write) -> None:
    folder = write({"u.txt": "\ufeffbêta µ\n", "l.txt": "bêta µ\n".encode("latin-1")})
    assert read_lines(folder / "u.txt") == (["bêta µ"], False)
    assert read_lines(folder / "l.txt") == (["bêta µ"], True)


def test_nul_bytes_are_refused_with_their_line(write: Write) -> None:
    folder = write({"f.txt": b"fine\nbr\0ken\n"})
    with pytest.raises(DataError, match=r"f\.txt:2: NUL byte"):
        read_lines(folder / "f.txt")


def test_an_unreadable_path_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_lines(tmp_path)


def test_find_file_prefers_earlier_names_then_nearer_files(write: Write) -> None:
    folder = write({"Deep/PubMed_20k_RCT/train.txt": "x", "train.txt": "y", "Deep/other/train.txt": "z"})
    assert find_file(folder, "pubmed_20K_rct/TRAIN.txt", "train.txt") == folder / "Deep/PubMed_20k_RCT/train.txt"
    assert find_file(folder, "train.txt") == folder / "train.txt"
    assert find_file(folder, "absent.txt") is None


def test_find_file_does_not_guess_between_equals(write: Write) -> None:
    folder = write({"a/train.txt": "x", "b/train.txt": "y"})
    with pytest.raises(DataError, match=r"several files match 'train\.txt'"):
        find_file(folder, "train.txt")


def test_broken_json_names_file_and_line(write: Write) -> None:
    folder = write({"f.json": '{"a": 1,\n "b": }'})
    with pytest.raises(DataError, match=r"f\.json:2: not JSON"):
        read_json(folder / "f.json")
    deep = write({"g.json": "[" * 200_000})
    with pytest.raises(DataError, match=r"g\.json"):
        read_json(deep / "g.json")


def test_xml_elements_know_their_line_and_nested_text(write: Write) -> None:
    root, line_of = read_xml(write({"f.xml": "<r>\n<p a='1'>x <i>y</i> z</p>\n</r>"}) / "f.xml")
    assert [(child.tag, line_of[child], inner_text(child), child.get("a")) for child in root] == [("p", 2, "x y z", "1")]


def test_xml_bombs_and_truncation_are_refused(write: Write) -> None:
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><r>&b;</r>'
    external = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>'
    folder = write({"bomb.xml": bomb, "external.xml": external, "cut.xml": "<r>\n<p>"})
    for name in ("bomb.xml", "external.xml"):
        with pytest.raises(DataError, match="refused"):
            read_xml(folder / name)
    with pytest.raises(DataError, match=r"cut\.xml:2: not well-formed"):
        read_xml(folder / "cut.xml")


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>')
    return stream.getvalue()


def test_word_cells_join_runs_and_paragraphs(write: Write) -> None:
    cell = (
        "<w:tc><w:p><w:r><w:t>alp</w:t></w:r><w:r><w:t>ha</w:t></w:r></w:p><w:p><w:r><w:t>beta</w:t></w:r></w:p><w:p/></w:tc>"
    )
    folder = write({"d.docx": docx(f"<w:tbl><w:tr>{cell}<w:tc><w:p/></w:tc></w:tr></w:tbl>"), "no.docx": b"PK not a zip"})
    assert read_word_tables(folder / "d.docx") == [[["alpha beta", ""]]]
    with pytest.raises(DataError, match="not a Word document"):
        read_word_tables(folder / "no.docx")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8bx", r"this is packed \(gz\), not text; unpack it .*`medsenteval data prepare NAME --from FILE`"),
        (bz2.compress(b"x"), r"this is packed \(bz2\), not text"),
        (bz2.compress(b""), r"this is packed \(bz2\), not text"),
        (b"%PDF-1.7", "this is a PDF document, not text; save it as text in UTF-8"),
        (b"\xff\xfea\0", "this is UTF-16, not text; save it as text in UTF-8"),
        (b" \n<!DOCTYPE HTML>", "this is a web page, not data"),
    ],
)
def test_what_is_no_text_is_called_by_its_name(write: Write, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=f"f.txt:1: {message}"):
        read_lines(write({"f.txt": content}) / "f.txt")


@pytest.mark.parametrize(
    "content", [b"BZh is a gene.", b"BZh9 is one, too.", b"BZh01AY&SY", b"PK is a kinase.", b"Rar! it says"]
)
def test_a_text_may_begin_with_the_letters_of_a_packed_file(write: Write, content: bytes) -> None:
    path = write({"f.txt": content}) / "f.txt"
    assert read_lines(path) == ([content.decode()], False)
    assert archive_kind(path) == ""


def test_files_and_lines_beyond_any_data_set_are_refused(write: Write) -> None:
    folder = write({"f.txt": "", "long.txt": "b" * 10_000_000 + "\n" + "c" * 10_000_001})
    with (folder / "f.txt").open("r+b") as stream:
        stream.truncate(4 * 2**30 + 1)
    with pytest.raises(DataError, match=r"f\.txt: more than 4,294,967,296 bytes; that is no file of a data set"):
        read_lines(folder / "f.txt")
    with pytest.raises(DataError, match=r"long\.txt:2: a line of 10,000,001 characters"):
        read_lines(folder / "long.txt")


@pytest.mark.parametrize("fits", [True, False])
def test_a_word_document_may_unpack_to_so_much_and_no_more(write: Write, monkeypatch: pytest.MonkeyPatch, fits: bool) -> None:
    content = docx(
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t><w:tab/><w:noBreakHyphen/><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = archive.getinfo("word/document.xml").file_size
    folder = write({"d.docx": content})
    assert files._LARGEST_WORD_PART == 2**26
    monkeypatch.setattr(files, "_LARGEST_WORD_PART", size if fits else size - 1)
    if fits:
        assert read_word_tables(folder / "d.docx") == [[["a -b"]]]
    else:
        with pytest.raises(DataError, match=rf"its text unpacks to {size} bytes; that is no list of sentence pairs"):
            read_word_tables(folder / "d.docx")


def test_xml_of_an_unknown_encoding_and_of_a_folder_is_refused(write: Write) -> None:
    folder = write({"e.xml": '<?xml version="1.0" encoding="no-such"?><r/>'})
    with pytest.raises(DataError, match=r"e\.xml:1: not well-formed XML: .*; is its encoding declared rightly\?"):
        read_xml(folder / "e.xml")
    with pytest.raises(DataError, match=r"cannot be read: Is a directory; check the path and its permissions"):
        read_xml(folder)


@pytest.mark.parametrize(("line", "place"), [(None, r"f\.json"), (7, r"f\.json:7")])
def test_json_that_python_cannot_hold_is_refused_with_its_place(line: int | None, place: str) -> None:
    with pytest.raises(DataError, match=f"^{place}: nested too deeply"):
        parse_json("[" * 200_000, Path("f.json"), line)
    with pytest.raises(DataError, match=f"^{place}: not JSON of a data set: "):
        parse_json("9" * 10_000, Path("f.json"), line)
    with pytest.raises(DataError, match=rf"^f\.json:{line or 2}: not JSON: Expecting value"):
        parse_json("[\n", Path("f.json"), line)
