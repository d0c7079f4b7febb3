"""Opening the files of a data set: text with its line numbers, XML, JSON, Word tables; and finding them by name.

Everything here refuses loudly: a file is read as what it claims to be, or a DataError names the file, the line and the
remedy. Nothing is decoded by guess: UTF-8 first, Latin-1 only where UTF-8 is impossible, and the caller is told.
"""

from __future__ import annotations

import gzip
import json
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

import defusedxml.ElementTree
from defusedxml.common import DefusedXmlException

from medsenteval.errors import DataError

#: What Python's own unpackers raise when an archive or compressed file is damaged, cut or made to hurt.
#: A damaged header can surface as any of these: sizes that overflow, offsets before the start, flags that name no method.
DAMAGED: Final = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, struct.error, EOFError, OSError,
    ValueError, IndexError, KeyError, OverflowError, MemoryError, NotImplementedError, RuntimeError,
)  # fmt: skip
LINE_END: Final = re.compile(r"\r\n|\n|\r")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LARGEST_WORD_PART: Final = 64 * 1024 * 1024
#: Far above every data set here; a larger file is something else and would only fill the memory.
LARGEST_FILE: Final = 4 * 1024**3
_LONGEST_LINE: Final = 10_000_000
#: Patterns of how archives and compressed files begin; a text may begin with BZh, so bzip2's block or end mark must follow.
_PACKED: Final = (
    (b"PK\3\4", "zip"),
    (b"PK\5\6", "zip"),
    (b"Rar!\x1a\x07", "rar"),
    (b"\x1f\x8b", "gz"),
    (rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", "bz2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
)
#: How other files begin that are offered as text by mistake.
_NOT_TEXT: Final = ((b"%PDF-", "a PDF document"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
WEB_PAGE: Final = re.compile(rb"\s*<(!doctype html|html[\s>])", re.IGNORECASE)
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def clean_text(text: str) -> str:
    """Collapse every run of white space, line ends and no-break spaces included, to one blank.

    Half of a surrogate pair, which JSON can hold and no tokeniser can encode, becomes the replacement character.
    """
    return " ".join(_LONE_SURROGATE.sub("\ufffd", text).split())


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the file below ``folder`` that matches the first of ``names`` to match at all.

    A name may hold ``*`` and leading folders ("PubMed_20k_RCT/train.txt"); case is ignored; the file nearest to
    ``folder`` wins, and two equally near ones are an error rather than a guess.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for name in names:
        if matches := [path for path in files if name_fits(path.relative_to(folder).parts, name)]:
            nearest = min(len(path.parts) for path in matches)
            candidates = [path for path in matches if len(path.parts) == nearest]
            if len(candidates) > 1:
                listed = ", ".join(str(path.relative_to(folder)) for path in candidates)
                raise DataError(f"{folder}: several files match {name!r}: {listed}; keep the one that is meant")
            return candidates[0]
    return None


def name_fits(parts: Sequence[str], name: str) -> bool:
    """Say whether the last parts of a path are a name, which may hold ``*`` and leading folders; case is ignored."""
    wanted = name.casefold().split("/")
    last = [part.casefold() for part in parts[-len(wanted) :]]
    return len(last) == len(wanted) and all(map(fnmatchcase, last, wanted))


def read_bytes(path: Path, size: int = -1) -> bytes:
    """Return a file's content, or its first bytes, or a DataError that says why it cannot be read."""
    try:
        if size < 0 and path.stat().st_size > LARGEST_FILE:
            raise DataError(f"{path}: more than {LARGEST_FILE:,} bytes; that is no file of a data set")
        with open(path, "rb") as stream:
            return stream.read(size)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; check the path and its permissions") from error


def packed_kind(content: bytes) -> str:
    """Return zip, rar, gz, bz2, xz or 7z where a file begins as such a one does, else ""."""
    return next((kind for pattern, kind in _PACKED if re.match(pattern, content)), "")


def read_text(path: Path) -> tuple[str, bool]:
    """Return a file's text and whether it had to be read as Latin-1 because it is not UTF-8."""
    return decode_text(read_bytes(path), path)


def decode_text(raw: bytes, path: Path) -> tuple[str, bool]:
    """Return the text in a file's content, and whether that is Latin-1, or say why it is no text."""
    if kind := packed_kind(raw):
        remedy = "unpack it (for data sets `medsenteval data prepare NAME --from FILE` does)"
        raise DataError(f"{path}:1: this is packed ({kind}), not text; {remedy}")
    for beginning, what in _NOT_TEXT:
        if raw.startswith(beginning):
            raise DataError(f"{path}:1: this is {what}, not text; save it as text in UTF-8")
    if WEB_PAGE.match(raw):
        raise DataError(f"{path}:1: this is a web page, not data; was a log-in or an error page saved? Fetch it again")
    if b"\0" in raw:
        line = raw.count(b"\n", 0, raw.index(b"\0")) + 1
        raise DataError(f"{path}:{line}: NUL byte in a text file; is it compressed, or UTF-16? Convert it to UTF-8")
    try:
        return raw.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        return raw.decode("latin-1"), True


def read_lines(path: Path) -> tuple[list[str], bool]:
    """Return a file's lines without their ends (LF, CRLF or CR) and whether it was Latin-1; line i + 1 is item i.

    str.splitlines would also break at form feeds and Unicode separators, which occur inside abstracts.
    """
    text, latin1 = read_text(path)
    lines = LINE_END.split(text)
    if lines and not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if len(line) > _LONGEST_LINE:
            raise DataError(f"{path}:{number}: a line of {len(line):,} characters; are its line ends lost? Fetch it again")
    return lines, latin1


def read_json(path: Path) -> Any:
    """Parse a whole JSON file."""
    return parse_json(read_text(path)[0], path)


def parse_json(text: str, path: Path, line: int | None = None) -> Any:
    """Parse JSON that stands in a file, on one ``line`` of it if that is given; an error names the place."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{line or error.lineno}: not JSON: {error.msg}; is the download complete?") from error
    except RecursionError as error:
        raise DataError(f"{path}{f':{line}' if line else ''}: nested too deeply to be a data set") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise DataError(f"{path}{f':{line}' if line else ''}: not JSON of a data set: {error}") from error


def read_xml(path: Path) -> tuple[Element, dict[Element, int]]:
    """Parse an XML file without entity expansion or external references; return its root and each element's first line."""
    line_of: dict[Element, int] = {}

    class NumberingBuilder(TreeBuilder):
        def start(self, tag: str, attrs: dict[str, str]) -> Element:
            element = super().start(tag, attrs)
            line_of[element] = parser.parser.CurrentLineNumber
            return element

    parser = defusedxml.ElementTree.DefusedXMLParser(target=NumberingBuilder())
    try:
        parser.feed(read_bytes(path))
        return parser.close(), line_of
    except ParseError as error:
        raise DataError(f"{path}:{error.position[0]}: not well-formed XML: {error}; is the download complete?") from error
    except DefusedXmlException as error:
        raise DataError(f"{path}: refused, it declares entities or external references: {error}") from error
    except (ValueError, LookupError) as error:  # an encoding that does not exist or that expat cannot read
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}:1: not well-formed XML: {error}; is its encoding declared rightly?") from error


def inner_text(element: Element) -> str:
    """Return all text inside an element, mark-up removed."""
    return "".join(element.itertext())


def read_word_tables(path: Path) -> list[list[list[str]]]:
    """Return the tables of a Word document (.docx) as rows of cleaned cell texts."""
    try:
        with zipfile.ZipFile(path) as archive:
            part = archive.getinfo("word/document.xml")
            if part.file_size > _LARGEST_WORD_PART:
                raise DataError(f"{path}: its text unpacks to {part.file_size:,} bytes; that is no list of sentence pairs")
            content = archive.read(part)  # never more than it declares
    except DAMAGED as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: not a Word document (.docx): {error}; fetch it again") from error
    try:
        root = defusedxml.ElementTree.fromstring(content)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:  # the last two: encodings that do not exist
        raise DataError(f"{path}: its word/document.xml cannot be read: {error}; fetch it again") from error
    return [
        [[_cell_text(cell) for cell in row.iter(f"{_WORD}tc")] for row in table.iter(f"{_WORD}tr")]
        for table in root.iter(f"{_WORD}tbl")
    ]


def _cell_text(cell: Element) -> str:
    """Join the runs of each paragraph without, and the paragraphs with, a blank."""
    marks = {f"{_WORD}tab": " ", f"{_WORD}br": " ", f"{_WORD}cr": " ", f"{_WORD}noBreakHyphen": "-"}
    paragraphs = (
        "".join(node.text or "" if node.tag == f"{_WORD}t" else marks.get(node.tag, "") for node in paragraph.iter())
        for paragraph in cell.iter(f"{_WORD}p")
    )
    return clean_text(" ".join(paragraphs))
