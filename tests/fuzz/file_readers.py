"""Readers of archives, bundles, suites, stored results, lock files and tweets, each with small valid files."""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, Literal

from medsenteval.datasets.archives import Limits, unpack
from medsenteval.datasets.bundle import import_bundle
from medsenteval.datasets.convert import CONVERSIONS
from medsenteval.datasets.download import read_lock
from medsenteval.datasets.manifest import manifests
from medsenteval.datasets.prepare import prepare
from medsenteval.probes import describe_probe
from medsenteval.running.suite_file import read_suite, what_needs_trust
from medsenteval.settings import Settings
from tests.fuzz.mutating import mutate
from tests.fuzz.reader import Files, Reader, as_json, as_text, as_zip
from tests.fuzz.task_readers import RQE_XML

__all__ = ["FILE_READERS"]


def _named_zip(files: Files) -> Files:
    """Build a zip whose members' names, and whether they are links, come from a (mutated) list."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for line in files["names.txt"].decode("utf-8", "replace").split("\n")[:40]:
            name, _, mode = line.partition("\t")
            info = zipfile.ZipInfo("x")
            info.filename = name[:2000] or "x"
            info.external_attr = (
                int(mode, 8)
                if mode.isascii() and mode.isdigit() and "8" not in mode and "9" not in mode and len(mode) < 7
                else 0
            ) << 16
            archive.writestr(info, files["content.bin"])
    return {"a.zip": stream.getvalue()}


def _named_tar(files: Files) -> Files:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for line in files["names.txt"].decode("utf-8", "replace").split("\n")[:40]:
            name, _, kind = line.partition("\t")
            info = tarfile.TarInfo(name[:2000])
            info.type = kind[:1].encode("ascii", "replace") or tarfile.REGTYPE
            info.linkname = "/etc/passwd"
            info.size = len(files["content.bin"]) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(files["content.bin"]))
    return {"a.tgz": stream.getvalue()}


def _unpack_all(folder: Path) -> Any:
    limits = Limits(total_bytes=20_000_000, members=200)
    return [unpack(path, folder / "out" / path.name, limits) for path in sorted(folder.iterdir()) if path.is_file()]


def _tar(mode: Literal["w:", "w:gz", "w:bz2", "w:xz"]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, content in (("a/b.txt", b"text\n" * 20), ("c.txt", b"more")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


_TOML_VALUES: Final = (
    "5", "-1", "2.5", "nan", "inf", "1e400", "true", '"x"', '""', "[]", "{}", "[[]]", "[5]", '["x"]', "[true]", "[-1]", "[2.5]",
    '{a = 1}', '{BioASQ = 5}', "1979-05-27", "9" * 25, '"~nobody/x"', '"\\u0000"', '"dask://a:1"', '"python:os:system"',
    '["Py-Thon:os:system"]', '"processes:0"', '"lexical,name="', '["lexical,x=y"]', '"' + "9" * 400 + '"', '"tls://a"',
)  # fmt: skip


def _mutate_toml(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Give a key another value, or a key that may be there a value, or change bytes."""
    if rng.random() < 0.2:
        return mutate(content, rng, others)
    lines = content.decode("utf-8", "replace").split("\n")
    place, value = rng.randrange(len(lines)), rng.choice(_TOML_VALUES)
    keys = ["settings", "task_options", "executor", "output", "encoders", "seeds", *(each.name for each in fields(Settings))]
    if rng.random() < 0.6 and "=" in lines[place]:
        lines[place] = f"{lines[place].partition('=')[0]}= {value}"
    else:
        lines.insert(place, f"{rng.choice(keys)} = {value}")
    return "\n".join(lines).encode()


def _suite(folder: Path) -> Any:
    described = read_suite(folder / "s.toml")
    return what_needs_trust(described), describe_probe(described.settings, {}, 100)


def _prepared(name: str) -> Callable[[Path], Any]:
    """Prepare a data set from a folder of files, as ``data prepare`` does."""
    manifest = manifests()[name]

    def read(folder: Path) -> Any:
        files = [path for path in sorted(folder.iterdir()) if path.is_file()]
        return prepare(manifest, files, folder / "out", accept_rejected=True, allow_incomplete=True)

    return read


def _bundle(files: Files) -> Files:
    return {"bundle.zip": as_zip(files)}


