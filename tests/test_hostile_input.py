"""Broken and hostile files anywhere a file enters: one clear error with file and line, exit code 2, nothing half-written.

Each case with a number was found by fuzzing (tests/fuzz) and is kept here so that it stays mended.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.datasets.locate import locate
from medsenteval.encoders.contextual.elmo import read_options
from medsenteval.encoders.contextual.model_folder import check_modules
from medsenteval.encoders.static.vector_formats import FileOptions, read_vectors
from medsenteval.errors import DataError, DataMissingError, EncoderError, SettingsError
from medsenteval.registry import load_encoder, task
from medsenteval.running.suite_file import read_suite
from medsenteval.support import files
from medsenteval.support.files import read_json, read_lines, read_word_tables, read_xml

Write = Callable[..., Path]
DIGITS = "9" * 5000
CITATIONS = "".join(f"{('neutral', 'positive', 'negative')[i % 3]}\ttext {i} [C]\n" for i in range(40))


def vectors(path: Path, **options: str) -> list[int]:
    return [len(words) for words, _ in read_vectors(path, FileOptions(**options))]


def docx(document: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", document)
    return stream.getvalue()


# ---------------------------------------------------------------- a run on a bad file


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"", r"no readable row in the split 'all'"),
        (b"neutral\ta\nposi\0tive\tb\n", r"train\.txt:2: NUL byte"),
        ("neutral\ta\n".encode("utf-16"), r"train\.txt:1: this is UTF-16"),
        (gzip.compress(CITATIONS.encode(), mtime=0)[:-9], r"train\.txt:1: this is packed \(gz\)"),
        (docx(b"<x/>"), r"train\.txt:1: this is packed \(zip\).*data prepare"),
        (b"<!DOCTYPE html>\n<html>Sign in</html>", r"train\.txt:1: this is a web page"),
        (b"odd\ta\nodder\tb\n", r"train\.txt:1: unknown label 'odd'"),
        (b"neutral a\npositive b\n", r"train\.txt:1: 1 tab-separated field"),
    ],
)
def test_a_run_on_a_bad_file_ends_in_2_with_file_and_line(write: Write, tmp_path: Path, content: bytes, place: str) -> None:
    root = write({"CitationSA/train.txt": content})
    outcome = CliRunner().invoke(main, ["run", "-t", "CitationSA", "-d", str(root), "-o", str(tmp_path / "out"), "--quiet"])
    assert outcome.exit_code == 2
    assert "Traceback" not in outcome.output
    assert re.search(place, outcome.output), outcome.output
    assert not [path for path in (tmp_path / "out").rglob("*.json") if "failed" not in path.name]


@pytest.mark.parametrize(("start", "end"), [(b"\xef\xbb\xbf", b"\n"), (b"", b"\r\n"), (b"", b"\r"), (b"", b"")])
def test_byte_order_marks_and_line_ends_change_nothing(write: Write, start: bytes, end: bytes) -> None:
    lines = CITATIONS.encode().split(b"\n")[:-1]
    root = write({"CitationSA/train.txt": start + (end or b"\n").join(lines) + end})
    plain = write({"CitationSA/train.txt": CITATIONS}, "plain")
    read = task("CitationSA").read
    assert read(root / "CitationSA", {}).fingerprint == read(plain / "CitationSA", {}).fingerprint


@pytest.mark.parametrize("score", ["nan", "inf", "-Infinity", "1e999", "four", "", "1_0", "0x1"])
def test_scores_that_are_no_numbers_are_rejected_by_line(write: Write, score: str) -> None:
    root = write({"clinicalSTS.test.txt": f"a\tb\t1\nc\td\t{score}\ne\tf\t2\n"})
    dataset = task("ClinicalSTS").read(root, {"part": "test"})
    assert len(dataset) == 2
    assert (dataset.rejected[0].line, "is not a finite number" in dataset.rejected[0].reason) == (2, True)


def test_a_second_row_of_the_same_id_is_rejected(write: Write) -> None:
    pair = '<pair pid="{0}" value="true"><chq>a {1}</chq><faq>b</faq></pair>\n'
    train = "<r>\n" + pair.format(1, "x") + pair.format(1, "y") + pair.format(2, "z") + "</r>"
    root = write({"RQE_Train_8588_AMIA2016.xml": train, "RQE_Test_302_pairs_AMIA2016.xml": train.replace('pid="2"', 'pid="3"')})
    dataset = task("RQE").read(root, {})
    assert len(dataset.splits["train"]) == 2
    assert str(dataset.rejected[0]) == "RQE_Train_8588_AMIA2016.xml:3: pid 1: this id occurs before"


def test_two_different_ratings_of_one_pair_are_noticed(write: Write) -> None:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

    def table(*rows: tuple[str, ...]) -> bytes:
        cells = "".join(
            "<w:tr>" + "".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row) + "</w:tr>"
            for row in rows
        )
        return docx(f'<w:document xmlns:w="{space}"><w:body><w:tbl>{cells}</w:tbl></w:body></w:document>'.encode())

    pairs, ratings = table(("", "1", "2"), ("1", "a", "b")), table(("No", *"ABCDE"), ("1", *"00000"), ("1", *"44444"))
    dataset = task("BIOSSES").read(write({"Annotation-Pairs.docx": pairs, "Annotator-Scores.docx": ratings}), {})
    assert "rated before, and otherwise" in str(dataset.rejected[0])
    assert dataset.splits["all"].scores is not None
    assert dataset.splits["all"].scores.tolist() == [0.0]


def test_a_gigantic_line_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LONGEST_LINE", 1000)
    folder = write({"a.txt": "short\n" + "x" * 2000 + "\n", "b.txt": "line\n" * 500})
    with pytest.raises(DataError, match=r"a\.txt:2: a line of 2,000 characters"):
        read_lines(folder / "a.txt")
    assert len(read_lines(folder / "b.txt")[0]) == 500
    monkeypatch.setattr(files, "LARGEST_FILE", 100)
    with pytest.raises(DataError, match=r"a\.txt: more than 100 bytes"):
        read_lines(folder / "a.txt")


def test_a_folder_where_a_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "CitationSA/train.txt").mkdir(parents=True)
    with pytest.raises(DataMissingError, match=r"holds no file train\.txt"):
        task("CitationSA").read(tmp_path / "CitationSA", {})
    for read in (read_json, read_xml, read_lines, read_word_tables):
        with pytest.raises(DataError, match="CitationSA"):
            read(tmp_path / "CitationSA")
    with pytest.raises(EncoderError, match="CitationSA"):
        vectors(tmp_path / "CitationSA")
    with pytest.raises(SettingsError, match="cannot be read"):
        read_suite(tmp_path)


@contextmanager
def not_as_root(folder: Path) -> Iterator[None]:
    """Give a folder to a user without rights and become that user for a while, since root may read everything."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 12345, 12345)
    os.seteuid(12345)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_permissions_are_named() -> None:
    with tempfile.TemporaryDirectory() as place:  # which other users may enter, unlike pytest's own folders
        Path(place).chmod(0o755)
        root = Path(place) / "data"
        (root / "CitationSA").mkdir(parents=True)
        (root / "CitationSA/train.txt").write_text(CITATIONS, "utf-8")
        assert task("CitationSA").read(root / "CitationSA", {}).splits
        assert locate(task("CitationSA"), root).is_dir()
        with not_as_root(root):
            (root / "CitationSA/train.txt").chmod(0)
            with pytest.raises(DataError, match=r"train\.txt: cannot be read: Permission denied"):
                task("CitationSA").read(root / "CitationSA", {})
            root.chmod(0)
            with pytest.raises(DataMissingError, match="cannot be read: Permission denied"):
                locate(task("CitationSA"), root)
        root.chmod(0o700)


