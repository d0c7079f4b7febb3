"""Archives: unpacked inside their folder, or refused as a whole."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from medsenteval.datasets import archives
from medsenteval.datasets.archives import Limits, archive_kind, unpack
from medsenteval.errors import DataError
from tests.conftest import needs_libarchive

TEXT = b"one line\n" * 30


def make_zip(members: dict[str, bytes], mode: int = 0, flag: int = 0) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = mode << 16
            archive.writestr(info, content)
    raw = bytearray(stream.getvalue())
    if flag:
        for mark, place in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
            raw[raw.index(mark) + place] |= flag
    return bytes(raw)


def make_tar(
    names: dict[str, bytes], mode: Literal["w", "w:gz", "w:bz2", "w:xz"] = "w", kind: bytes = tarfile.REGTYPE
) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, content in names.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


@pytest.fixture
def archive(tmp_path: Path) -> Callable[[bytes, str], Path]:
    def write(content: bytes, name: str = "a.bin") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("zip", make_zip({"d/a.txt": TEXT, "b.txt": b""})),
        ("tar", make_tar({"d/a.txt": TEXT, "b.txt": b""})),
        ("gz", make_tar({"d/a.txt": TEXT, "b.txt": b""}, "w:gz")),
        ("bz2", make_tar({"d/a.txt": TEXT, "b.txt": b""}, "w:bz2")),
        ("xz", make_tar({"d/a.txt": TEXT, "b.txt": b""}, "w:xz")),
    ],
)
def test_archives_are_known_by_content_and_unpacked(archive: Write, tmp_path: Path, kind: str, content: bytes) -> None:
    path = archive(content)
    assert archive_kind(path) == kind
    found = unpack(path, tmp_path / "out")
    assert [file.relative_to(tmp_path / "out").as_posix() for file in found] == ["d/a.txt", "b.txt"]
    assert found[0].read_bytes() == TEXT


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_single_compressed_file(archive: Write, tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = archive(compress(TEXT), "train.txt.packed")
    assert [file.read_bytes() for file in unpack(path, tmp_path / "out")] == [TEXT]


@pytest.mark.realdata
def test_the_real_rar_of_biosses(realdata: Path, tmp_path: Path) -> None:
    needs_libarchive()
    found = unpack(realdata / "biosses/BIOSSES-Dataset.rar", tmp_path / "out")
    for file in found:
        assert file.read_bytes() == (realdata / "biosses/BIOSSES-Dataset" / file.name).read_bytes()
    assert sorted(file.name for file in found) == ["Annotation-Pairs.docx", "Annotator-Scores.docx"]


def test_rar_without_a_library_says_what_to_do(archive: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libarchive", None)
    with pytest.raises(DataError, match=r"a RAR archive; install .*medsenteval\[rar\].*or unpack it by hand"):
        unpack(archive(b"Rar!\x1a\x07\0rest"), tmp_path / "out")


def test_archives_within_archives_are_unpacked_to_a_depth(archive: Write, tmp_path: Path) -> None:
    content = make_zip(
        {"in.zip": make_zip({"a.txt": TEXT}), "d.docx": make_zip({"[Content_Types].xml": b"", "word/document.xml": b""})}
    )
    found = unpack(archive(content), tmp_path / "out")
    assert sorted(file.name for file in found) == ["a.txt", "d.docx"]
    for _ in range(4):
        content = make_zip({"in.zip": content})
    with pytest.raises(DataError, match="an archive within 3 archives"):
        unpack(archive(content, "deep.zip"), tmp_path / "deep")


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/etc/evil", "a/../../evil", "C:\\evil", "C:evil", "a\\..\\evil", "a\x01b", "."]
)
@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_names_that_lead_outside_are_refused(
    archive: Write, tmp_path: Path, name: str, make: Callable[[dict[str, bytes]], bytes]
) -> None:
    with pytest.raises(DataError, match="refused: "):
        unpack(archive(make({name: TEXT})), tmp_path / "deep" / "out")
    assert not [path for path in tmp_path.rglob("*evil*") if path.is_file()]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(archive: Write, tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(DataError, match="is a link or a device"):
        unpack(archive(make_tar({"a.txt": b""}, kind=kind)), tmp_path / "out")
    for mode in (0o120777, 0o020600):
        with pytest.raises(DataError, match="is a link or a device"):
            unpack(archive(make_zip({"a.txt": b"/etc/passwd"}, mode)), tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*"))


def test_bombs_are_refused_while_they_unpack(archive: Write, tmp_path: Path) -> None:
    bomb = make_zip({"zeros.txt": bytes(40_000_000)})
    with pytest.raises(DataError, match="more than 300 times its size"):
        unpack(archive(bomb), tmp_path / "out")
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()) < 30_000_000
    with pytest.raises(DataError, match="more than 1,000 bytes"):
        unpack(archive(gzip.compress(bytes(5000))), tmp_path / "gz", Limits(total_bytes=1000))
    with pytest.raises(DataError, match="more than 5 members"):
        unpack(archive(make_zip({f"{i}.txt": b"" for i in range(9)})), tmp_path / "many", Limits(members=5))


def test_odd_members_are_refused(archive: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="twice"):
        unpack(archive(make_tar({"a.txt": TEXT, "./a.txt": TEXT})), tmp_path / "twice")
    with pytest.raises(DataError, match="lies below a member that is a file"):
        unpack(archive(make_tar({"a": TEXT, "a/b": TEXT})), tmp_path / "below")
    with pytest.raises(DataError, match="more than 240 bytes"):
        unpack(archive(make_zip({"x" * 300: TEXT})), tmp_path / "long")
    with pytest.raises(DataError, match="is encrypted; unpack it"):
        unpack(archive(make_zip({"a.txt": TEXT}, flag=1)), tmp_path / "secret")


@pytest.mark.parametrize(
    "content",
    [make_zip({"a": TEXT})[:-30], make_tar({"a": TEXT}, "w:gz")[:-20], gzip.compress(TEXT)[:-9], b"PK\3\4junk"],
    ids=["zip", "tar", "gzip", "junk"],
)
def test_what_is_cut_short_is_refused(archive: Write, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"a\.bin: cannot be unpacked: .*is the download complete"):
        unpack(archive(content), tmp_path / "out")


def test_what_is_no_archive_is_said_so(archive: Write, tmp_path: Path) -> None:
    assert archive_kind(archive(b"just text")) == ""
    with pytest.raises(DataError, match="not an archive that is known here"):
        unpack(archive(b"just text"), tmp_path / "out")
    with pytest.raises(DataError, match="a 7z archive"):
        unpack(archive(b"7z\xbc\xaf\x27\x1c...."), tmp_path / "out")
    with pytest.raises(DataError, match="cannot be read"):
        archive_kind(tmp_path)


def test_folders_and_files_without_content_in_archives(archive: Write, tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as zipped:
        zipped.writestr("folder/", b"")
        zipped.writestr("folder/a.txt", TEXT)
    assert [file.name for file in unpack(archive(stream.getvalue()), tmp_path / "zip")] == ["a.txt"]
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        directory = tarfile.TarInfo("folder")
        directory.type = tarfile.DIRTYPE
        tar.addfile(directory)
        member = tarfile.TarInfo("folder/a.txt")
        member.size = len(TEXT)
        tar.addfile(member, io.BytesIO(TEXT))
    assert [file.name for file in unpack(archive(stream.getvalue()), tmp_path / "tar")] == ["a.txt"]


def test_a_damaged_rar_is_refused(archive: Write, tmp_path: Path) -> None:
    needs_libarchive()
    for magic in (b"Rar!\x1a\x07\0", b"Rar!\x1a\x07\x01\0"):
        with pytest.raises(DataError, match=r"a\.bin: cannot be unpacked: .*fetch it again, or unpack it by hand"):
            unpack(archive(magic + b"nonsense" * 20), tmp_path / "out")


def test_a_rar_whose_members_are_damaged_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its table of contents can be read; the bytes of a member cannot."""

    class ArchiveError(Exception):
        pass

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ArchiveError("File CRC error")

    @contextmanager
    def file_reader(name: str, format_name: str) -> Iterator[list[SimpleNamespace]]:
        yield [SimpleNamespace(pathname="a.txt", isdir=False, isfile=True, linkpath=None, get_blocks=broken)]

    monkeypatch.setitem(sys.modules, "libarchive", SimpleNamespace(ArchiveError=ArchiveError, file_reader=file_reader))
    path = tmp_path / "a.rar"
    path.write_bytes(b"Rar!\x1a\x07\0rest")
    with pytest.raises(DataError, match=r"a\.rar: cannot be unpacked: File CRC error; fetch it again, or unpack it by hand"):
        unpack(path, tmp_path / "out")