def _bundle_files() -> Files:
    data = as_text("neutral\tone [C] text", "positive\ttwo [C] text", "negative\tthree [C] text")
    name = "data/CitationSA/train.txt"
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    return {
        "bundle.json": as_json({"schema": 1, "sets": {"CitationSA": {"folder": "CitationSA", "files": {name: facts}}}}),
        name: data,
    }


FILE_READERS: Final[tuple[Reader, ...]] = (
    Reader(
        "suite.toml",
        {
            "s.toml": as_text(
                'encoders = ["lexical"]',
                'tasks = ["BIOSSES", "RQE"]',
                "seeds = [1, 2]",
                'data = "d"',
                "[settings]",
                "folds = 5",
                'probe = "exact"',
                "[task_options.BioASQ]",
                'snippets = "all"',
            )
        },
        _suite,
        mutate=_mutate_toml,
    ),
    Reader(
        "lock file",
        {"data.lock.json": as_json({"schema": 1, "files": {"RQE/a": {"sha256": "0" * 64, "size": 1, "url": "http://x/"}}})},
        read_lock,
    ),
    Reader(
        "zip names",
        {"names.txt": as_text("a.txt", "b/c.txt\t100644", "../x", "/abs", "link\t120777"), "content.bin": b"text"},
        _unpack_all,
        _named_zip,
        weight=0.5,
    ),
    Reader(
        "tar names",
        {"names.txt": as_text("a.txt", "b/c.txt\t0", "../x", "/abs", "link\t2", "dev\t3"), "content.bin": b"text"},
        _unpack_all,
        _named_tar,
        weight=0.3,
    ),
    Reader("zip bytes", {"a.zip": as_zip({"a/b.txt": b"text\n" * 20, "c.txt": b"more"})}, _unpack_all, weight=0.7),
    Reader("tar bytes", {"a.tar": _tar("w:")}, _unpack_all, weight=0.5),
    Reader("tgz bytes", {"a.tgz": _tar("w:gz")}, _unpack_all, weight=0.5),
    Reader("bz2 bytes", {"a.bz2": bz2.compress(b"text\n" * 20)}, _unpack_all, weight=0.7),
    Reader("xz bytes", {"a.xz": lzma.compress(b"text\n" * 20)}, _unpack_all, weight=0.7),
    Reader(
        "tweets jsonl",
        {
            "t.jsonl": as_text(
                '{"id": 111111, "text": "one"}',
                '{"id_str": "222222", "full_text": "two"}',
                '{"data": {"id": "333333", "text": "x"}}',
            )
        },
        lambda folder: CONVERSIONS["tweets"]("tweets.txt", folder / "t.jsonl"),
    ),
    Reader(
        "tweets json",
        {"t.json": b'[{"id": 111111, "text": "one"}, {"tweet": {"id": 2222, "text": "two"}}]'},
        lambda folder: CONVERSIONS["tweets"]("tweets.txt", folder / "t.json"),
    ),
    Reader(
        "tweets csv",
        {"t.csv": as_text("id,lang,text", '111111,en,"one, two"', "222222,en,x")},
        lambda folder: CONVERSIONS["tweets"]("tweets.txt", folder / "t.csv"),
    ),
    Reader(
        "tweets tsv",
        {"t.tsv": as_text("111111\tone", "222222\ttwo")},
        lambda folder: CONVERSIONS["tweets"]("tweets.txt", folder / "t.tsv"),
    ),
    Reader(
        "SNLI",
        {"snli_1.0_dev.txt": as_text("gold_label\tsentence1\tsentence2", "neutral\ta\tb", "-\tc\td")},
        lambda folder: CONVERSIONS["snli"]("snli_1.0_dev.txt", folder / "snli_1.0_dev.txt"),
    ),
    Reader(
        "prepare RQE",
        {"a.xml": RQE_XML.format("train").encode(), "b.xml": RQE_XML.format("test").encode()},
        _prepared("RQE"),
        weight=0.2,
    ),
    Reader(
        "prepare VaccineSA",
        {
            "TweetsAnnotation.txt": as_text("111111\tx\tPositive", "222222\tx\tNegCost"),
            "t.jsonl": as_text('{"id": 111111, "text": "one"}', '{"id": 222222, "text": "two"}'),
        },
        _prepared("VaccineSA"),
        weight=0.2,
    ),
    Reader("bundle", _bundle_files(), lambda folder: import_bundle(folder / "bundle.zip", folder / "out"), _bundle, weight=0.2),
)
