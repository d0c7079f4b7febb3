"""From whatever people have to a verified folder, or to an exact explanation; never to half of one."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.datasets.convert import CONVERSIONS
from medsenteval.datasets.locate import sample_root
from medsenteval.datasets.manifest import DataFile, Manifest, manifest
from medsenteval.datasets.prepare import Prepared, prepare, staging
from medsenteval.datasets.recognise import candidates_below, recognise
from medsenteval.datasets.status import DIFFERS, INCOMPLETE, MISSING, READY, SYNTHETIC, examine, what_to_do
from medsenteval.errors import DataError
from tests.conftest import needs_libarchive

Write = Callable[..., Path]
LABELS = ("neutral", "positive", "negative")
CITATIONS = "".join(f"{LABELS[i % 3]}\ttext number {i} [C]\n" for i in range(4_182))
ABSTRACT = "###1\nOBJECTIVE\tTo test 5 mg .\nMETHODS\tWe did .\n\n"


def files_below(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def prepared(name: str, *sources: Path, root: Path, **options: bool) -> Prepared:
    return prepare(manifest(name), list(sources), root, **options)


def run(*arguments: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(main, ["data", *arguments], catch_exceptions=False)
    return outcome.exit_code, outcome.output


def zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, f"some folder/{path.relative_to(folder)}")
    return target


def test_a_file_of_any_name_is_known_by_its_content(write: Write, tmp_path: Path) -> None:
    source = write({"download (1).dat": CITATIONS}) / "download (1).dat"
    found = prepared("CitationSA", source, root=tmp_path / "root")
    assert (found.status.state, dict(found.status.counts)) == (READY, {"all": 4_182})
    assert files_below(tmp_path / "root") == ["CitationSA/train.txt"]
    assert found.origins == (("train.txt", "download (1).dat"),)
    assert examine(manifest("CitationSA"), tmp_path / "root").state == READY


@pytest.mark.parametrize(
    "name", ["MedNLI", "RQE", "PICO", "BioC", "BioASQ", "ClinicalSTS", "BIOSSES", "VaccineSA", "PubMed20K"]
)
def test_every_sample_data_set_is_prepared_from_a_zip_of_its_files(tmp_path: Path, name: str) -> None:
    folder = sample_root() / manifest(name).folder
    archive = zipped(folder, tmp_path / "sample.zip")
    found = prepared(name, archive, root=tmp_path / "root", allow_incomplete=True)
    assert found.status.state in (READY, DIFFERS, INCOMPLETE)
    for file in files_below(tmp_path / "root"):
        if not file.endswith("tweets.txt"):
            assert (tmp_path / "root" / file).read_bytes() == (folder / Path(file).name).read_bytes()


def test_tar_gz_and_gz_will_do(write: Write, tmp_path: Path) -> None:
    folder = write({f"{name}.txt": ABSTRACT for name in ("train", "dev", "test")})
    tar = tmp_path / "pubmed.tgz"
    with tarfile.open(tar, "w:gz") as archive:
        archive.add(folder, "PubMed_20k_RCT")
        archive.add(folder, "PubMed_20k_RCT_numbers_replaced_with_at_sign")
    found = prepared("PubMed20K", tar, root=tmp_path / "root", allow_incomplete=True)
    assert dict(found.status.counts) == {"train": 2, "dev": 2, "test": 2}
    assert "train has 2 rows, 180,040 are published" in found.status.differences
    packed = tmp_path / "train.txt.gz"
    packed.write_bytes(gzip.compress(CITATIONS.encode()))
    assert prepared("CitationSA", packed, root=tmp_path / "other").status.state == READY


def test_the_version_with_numbers_replaced_is_noticed(write: Write, tmp_path: Path) -> None:
    for number, replaced in (("5", False), ("@", True)):
        contents = {f"{name}.txt": ABSTRACT.replace("5", number) for name in ("train", "dev", "test")}
        folder = write(contents, f"numbers-{replaced}")
        found = prepared("PubMed20K", folder, root=tmp_path / f"root-{replaced}", allow_incomplete=True)
        assert any("numbers replaced by @" in note for note in found.notes) == replaced


def test_what_is_missing_is_named_and_nothing_is_written(write: Write, tmp_path: Path) -> None:
    folder = write({"train.txt": ABSTRACT, "notes.md": "hello"})
    root = tmp_path / "root"
    with pytest.raises(
        DataError, match=r"incomplete: data/train.txt is train.txt; but nothing .* looks like dev.txt, test.txt"
    ):
        prepared("PubMed20K", folder, root=root)
    with pytest.raises(DataError, match=r"nothing in .* is or looks like one of its files: mli_train_v1.jsonl"):
        prepared("MedNLI", folder, root=root)
    with pytest.raises(DataError, match="no such file or folder"):
        prepared("MedNLI", tmp_path / "absent", root=root)
    assert files_below(root) == []
    assert list(root.iterdir()) == []


def test_two_files_that_fit_equally_are_not_guessed_between(write: Write, tmp_path: Path) -> None:
    folder = write({"a/train.txt": CITATIONS, "b/train.txt": CITATIONS + "neutral\tone more [C]\n"})
    assert prepared("CitationSA", folder, root=tmp_path / "rows").status.state == READY  # one has the published number of rows
    folder = write({"a/train.txt": CITATIONS[:3000], "b/train.txt": CITATIONS[:2000]}, "other")
    with pytest.raises(DataError, match=r"several files could be train.txt: other/a/train.txt, other/b/train.txt"):
        prepared("CitationSA", folder, root=tmp_path / "root")
    same = write({"a/train.txt": CITATIONS, "b/train.txt": CITATIONS}, "same")
    assert prepared("CitationSA", same, root=tmp_path / "root").status.state == READY


def test_rejected_rows_must_be_accepted(write: Write, tmp_path: Path) -> None:
    source = write({"train.txt": CITATIONS + "odd\tlabel here [C]\n"})
    with pytest.raises(
        DataError, match=r"1 row\(s\) rejected, the first: train.txt:4183: unknown label 'odd'.*--accept-rejected"
    ):
        prepared("CitationSA", source, root=tmp_path / "root")
    assert files_below(tmp_path / "root") == []
    assert prepared("CitationSA", source, root=tmp_path / "root", accept_rejected=True).status.state == DIFFERS


def test_a_corpus_under_anothers_name_is_not_prepared(write: Write, tmp_path: Path) -> None:
    sentence = "aspirin\tB-Chemical\nhelps\tO\n\n"
    corpus = write({f"{name}.tsv": sentence * 300 for name in ("train", "devel", "test")}, "BC5CDR-IOB")
    pairs = write({f"sts-{name}.tsv": "a man walks\ta dog runs\t2.5\n" * 1_379 for name in ("train", "test")}, "stsbenchmark")
    root = tmp_path / "root"
    for name, source, complaint in (
        ("BC4CHEMD", corpus, "train has 300 rows where 30,682 are published (1.0 %)"),
        ("ClinicalSTS", pairs, "test has 1,379 rows where 318 are published (433.6 %)"),
    ):
        code, said = run("prepare", name, "--from", str(source), "-d", str(root))
        assert (code, files_below(root)) == (2, [])
        assert f"{name}: not prepared: {complaint}" in said
        assert "--allow-incomplete" in said
        code, said = run("prepare", name, "--from", str(source), "-d", str(root), "--allow-incomplete")
        assert code == 0
        assert f"{name}: incomplete:" in said
        assert run("status", name, "-d", str(root))[0] == 2
        shutil.rmtree(root)


def test_invented_data_stays_marked(tmp_path: Path) -> None:
    for number, source in enumerate((sample_root(), sample_root() / "RQE")):
        found = prepared("RQE", source, root=tmp_path / str(number))
        assert found.status.state == SYNTHETIC
        assert examine(manifest("RQE"), tmp_path / str(number)).state == SYNTHETIC


def test_unreadable_files_are_explained_without_scratch_paths(write: Write, tmp_path: Path) -> None:
    source = write({"a.xml": "<RQE-med-train><pair", "b.xml": "<RQE-med-test/>"})
    with pytest.raises(DataError, match=r"RQE: not prepared: RQE/RQE_Train_8588_AMIA2016.xml:1: not well-formed XML") as caught:
        prepared("RQE", source, root=tmp_path / "root")
    assert ".preparing" not in str(caught.value)


PAIRS = json.dumps([{"term1": f"text number {i} ", "term2": "b", "value": i} for i in range(101)])


@pytest.mark.parametrize(
    ("name", "file", "content"), [("CitationSA", "train.txt", CITATIONS), ("MayoSRS", "mayoSRS/mean.part.json", PAIRS)]
)
def test_files_that_are_there_stay_unless_they_may_be_replaced(
    write: Write, tmp_path: Path, name: str, file: str, content: str
) -> None:
    root = tmp_path / "root"
    prepared(name, write({file: content}), root=root)
    prepared(name, write({file: content}), root=root)  # the same again is no conflict
    changed = content.replace("number 7 ", "number seven ")
    with pytest.raises(DataError, match=rf"{file} is there already and differs; replace it with --replace"):
        prepared(name, write({file: changed}), root=root)
    assert (root / name / file).read_text() == content
    prepared(name, write({file: changed}), root=root, replace_old=True)
    assert (root / name / file).read_text() == changed
    assert files_below(root) == [f"{name}/{file}"]


def test_a_failure_half_way_puts_everything_back(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    first = write({f"{name}.txt": ABSTRACT for name in ("train", "dev", "test")})
    prepared("PubMed20K", first, root=root, allow_incomplete=True)
    before = {name: (root / name).read_bytes() for name in files_below(root)}
    second = write({f"{name}.txt": ABSTRACT + "RESULTS\tIt did .\n" for name in ("train", "dev", "test")}, "second")
    real, calls = os.replace, []

    def failing(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 4:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(DataError, match="No space left on device; nothing was changed"):
        prepared("PubMed20K", second, root=root, replace_old=True, allow_incomplete=True)
    monkeypatch.undo()
    assert {name: (root / name).read_bytes() for name in files_below(root)} == before


def test_archives_that_cannot_be_opened_matter_only_if_needed(write: Write, tmp_path: Path) -> None:
    folder = write({"train.txt": CITATIONS, "broken.zip": b"PK\3\4broken"})
    assert prepared("CitationSA", folder, root=tmp_path / "root").status.state == READY
    with pytest.raises(DataError, match=r"broken.zip: cannot be unpacked"):
        prepared("MedNLI", folder, root=tmp_path / "root")
    with pytest.raises(DataError, match=r"broken.zip: cannot be unpacked"):
        prepared("MedNLI", folder / "broken.zip", root=tmp_path / "root")


def test_a_hostile_zip_leaves_nothing_and_exits_with_2(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("train.txt", CITATIONS)
        archive.writestr("../evil.txt", "x")
    (tmp_path / "a.zip").write_bytes(stream.getvalue())
    code, said = run("prepare", "CitationSA", "--from", str(tmp_path / "a.zip"), "-d", str(tmp_path / "root"))
    assert code == 2
    assert "refused: its member '../evil.txt'" in said
    assert files_below(tmp_path) == ["a.zip"]


# ---------------------------------------------------------------- VaccineSA from hydrated tweets

ANNOTATIONS = "".join(f"{100_000 + i}\tx\t{('Positive', 'NegSafety', 'Neutral')[i % 3]}\n" for i in range(60))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("hydrated.jsonl", "".join(json.dumps({"id": 100_000 + i, "full_text": f"tweet\n{i}"}) + "\n" for i in range(40))),
        ("v2.jsonl", "".join(json.dumps({"data": {"id": str(100_000 + i), "text": f"tweet {i}"}}) + "\n" for i in range(40))),
        ("list.json", json.dumps([{"id_str": str(100_000 + i), "id": 1, "text": f"tweet {i}"} for i in range(40)])),
        ("table.csv", "lang,tweet_id,text\n" + "".join(f'en,{100_000 + i},"tweet\n{i}"\n' for i in range(40))),
        ("table.tsv", "id\tlang\ttext\n" + "".join(f"{100_000 + i}\ten\ttweet {i}\n" for i in range(40))),
        ("plain.txt", "".join(f"{100_000 + i}\ttweet\t{i}\n" for i in range(40))),
        ("bare.csv", "".join(f"{100_000 + i},tweet {i}\n" for i in range(40))),
    ],
)
def test_tweets_come_from_any_table_and_the_lost_ones_are_counted(
    write: Write, tmp_path: Path, name: str, content: str
) -> None:
    folder = write({"TweetsAnnotation.txt": ANNOTATIONS, name: content})
    found = prepared("VaccineSA", folder / "TweetsAnnotation.txt", folder / name, root=tmp_path / "root")
    assert dict(found.status.counts) == {"all": 40}
    assert any("20 of 60 annotated tweets have no text" in note for note in found.status.notes)
    assert f"40 tweets with text read from {name}" in found.notes
    assert (tmp_path / "root/ClinicalSA/tweets.txt").read_text().startswith("100000\ttweet 0\n")


def test_odd_tweets_are_counted_and_none_is_an_error(write: Write, tmp_path: Path) -> None:
    rows = [{"id": 100_000, "text": "a"}, {"id": 100_000, "text": "b"}, {"id": None, "text": "c"}, {"id": True, "text": "d"}, 5]
    folder = write({"TweetsAnnotation.txt": ANNOTATIONS, "t.json": json.dumps(rows)})
    notes = prepared("VaccineSA", folder, root=tmp_path / "root").notes
    assert "3 row(s) of t.json have no id or no text, or more cells than columns" in notes
    assert "1 row(s) of t.json give a tweet a second, different text; the first stands" in notes
    for content, complaint in [
        ('[{"id": 1}]', "no tweet with an id"),
        ('{"id": 1\n', "t.json:1: not JSON"),
        ("id,lang\n1,en\n", "the header names no text column"),
        ('id,text\n1,"x\n2,y\n', r"t.json:2: the quotes of the row that begins here do not match"),
    ]:
        folder = write({"TweetsAnnotation.txt": ANNOTATIONS, "t.json": content}, "other")
        with pytest.raises(DataError, match=complaint):
            prepared("VaccineSA", folder, root=tmp_path / "never")


def test_a_text_with_a_comma_that_is_not_quoted_is_not_cut(write: Write, tmp_path: Path) -> None:
    rows = "100000,safe, they say\n100001,fine\n"
    for name, header in (("bare.csv", ""), ("named.csv", "id,text\n")):
        folder = write({"TweetsAnnotation.txt": ANNOTATIONS, name: header + rows}, name)
        found = prepared("VaccineSA", folder, root=tmp_path / "root" / name)
        assert (tmp_path / "root" / name / "ClinicalSA/tweets.txt").read_text() == "100001\tfine\n"
        assert f"1 row(s) of {name} have no id or no text, or more cells than columns" in found.notes
    folder = write({"TweetsAnnotation.txt": ANNOTATIONS, "wide.csv": "100000,fine,en\n"}, "wide")
    with pytest.raises(DataError, match="a table of more columns than these two needs a header, and a text with a comma needs"):
        prepared("VaccineSA", folder, root=tmp_path / "never")


# ---------------------------------------------------------------- sets without a task yet, status, real data


def test_another_set_of_the_same_size_is_not_taken_for_it(write: Write, tmp_path: Path) -> None:
    folder = write({"other.txt": "".join(f"w{i}\tv{i}\t{i}\n" for i in range(130))})
    with pytest.raises(DataError, match=r"nothing in .* looks like one of its files"):
        prepared("YP-130", folder, root=tmp_path / "root")
    shutil.copytree(folder, tmp_path / "shared/wordsim")
    assert examine(manifest("YP-130"), tmp_path / "shared").state == MISSING


def test_status_says_ready_differs_unreadable_missing(write: Write, tmp_path: Path) -> None:
    root = write(
        {
            "CitationSA/train.txt": CITATIONS,
            "BIOC/train.txt": "Does it?\tIt does.\tYS\nDoes it?\tNo.\tNO\n",
            "RQE/RQE_Train_8588_AMIA2016.xml": "<r>",
            "BioASQ/6B1_golden.json": '{"questions": []}',
            "ClinicalSTS/readme.txt": "",
        }
    )
    code, said = run("status", "sentence", "-d", str(root))
    lines = {line.split()[0]: line for line in said.splitlines() if line[:1].isalpha()}
    assert code == 2
    assert " ready " in lines["CitationSA"]
    assert "4,182 rows" in lines["CitationSA"]
    assert " incomplete " in lines["BioC"]
    assert "all has 2 rows, 259 are published" in lines["BioC"]
    assert "found but unreadable" in lines["RQE"]
    assert "RQE_Train_8588_AMIA2016.xml:1: not well-formed" in lines["RQE"]
    assert "6b lacks its training file, 6B2_golden.json" in lines["BioASQ"]
    assert "missing" in lines["MedNLI"]
    assert "found but unreadable" in lines["ClinicalSTS"]
    assert "it holds readme.txt" in lines["ClinicalSTS"]
    assert "medsenteval data prepare MedNLI --from FILE" in lines["MedNLI"]
    assert "open: medsenteval data fetch PICO" in lines["PICO"]
    assert run("status", "CitationSA", "-d", str(root))[0] == 0
    assert run("status", "sentence")[1].count(SYNTHETIC) == 11
    assert examine(manifest("MedNLI"), tmp_path).state == MISSING
    assert what_to_do(manifest("BMASS")).startswith("credentialed: with a UMLS (UTS) login")


def test_where_and_show_say_all_there_is_to_know(write: Write) -> None:
    code, said = run("where", "Vac.SA")
    assert code == 0
    for part in (
        "ClinicalSA/",
        "Du et al. 2017",
        "registration",
        "TweetsAnnotation.txt",
        "TweetsAnnotationResults.zip",
        "(no hash known)",
    ):
        assert part in said
    code, said = run("show", "BIOSSES", "--examples", "1")
    assert code == 0
    for part in ("SYNTHETIC SAMPLE DATA", "100", "mean", "Examples of all:", "Distinct texts"):
        assert part in said
    code, said = run("show", "BioASQ")
    assert "% accuracy" in said
    assert "options: snippets=first" in said
    root = write({"CitationSA/train.txt": "neutral\tsame [C]\npositive\tSame [C]\nneutral\tother text\nneutral\tsame [C]\n"})
    code, said = run("show", "CitationSA", "-d", str(root))
    assert "1 of them no encoder can get right: the best possible accuracy is 75.00" in said
    assert "SNOMED-CT: no folder SNOMED or SNOMED-CT in" in run("show", "SNOMED-CT", "-d", str(root))[1]


READY_ON_PURPOSE = {
    "rqe": ["RQE"],
    "biosses": ["BIOSSES"],
    "wordsim/bio-simverb-repo": [
        "Bio-SimLex", "Bio-SimVerb", "UMNSRS-sim", "UMNSRS-rel", "MayoSRS", "MiniMayoSRS", "SimLex-999", "SimVerb-3500",
        "WordSim-353", "WordSim-353-sim", "WordSim-353-rel", "RG-65", "MC-30",
        "MEN", "MTurk-287", "MTurk-771", "Rare-Word", "YP-130", "VERB-143",
    ],
    "wordsim/umnsrs-mod-official": ["UMNSRS-sim-mod", "UMNSRS-rel-mod"],
    "wordsim/bert-crel-eval": ["Hliaoutakis"],
    "wordsim/punuy": ["UMNSRS-sim", "UMNSRS-rel", "UMNSRS-sim-mod", "UMNSRS-rel-mod", "MayoSRS"],
    "ner": ["AnatEM", "BC2GM"],
    "hpo": ["HPO"],
    "senteval": [
        "MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SICK", "STS12", "STS13", "STS14",
        "STS15", "STS16", "STSBenchmark",
    ],
}  # fmt: skip
REFUSED_ON_PURPOSE = {
    "pubmed20k_excerpt": ("PubMed20K", r"train_first1000lines.txt is train.txt; but nothing .* looks like dev.txt, test.txt"),
    "ner": ("JNLPBA", r"devel.tsv is devel.tsv.*; but nothing .* looks like train.tsv"),
    "senteval": ("SNLI", r"nothing .* looks like s1.train, s2.train, labels.train"),
    "nicta_piboso": ("PICO", "nothing in .* is or looks like one of its files"),
}


@pytest.mark.realdata
@pytest.mark.parametrize("folder", READY_ON_PURPOSE)
def test_every_real_folder_ends_in_ready(realdata: Path, tmp_path: Path, folder: str) -> None:
    for name in READY_ON_PURPOSE[folder]:
        found = prepared(name, realdata / folder, root=tmp_path)
        assert found.status.state == READY, (name, found.status.differences)
    assert examine(manifest(READY_ON_PURPOSE[folder][0]), tmp_path).state == READY


@pytest.mark.realdata
@pytest.mark.parametrize("folder", REFUSED_ON_PURPOSE)
def test_real_folders_that_are_incomplete_are_explained(realdata: Path, tmp_path: Path, folder: str) -> None:
    name, reason = REFUSED_ON_PURPOSE[folder]
    with pytest.raises(DataError, match=reason):
        prepared(name, realdata / folder, root=tmp_path)
    assert files_below(tmp_path) == []


@pytest.mark.realdata
def test_biosses_from_its_rar_alone(realdata: Path, tmp_path: Path) -> None:
    needs_libarchive()
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(realdata / "biosses/BIOSSES-Dataset.rar", alone)
    code, said = run("prepare", "BIOSSES", "--from", str(alone / "BIOSSES-Dataset.rar"), "-d", str(tmp_path / "root"))
    assert code == 0
    assert "BIOSSES: ready: 100 rows" in said
    assert "byte for byte the known file" in said


def test_official_snli_becomes_parallel_files(write: Write, tmp_path: Path) -> None:
    header = "gold_label\tsentence1_binary_parse\tsentence1\tsentence2\n"
    rows = "neutral\t( a )\tA man  .\tA dog .\n-\t( b )\tB .\tC .\nentailment\t( c )\tD .\tE .\n"
    folder = write({f"snli_1.0/snli_1.0_{name}.txt": header + rows for name in ("train", "dev", "test")})
    found = prepared("SNLI", zipped(folder, tmp_path / "snli.zip"), root=tmp_path / "root", allow_incomplete=True)
    assert "1 pair(s) of snli_1.0_dev.txt have no gold label and are left out" in found.notes
    target = tmp_path / "root" / manifest("SNLI").folder
    assert (target / "s1.train").read_text() == "A man .\nD .\n"
    assert (target / "labels.test").read_text() == "neutral\nentailment\n"
    with pytest.raises(DataError, match=r"a.txt:1: the header has no gold_label"):
        CONVERSIONS["snli"]("snli_1.0_dev.txt", write({"a.txt": "x\ty\n"}) / "a.txt")
    with pytest.raises(DataError, match=r"b.txt:2: 1 tab-separated fields where the header has 3"):
        CONVERSIONS["snli"]("snli_1.0_dev.txt", write({"b.txt": "gold_label\tsentence1\tsentence2\nx\n"}) / "b.txt")


def test_hidden_files_and_resource_forks_are_passed_over(write: Write, tmp_path: Path) -> None:
    folder = write(
        {"train.txt": CITATIONS, ".train.txt": "x", "__MACOSX/train.txt": CITATIONS[:500], ".git/train.txt": "neutral\ta b\n"}
    )
    assert prepared("CitationSA", folder, root=tmp_path / "root").status.state == READY


def test_a_data_folder_that_cannot_be_made_is_named(write: Write, tmp_path: Path) -> None:
    source = write({"train.txt": CITATIONS, "file": ""})
    code, said = run("prepare", "CitationSA", "--from", str(source / "train.txt"), "-d", str(source / "file" / "deeper"))
    assert code == 2
    assert said == f"Error: {source / 'file' / 'deeper'}: Not a directory; free some space, or name another place\n"


def test_the_better_of_two_names_tells_which_file_is_meant(write: Write) -> None:
    file = DataFile("train.txt", "^x", names=("folder/second.txt", "third*.txt"))
    invented = Manifest("invented", "word", "", (file,), (), ())
    names = {
        "third-1.txt": "x 3",
        "a/FOLDER/second.txt": "x 2",
        "a/second.txt": "x 4",
        "b/train.txt": "x 1",
        "train.txt.bak": "x 5",
    }
    for taken in ("b/train.txt", "a/FOLDER/second.txt", "third-1.txt"):
        found = recognise(invented, list(candidates_below(write(names, taken))))
        assert found.complete
        assert found.found[file].path.as_posix().endswith(f"/{taken}")
        del names[taken]
    nothing = recognise(invented, list(candidates_below(write(names, "none"))))
    assert (nothing.complete, nothing.missing, dict(nothing.found)) == (False, (file,), {})


@pytest.mark.parametrize(
    ("facts", "rows", "given", "taken"),
    [
        ({}, 2, False, False),
        ({}, 2, True, True),
        ({"telling": True}, 2, False, True),
        ({"rows": 2}, 2, False, True),
        ({"rows": 2}, 3, False, False),
        ({"rows": 2, "content": "^[a-z ]+\t"}, 2, False, False),  # as several data sets' files begin
        ({"named": True, "telling": True, "rows": 2}, 2, True, False),
    ],
)
def test_what_tells_a_file_of_another_name(
    facts: dict[str, Any], rows: int, given: bool, taken: bool, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medsenteval.datasets.recognise._common_patterns", lambda: {"^[a-z ]+\t"})
    file = DataFile("train.txt", **{"content": "^x\t", **facts})
    folder = write({"other.dat": "x\t1\n" * rows, "unlike.dat": "y\n"})
    found = recognise(
        Manifest("invented", "word", "", (file,), (), ()),
        list(candidates_below(folder / "other.dat" if given else folder)),
    )
    assert found.complete is taken


def test_too_many_files_are_no_data_set(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from medsenteval.datasets import recognise as recognising

    monkeypatch.setattr(recognising, "_MOST_FILES", 3)
    with pytest.raises(DataError, match="more than 3 files; name the data set's own folder"):
        prepared("CitationSA", write({f"{i}.txt": "" for i in range(5)}), root=tmp_path / "root")


def test_files_of_the_users_choice_of_a_set_without_text_columns(write: Write) -> None:
    code, said = run("show", "AnatEM", "--examples", "0")
    assert code == 0
    assert "Examples" not in said
    assert "Label" not in said


@pytest.mark.skipif(os.name != "posix", reason="rights as POSIX has them")
def test_unfinished_data_is_for_its_maker_only(tmp_path: Path) -> None:
    with staging(tmp_path / "new" / "data") as scratch:
        (scratch / "part.txt").write_text("x")
        assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    assert list((tmp_path / "new" / "data").iterdir()) == []
