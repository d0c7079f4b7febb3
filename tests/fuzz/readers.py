"""The readers under test: a name, small valid files, and the function that reads them; a new reader is one entry of READERS."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import scipy.stats  # noqa: F401  # imported before memory is limited

from medsenteval import registry
from medsenteval.acquisition.archives import Limits, unpack
from medsenteval.acquisition.bundles import import_bundle
from medsenteval.acquisition.converting import convert
from medsenteval.acquisition.lock import DataLock
from medsenteval.acquisition.manifest import manifests, parse_manifests
from medsenteval.acquisition.preparing import prepare
from medsenteval.encoders.elmo import _read_options
from medsenteval.encoders.fasttext import _convert
from medsenteval.encoders.recipes import parse_recipes
from medsenteval.encoders.vector_formats import FileOptions, read_vectors
from medsenteval.store import ResultStore
from medsenteval.suitefile import read_suite
from medsenteval.tasks.files import read_json, read_word_tables, read_xml

__all__ = ["READERS", "Files", "Reader"]

Files = dict[str, bytes]


@dataclass(frozen=True)
class Reader:
    """``files`` are valid; ``read`` gets their folder; ``wrap`` packs mutated files into what is read (a zip, a Word document).

    ``weight`` is the share of inputs, lower for slow ones.
    """

    name: str
    files: Files
    read: Callable[[Path], Any]
    wrap: Callable[[Files], Files] | None = None
    weight: float = 1.0


def _text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def _task(name: str, **options: str) -> Callable[[Path], Any]:
    task = registry.task(name)
    return lambda folder: task.read(folder, options)


def _zip(files: Files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _word_document(name: str) -> Callable[[Files], Files]:
    return lambda files: {
        file.replace(".xml", ".docx"): _zip({"word/document.xml": content}) for file, content in files.items()
    }


def _table(*rows: tuple[str, ...]) -> bytes:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    cells = "".join(
        "<w:tr>" + "".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row) + "</w:tr>" for row in rows
    )
    return f'<w:document xmlns:w="{space}"><w:body><w:tbl>{cells}</w:tbl></w:body></w:document>'.encode()


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


def _tar(mode: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, content in (("a/b.txt", b"text\n" * 20), ("c.txt", b"more")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def _vectors(folder: Path) -> Any:
    file = next(path for path in sorted(folder.iterdir()) if path.is_file())
    return [len(words) for words, _ in read_vectors(file, FileOptions())]


def _glove_binary(folder: Path) -> Any:
    return list(read_vectors(folder / "vectors.bin", FileOptions(layout="blocks")))


def _fasttext(folder: Path) -> Any:
    scratch = folder / "out"
    scratch.mkdir(exist_ok=True)
    return _convert(folder / "m.bin", scratch)


def _fasttext_model() -> bytes:
    words = [b"</s>", b"heart", b"lung"]
    dimension, buckets = 2, 3
    described = struct.pack("<ii12id", 793712314, 12, dimension, 5, 5, 1, 5, 1, 2, 2, buckets, 3, 6, 100, 0.05)
    described += struct.pack("<iiiqq", len(words), len(words), 0, 99, -1)
    described += b"".join(word + b"\0" + struct.pack("<qb", 9, 0) for word in words)
    rows = len(words) + buckets
    described += struct.pack("<?qq", False, rows, dimension) + struct.pack(f"<{rows * dimension}f", *range(rows * dimension))
    return described + struct.pack("<?qq", False, len(words), dimension) + struct.pack(f"<{len(words) * dimension}f", *range(6))


def _result() -> bytes:
    metric = {"name": "acc", "value": 50.0, "low": 40.0, "high": 60.0, "baseline": 45.0, "unit": "percent", "n": 10}
    texts = ("task", "encoder", "encoder_identity", "protocol", "probe", "signature")
    result: dict[str, Any] = {"schema": 1, "metrics": [metric], "headline": ["acc"], "dimension": 3, "n_train": 0, "n_test": 10}
    result |= {"seed": 1, "synthetic": False, **dict.fromkeys(texts, "x")}
    result |= {name: [] for name in ("notes", "rejected", "files", "label_names")}
    return _json(
        result | {name: {} for name in ("coverage", "timings", "performance", "versions", "items", "details", "senteval")}
    )


def _results(folder: Path) -> Any:
    from medsenteval.report.table import detail_table, score_table

    found = ResultStore(folder).results()
    return (detail_table(found), score_table(found)) if found else None


def _prepared(name: str) -> Callable[[Path], Any]:
    """Prepare a data set from a folder of files, as ``data prepare`` does."""
    manifest = manifests()[name]

    def read(folder: Path) -> Any:
        files = [path for path in sorted(folder.iterdir()) if path.is_file()]
        return prepare(manifest, files, folder / "out", accept_rejected=True)

    return read


def _bundle(files: Files) -> Files:
    return {"bundle.zip": _zip(files)}


def _bundle_files() -> Files:
    import hashlib

    data = _text("neutral\tone [C] text", "positive\ttwo [C] text", "negative\tthree [C] text")
    name = "data/CitationSA/train.txt"
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    return {
        "bundle.json": _json({"schema": 1, "sets": {"CitationSA": {"folder": "CitationSA", "files": {name: facts}}}}),
        name: data,
    }


_QUESTIONS: Final = {
    "questions": [
        {
            "id": "1",
            "type": "yesno",
            "body": "Is it?",
            "exact_answer": "yes",
            "snippets": [{"text": "It is."}, {"text": "So."}],
        },
        {"id": "2", "type": "yesno", "body": "Was it?", "exact_answer": ["no"], "snippets": [{"text": "It was not."}]},
        {"id": "3", "type": "list", "body": "Which?", "snippets": []},
    ]
}
_RQE: Final = (
    '<RQE-med-{0}><pair pid="1" type="x" value="true"><chq> a b </chq><faq>c</faq></pair>\n'
    '<pair pid="2" value="false"><chq>d</chq><faq> e é </faq></pair></RQE-med-{0}>'
)
_NLI: Final = [
    json.dumps({"pairID": str(i), "sentence1": "p", "sentence2": f"h{i}", "gold_label": label})
    for i, label in enumerate(("entailment", "neutral", "contradiction"))
]
_ABSTRACT: Final = _text("###123", "OBJECTIVE\tTo test .", "RESULTS\tIt did ; 5 % .", "", "###124", "METHODS\tWe did .")
_PICO: Final = _text("###123", "AIM|A|To test .", "PATIENTS|P|Ten | eleven .", "", "###124:", "M|M| Did .")
_PAIRS: Final = _text("a b\tb c\t1.5", "d\te\t0", " f \tg\t5")

READERS: Final[tuple[Reader, ...]] = (
    Reader("MedNLI jsonl", {f"mli_{s}_v1.jsonl": _text(*_NLI) for s in ("train", "dev", "test")}, _task("MedNLI")),
    Reader(
        "MedNLI parallel",
        {
            f"{stem}.{s}": _text(*lines)
            for s in ("train", "dev", "test")
            for stem, lines in (("s1", "ab"), ("s2", "cd"), ("labels", ("neutral", "entailment")))
        },
        _task("MedNLI"),
    ),
    Reader(
        "RQE xml",
        {
            "RQE_Train_8588_AMIA2016.xml": _RQE.format("train").encode(),
            "RQE_Test_302_pairs_AMIA2016.xml": _RQE.format("test").encode(),
        },
        _task("RQE"),
    ),
    Reader("RQE text", {f"rqe_{s}.txt": _text("1\ttrue\ta b\tc", "2\tfalse\td\te") for s in ("train", "test")}, _task("RQE")),
    Reader("PubMed20K", {f"{s}.txt": _ABSTRACT for s in ("train", "dev", "test")}, _task("PubMed20K")),
    Reader("PICO", {f"PICO_{s}.txt": _PICO for s in ("train", "dev", "test")}, _task("PICO")),
    Reader(
        "VaccineSA join",
        {
            "TweetsAnnotation.txt": _text("111111\tx\tPositive", "222222\tx\tNegCost", "333333\tx\tNeutral"),
            "tweets.txt": _text("111111\tone", "222222\ttwo\ttabs", "444444\t"),
        },
        _task("VaccineSA"),
    ),
    Reader("VaccineSA joined", {"train.txt": _text("1\tPositive\tone", "1\tNegCost\ttwo")}, _task("VaccineSA")),
    Reader(
        "CitationSA", {"train.txt": _text("neutral\tone [C]", "positive\ttwo", "NEGATIVE\tthree\tfour")}, _task("CitationSA")
    ),
    Reader(
        "BioC xml",
        {
            "corpus.xml": _text(
                '<C><REVIEW REVIEW_PMID="1"><CLAIM ASSERTION="YS" QUESTION="Does it?" PMID="2">It <i>does</i>.</CLAIM>',
                '<CLAIM ASSERTION="NO" QUESTION="Does it?" PMID="3">Not.</CLAIM></REVIEW></C>',
            )
        },
        _task("BioC"),
    ),
    Reader("BioC text", {"train.txt": _text("Does it?\tIt does.\tYS", "Does it?\tNot.\tNO")}, _task("BioC")),
    *(
        Reader(
            f"BioASQ {snippets}",
            {
                "BioASQ-trainingDataset6b.json": _json(_QUESTIONS),
                **{f"6B{i}_golden.json": _json(_QUESTIONS) for i in range(1, 6)},
            },
            _task("BioASQ", snippets=snippets),
            weight=0.7,
        )
        for snippets in ("first", "all", "concat")
    ),
    Reader(
        "BioASQ text",
        {f"BioASQ_{s}.txt": _text("Is it?\tIt is.\tyes", "Was it?\tNot.\tno") for s in ("train", "test")},
        _task("BioASQ"),
    ),
    Reader("ClinicalSTS", {f"clinicalSTS.{s}.txt": _PAIRS for s in ("train", "test")}, _task("ClinicalSTS", part="all")),
    Reader(
        "STS folder",
        {"STS.input.clinical-STS.txt": _text("a\tb", "c\td", "e\tf"), "STS.gs.clinical-STS.txt": _text("1.5", "", "3")},
        _task("ClinicalSTS"),
    ),
    Reader(
        "BIOSSES Word",
        {
            "Annotation-Pairs.xml": _table(("", "Sentence 1", "Sentence 2"), ("1 ", "a b", "c"), ("2", "d", "e")),
            "Annotator-Scores.xml": _table(("No", *"ABCDE"), ("1", *"01234"), ("2", *"44444")),
        },
        _task("BIOSSES"),
        _word_document("BIOSSES"),
    ),
    Reader(
        "BIOSSES Word bytes",
        {
            "Annotation-Pairs.docx": _zip({"word/document.xml": _table(("", "1", "2"), ("1", "a", "b"))}),
            "Annotator-Scores.docx": _zip({"word/document.xml": _table(("No", *"ABCDE"), ("1", *"01234"))}),
        },
        _task("BIOSSES"),
    ),
    Reader(
        "BIOSSES tsv",
        {
            "biosses.tsv": _text(
                "sentence_id\tsentence_1\tsentence_2\tannotator_a\tannotator_b\tannotator_c\tannotator_d\tannotator_e",
                "1\ta b\tc\t0\t1\t2\t3\t4",
                "2\td\te\t4\t4\t4\t4\t4",
            )
        },
        _task("BIOSSES"),
    ),
    Reader("any JSON", {"f.json": _json(_QUESTIONS)}, lambda folder: read_json(folder / "f.json")),
    Reader("any XML", {"f.xml": _RQE.format("x").encode()}, lambda folder: read_xml(folder / "f.xml").text),
    Reader(
        "any Word table", {"d.xml": _table(("a", "b"))}, lambda folder: read_word_tables(folder / "d.docx"), _word_document("d")
    ),
    Reader("vectors text", {"v.txt": _text("heart 1 2.5 -3e-2", "of the 4 5 6", "é 7 8 9")}, _vectors),
    Reader("vectors with header", {"v.vec": _text("3 2", "heart 1 2.5", "lung 4 5", "é 7 8")}, _vectors),
    Reader(
        "vectors binary", {"v.bin": b"2 2\nheart " + struct.pack("<2f", 1, 2) + b"\nlung " + struct.pack("<2f", 3, 4)}, _vectors
    ),
    Reader(
        "vectors gz",
        {"v.txt": _text("heart 1 2.5", "lung 4 5")},
        _vectors,
        lambda files: {"v.gz": gzip.compress(files["v.txt"], 1)},
    ),
    Reader("vectors gz bytes", {"v.gz": gzip.compress(_text("heart 1 2.5", "lung 4 5"))}, _vectors),
    Reader("vectors zip bytes", {"v.zip": _zip({"v.txt": _text("heart 1 2.5", "lung 4 5")})}, _vectors),
    Reader(
        "GloVe binary", {"vectors.bin": struct.pack("<12d", *range(12)), "vocab.txt": _text("heart 9", "lung 5")}, _glove_binary
    ),
    Reader("fastText bin", {"m.bin": _fasttext_model()}, _fasttext, weight=0.5),
    Reader(
        "ELMo options",
        {
            "o.json": _json(
                {
                    "char_cnn": {
                        "max_characters_per_token": 50,
                        "embedding": {"dim": 4},
                        "filters": [[1, 4]],
                        "activation": "relu",
                        "n_highway": 1,
                    },
                    "lstm": {
                        "dim": 4,
                        "n_layers": 2,
                        "projection_dim": 2,
                        "cell_clip": 3,
                        "proj_clip": 3,
                        "use_skip_connections": True,
                    },
                }
            )
        },
        lambda folder: _read_options(folder / "o.json"),
    ),
    Reader(
        "suite.toml",
        {
            "s.toml": _text(
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
        lambda folder: read_suite(folder / "s.toml"),
    ),
    Reader("results store", {"r.json": _result()}, _results),
    Reader(
        "lock file",
        {"data.lock.json": _json({"schema": 1, "files": {"RQE/a": {"sha256": "0" * 64, "size": 1, "url": "http://x/"}}})},
        DataLock,
    ),
    Reader(
        "manifest",
        {
            "m.toml": _text(
                "[RQE]",
                'page = "https://x.org/"',
                'tasks = ["RQE"]',
                "[[RQE.files]]",
                'path = "a.txt"',
                'content = "^a"',
                "rows = 3",
                "[[RQE.downloads]]",
                'name = "a.zip"',
                'urls = ["https://x.org/a"]',
            )
        },
        lambda folder: parse_manifests((folder / "m.toml").read_text("utf-8", "replace"), "m"),
    ),
    Reader(
        "recipes",
        {
            "r.toml": _text(
                "[a-b]",
                'title = "t"',
                'kind = "vectors"',
                'argument = "{v}"',
                "dimension = 3",
                "automatic = false",
                'files = { v = "a/b.txt" }',
                'obtain = "o"',
                'source = "https://x.org/"',
                'licence = "l"',
                "[[a-b.rows]]",
                'file = "medsenteval_table3"',
                'row = "GloVe_840B"',
            )
        },
        lambda folder: parse_recipes((folder / "r.toml").read_text("utf-8", "replace")),
    ),
    Reader(
        "zip names",
        {"names.txt": _text("a.txt", "b/c.txt\t100644", "../x", "/abs", "link\t120777"), "content.bin": b"text"},
        _unpack_all,
        _named_zip,
        weight=0.5,
    ),
    Reader(
        "tar names",
        {"names.txt": _text("a.txt", "b/c.txt\t0", "../x", "/abs", "link\t2", "dev\t3"), "content.bin": b"text"},
        _unpack_all,
        _named_tar,
        weight=0.3,
    ),
    Reader("zip bytes", {"a.zip": _zip({"a/b.txt": b"text\n" * 20, "c.txt": b"more"})}, _unpack_all, weight=0.7),
    Reader("tar bytes", {"a.tar": _tar("w:")}, _unpack_all, weight=0.5),
    Reader("tgz bytes", {"a.tgz": _tar("w:gz")}, _unpack_all, weight=0.5),
    Reader("bz2 bytes", {"a.bz2": bz2.compress(b"text\n" * 20)}, _unpack_all, weight=0.7),
    Reader("xz bytes", {"a.xz": lzma.compress(b"text\n" * 20)}, _unpack_all, weight=0.7),
    Reader(
        "tweets jsonl",
        {
            "t.jsonl": _text(
                '{"id": 111111, "text": "one"}',
                '{"id_str": "222222", "full_text": "two"}',
                '{"data": {"id": "333333", "text": "x"}}',
            )
        },
        lambda folder: convert("tweets", "tweets.txt", folder / "t.jsonl"),
    ),
    Reader(
        "tweets json",
        {"t.json": b'[{"id": 111111, "text": "one"}, {"tweet": {"id": 2222, "text": "two"}}]'},
        lambda folder: convert("tweets", "tweets.txt", folder / "t.json"),
    ),
    Reader(
        "tweets csv",
        {"t.csv": _text("id,lang,text", '111111,en,"one, two"', "222222,en,x")},
        lambda folder: convert("tweets", "tweets.txt", folder / "t.csv"),
    ),
    Reader(
        "tweets tsv",
        {"t.tsv": _text("111111\tone", "222222\ttwo")},
        lambda folder: convert("tweets", "tweets.txt", folder / "t.tsv"),
    ),
    Reader(
        "SNLI",
        {"snli_1.0_dev.txt": _text("gold_label\tsentence1\tsentence2", "neutral\ta\tb", "-\tc\td")},
        lambda folder: convert("snli", "snli_1.0_dev.txt", folder / "snli_1.0_dev.txt"),
    ),
    Reader(
        "prepare RQE",
        {"a.xml": _RQE.format("train").encode(), "b.xml": _RQE.format("test").encode()},
        _prepared("RQE"),
        weight=0.2,
    ),
    Reader(
        "prepare VaccineSA",
        {
            "TweetsAnnotation.txt": _text("111111\tx\tPositive", "222222\tx\tNegCost"),
            "t.jsonl": _text('{"id": 111111, "text": "one"}', '{"id": 222222, "text": "two"}'),
        },
        _prepared("VaccineSA"),
        weight=0.2,
    ),
    Reader("bundle", _bundle_files(), lambda folder: import_bundle(folder / "bundle.zip", folder / "out"), _bundle, weight=0.2),
)