@pytest.mark.realdata
def test_the_real_rar_with_a_changed_byte_is_refused(realdata: Path, tmp_path: Path) -> None:
    needs_libarchive()
    content = bytearray((realdata / "biosses/BIOSSES-Dataset.rar").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "a.rar").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.rar: cannot be unpacked: .*fetch it again, or unpack it by hand"):
        unpack(tmp_path / "a.rar", tmp_path / "out")


def test_what_just_reaches_a_limit_is_unpacked(archive: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Limits() == Limits(total_bytes=8 * 1024**3, members=200_000, ratio=300.0, depth=3)
    many = archive(make_zip({f"{i}.txt": b"x" for i in range(5)}))
    assert len(unpack(many, tmp_path / "five", Limits(members=5))) == 5
    with pytest.raises(DataError, match="more than 4 members"):
        unpack(many, tmp_path / "four", Limits(members=4))
    large = archive(gzip.compress(bytes(5000)))
    assert unpack(large, tmp_path / "all", Limits(total_bytes=5000))[0].stat().st_size == 5000
    with pytest.raises(DataError, match="more than 4,999 bytes"):
        unpack(large, tmp_path / "less", Limits(total_bytes=4999))
    # What is small is no bomb, whatever its ratio; beyond that the ratio is asked.
    ratio = 5000 / large.stat().st_size
    assert unpack(large, tmp_path / "harmless", Limits(ratio=1.0))
    monkeypatch.setattr(archives, "_HARMLESS", 5000)
    assert unpack(large, tmp_path / "still harmless", Limits(ratio=1.0))
    monkeypatch.setattr(archives, "_HARMLESS", 4999)
    assert unpack(large, tmp_path / "just", Limits(ratio=ratio))
    with pytest.raises(DataError, match="as only bombs do"):
        unpack(large, tmp_path / "bomb", Limits(ratio=ratio * 0.999))
    assert unpack(archive(make_zip({"n" * 240: b"x", "a b/ c": b"y"})), tmp_path / "names")
    for name in ("n" * 241, "é" * 121):
        with pytest.raises(DataError, match="more than 240 bytes"):
            unpack(archive(make_zip({name: b"x"})), tmp_path / name[:3])
    with pytest.raises(DataError, match="outside of its folder"):
        unpack(archive(make_zip({"a\x1f": b"x"})), tmp_path / "control")