# ---------------------------------------------------------------- JSON, XML, Word, TOML


def test_numbers_of_thousands_of_digits_are_refused(write: Write) -> None:
    folder = write({"a.json": f'{{"a": {DIGITS}}}', "s.toml": f"seeds = [{DIGITS}]\n"})
    with pytest.raises(DataError, match=r"a\.json: not JSON of a data set"):  # 1
        read_json(folder / "a.json")
    with pytest.raises(SettingsError, match=r"s\.toml: not TOML"):  # 2
        read_suite(folder / "s.toml")
    row = '{"pairID": "1", "sentence1": "a", "sentence2": "b", "gold_label": "neutral"}\n'
    jsonl = write({f"mli_{name}_v1.jsonl": f'{{"x": {DIGITS}}}\n' + row for name in ("train", "dev", "test")}, "nli")
    assert [rejected.line for rejected in task("MedNLI").read(jsonl, {}).rejected] == [1, 1, 1]  # 3
    deep = write({"s.toml": "a = " + "[" * 5000}, "deep")
    with pytest.raises(SettingsError, match=r"s\.toml: not TOML"):
        read_suite(deep / "s.toml")


@pytest.mark.parametrize("encoding", ["x-none", "utf-7", "shift_jis", "utf-99999999999"])
def test_encodings_that_do_not_exist_or_fit(write: Write, encoding: str) -> None:
    xml = f'<?xml version="1.0" encoding="{encoding}"?><r><p/></r>'.encode()
    folder = write({"a.xml": xml, "a.docx": docx(xml)})
    with pytest.raises(DataError, match=r"a\.xml:1: not well-formed XML"):  # 4
        read_xml(folder / "a.xml")
    with pytest.raises(DataError, match=r"a\.docx: its word/document.xml cannot be read"):  # 5
        read_word_tables(folder / "a.docx")


