"""Manifests: complete, in closed vocabularies, saying nothing that a Task says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from medsenteval.catalogue import TASK_GROUPS
from medsenteval.datasets.manifest import ACCESS, CONVERSIONS, manifest, manifests, parse_manifests, select
from medsenteval.datasets.recognise import file_digest
from medsenteval.errors import DataError, UnknownNameError

SMALL = '[X]\npage = "https://x.org/"\nfolder = "X"\ncitation = "c"\nlicence = "l"\naccess = "open"\nobtain = "o"\n'
FILE = '[[X.files]]\npath = "a.txt"\ncontent = "a"\n'


def test_every_task_has_a_manifest_and_every_manifest_is_complete() -> None:
    known = manifests()
    read = {task.name for each in known.values() for task in each.tasks}
    for group in ("sentence", "word", "word-general", "ner", "general", "probing"):
        assert set(TASK_GROUPS[group]) <= read, group
    for each in known.values():
        assert each.access in ACCESS, each.name
        assert each.page.startswith("http"), each.name
        assert all(len(said.strip()) > 1 for said in (each.citation, each.licence, each.obtain, each.folder)), each.name
        assert {file.convert for file in each.files} <= set(CONVERSIONS)
        for files in each.layouts.values():
            assert len({file.path for file in files}) == len(files), each.name
        if each.access == "credentialed":
            assert not each.downloads, f"{each.name}: what needs a signature must not be fetched"


def test_manifests_repeat_nothing_that_a_task_says() -> None:
    for each in manifests().values():
        if each.tasks:
            assert not each.stated, f"{each.name}: its Task says this; remove it from manifests/{each.group}.toml"
            assert not each.stated_counts, each.name


def test_the_groups_of_the_issue_are_all_there() -> None:
    groups = {group: {each.name for each in select((group,))} for group in ("sentence", "word", "ner", "terms", "general")}
    assert len(groups["sentence"]) == 10
    assert {"Bio-SimLex", "Bio-SimVerb", "UMNSRS-sim", "UMNSRS-rel", "MayoSRS", "MiniMayoSRS", "SimLex-999"} <= groups["word"]
    assert groups["ner"] == {"AnatEM", "BC2GM", "JNLPBA", "BC4CHEMD", "NCBI-disease", "BC5CDR", "Linnaeus"}
    assert {"HPO", "BMASS", "SNOMED-CT", "UMLS"} <= groups["terms"]
    assert {"MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC", "SICK", "SNLI", "STS12", "STSBenchmark"} <= groups["general"]
    assert sum(map(len, groups.values())) == len(select(("all",))) == len(manifests())


def test_names_are_found_in_any_spelling_and_by_alias() -> None:
    assert manifest("bio simlex").name == "Bio-SimLex"
    assert manifest("ClinicalSA").name == "VaccineSA"
    assert manifest("SICKRelatedness").name == "SICK"
    with pytest.raises(UnknownNameError, match=r"no data set is called 'BIOSES'; did you mean 'BIOSSES'"):
        manifest("BIOSES")


@pytest.mark.realdata
def test_every_hash_in_a_manifest_is_that_of_a_real_file(realdata: Path) -> None:
    listed = {line.split()[0] for line in (realdata / "SHA256SUMS").read_text().splitlines()}
    # These two were hashed in their repositories and are not kept with the other real files.
    known = [each for each in manifests().values() if each.name not in ("CitationSA", "Linnaeus")]
    hashes = {digest for each in known for file in each.files for digest in file.sha256}
    hashes |= {each.sha256 for found in known for each in found.downloads if each.sha256}
    assert hashes <= listed
    assert len(hashes) > 80
    assert file_digest(realdata / "biosses/BIOSSES-Dataset.rar") == manifest("BIOSSES").downloads[0].sha256


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[X", "m.toml: "),
        ("X = 1", r"m.toml \[X\]: expected a table"),
        (SMALL, "names no files"),
        (SMALL + 'size = "a"\n' + FILE, "unknown key 'size'"),
        (SMALL.replace('"open"', '"free"') + FILE, "access is 'free'; it can be open, registration"),
        (SMALL.replace("https", "file") + FILE, "is not an http or https address"),
        (SMALL.replace("x.org", "[x]") + FILE, "is not an http or https address"),  # found by fuzzing
        (SMALL.replace('citation = "c"\n', "") + FILE, "no task reads it, so the manifest must say its citation"),
        (SMALL.replace('folder = "X"', 'folder = "../X"') + FILE, "must be a plain relative path"),
        (SMALL + "counts = 3\n" + FILE, "counts must be a table"),
        (SMALL + "counts = { all = -1 }\n" + FILE, "counts must be a table"),
        (SMALL + 'files = "a"\n', "files must be an array of tables"),
        (SMALL + FILE.replace("a.txt", "/a.txt"), "must be a plain relative path"),
        (SMALL + FILE.replace('"a"', '"("'), "content is no pattern"),
        (SMALL + FILE + "rows = true\n", "rows must be a whole number"),
        (SMALL + FILE + 'sha256 = "AB"\n', "is not 64 hexadecimal digits"),
        (SMALL + FILE + 'convert = "magic"\n', "convert is 'magic'; it can be tweets"),
        (SMALL + FILE + 'caution = ["a"]\n', "caution must be a pattern and"),
        (SMALL + FILE + "names = [1]\n", "names must be a list of texts"),
        (SMALL + FILE + '[[X.downloads]]\nname = "a"\n', "must name at least one address"),
        (SMALL + FILE + '[[X.downloads]]\nname = "a/b"\nurls = "https://x.org/a"\n', "must be the name of a file"),
        (SMALL + FILE + '[[X.downloads]]\nname = "a"\nurls = "ftp://x.org/a"\n', "is not an http or https address"),
    ],
)
def test_a_wrong_manifest_names_itself_and_the_key(text: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        parse_manifests(text, "m")


def test_a_right_manifest_is_read() -> None:
    found = parse_manifests(SMALL + FILE + 'caution = ["x", "no x"]\noptional = true\n', "m")["X"]
    assert (found.folder, found.access, found.open, found.files[0].caution) == ("X", "open", True, ("x", "no x"))
    assert found.files[0].optional
    assert re.search(found.files[0].content_pattern, b"ba")