def test_word_documents_with_damaged_insides(write: Write) -> None:
    good = docx(b"<a>" + os.urandom(3000).hex().encode() + b"</a>")
    damaged = bytearray(good)
    damaged[80:200] = bytes(120)
    folder = write({"a.docx": bytes(damaged)})
    with pytest.raises(DataError, match=r"a\.docx: not a Word document"):  # 6
        read_word_tables(folder / "a.docx")


@pytest.mark.parametrize("snippets", [5, "text", {"text": "a"}, [5], [{"text": 5}], None])
def test_snippets_of_the_wrong_shape_make_no_pair(write: Write, snippets: object) -> None:
    questions: list[dict[str, object]] = [
        {"id": "1", "type": "yesno", "body": "Is it?", "exact_answer": "yes", "snippets": snippets},
        {"id": "2", "type": "yesno", "body": "Was it?", "exact_answer": "no", "snippets": [{"text": "No."}]},
    ]
    names = ["BioASQ-trainingDataset6b.json", *(f"6B{i}_golden.json" for i in range(1, 6))]
    folder = write(
        {
            name: json.dumps({"questions": [{**question, "id": f"{name}{question['id']}"} for question in questions]})
            for name in names
        }
    )
    dataset = task("BioASQ").read(folder, {"snippets": "first"})
    assert len(dataset) == 6
    assert "without snippets" in dataset.rejected[0].reason


# ---------------------------------------------------------------- vector files


def test_headers_that_lie(write: Write) -> None:
    one = struct.pack("<2f", 1, 2)
    folder = write(
        {
            "digits.txt": f"{DIGITS} 2\nheart 1 2\nlung 3 4\n",
            "wide.bin": b"1 999999999\nheart \0" + one,
            "many.vec": "9 2\nheart 1 2\n",
            "short.bin": b"3 2\nheart " + one,
            "narrow.vec": "1 3\nheart 1 2\n",
        }
    )
    for name, complaint in (
        ("digits.txt", r"digits\.txt:1: expected a word"),  # 7
        ("wide.bin", r"wide\.bin:1: its first line promises vectors of 999999999 numbers"),  # 8
        ("many.vec", r"promises 9 words, it holds 1"),
        ("short.bin", r"short\.bin: ends, or loses its way, at word 2 of the 3"),
        ("narrow.vec", r"narrow\.vec:1: promises 3 numbers a word, but the lines after it hold 2"),
    ):
        with pytest.raises(EncoderError, match=complaint):
            vectors(folder / name)


def test_vector_lines_without_an_end(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    from medsenteval.encoders.static import vector_formats

    monkeypatch.setattr(vector_formats, "_LONGEST_LINE", 64)
    folder = write(
        {"a.txt": "heart 1 2\nlung 3 4\n" + "x" * 200, "b.txt": "".join(f"w{i} {i} {i}\n" for i in range(50)) + "last 1 2"}
    )
    with pytest.raises(EncoderError, match=r"a\.txt:3: a line of more than 64 bytes"):
        vectors(folder / "a.txt")
    assert sum(vectors(folder / "b.txt")) == 51


def test_zipped_vectors_with_damaged_directories(write: Write) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("v.txt", "heart 1 2\n")
    good = stream.getvalue()
    patched = bytearray(good)
    patched[good.index(b"PK\1\2") + 8] |= 0x20  # "compressed patched data", which no library reads
    patched[good.index(b"PK\3\4") + 6] |= 0x20
    moved = bytearray(good)
    moved[-6:-2] = b"\xff\xff\xff\x7f"
    folder = write({"patched.zip": bytes(patched), "moved.zip": bytes(moved), "cut.gz": gzip.compress(b"heart 1 2\n")[:-6]})
    for name in ("patched.zip", "moved.zip", "cut.gz"):  # 9
        with pytest.raises(EncoderError, match=f"{name}: cannot be unpacked"):
            vectors(folder / name)


def test_glove_vocabularies_that_lie(write: Write) -> None:
    folder = write({"vectors.bin": struct.pack("<4d", 1, 2, 3, 4), "vocab.txt": f"heart {DIGITS}\n"})
    with pytest.raises(EncoderError, match=r"vocab\.txt:1: expected 'word count'"):  # 10
        vectors(folder / "vectors.bin", layout="blocks")
    (folder / "vocab.txt").write_text("heart 3\n")
    with pytest.raises(EncoderError, match=r"absent\.bin: cannot be read"):  # 11
        load_encoder(f"vectors:{folder / 'absent.bin'},layout=blocks")


def test_elmo_options_beyond_all_numbers(write: Write) -> None:
    lstm = {"dim": 4, "n_layers": 2, "projection_dim": 2, "cell_clip": int("9" * 400), "use_skip_connections": True}
    cnn = {"max_characters_per_token": 50, "embedding": {"dim": 4}, "filters": [[1, 4]], "activation": "relu", "n_highway": 1}
    folder = write({"o.json": json.dumps({"char_cnn": cnn, "lstm": lstm}), "deep.json": "[" * 100_000})
    with pytest.raises(EncoderError, match=r"o\.json: not the options of a character-based biLM"):  # 12
        read_options(folder / "o.json")
    with pytest.raises(EncoderError, match=r"deep\.json cannot be read as JSON"):
        read_options(folder / "deep.json")


def test_a_module_whose_name_no_file_can_have_is_missing(tmp_path: Path) -> None:
    library = "sentence_transformers.models."
    (tmp_path / "modules.json").write_text(json.dumps([{"type": f"{library}Router", "path": ""}]))
    (tmp_path / "router_config.json").write_text(json.dumps({"types": {"9" * 300: f"{library}Dense"}}))
    with pytest.raises(EncoderError, match=r"is missing, but router_config\.json lists it"):
        check_modules(tmp_path, weights=True)
