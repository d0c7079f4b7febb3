"""Manifests: complete and well formed, in closed vocabularies."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pytest

from medsenteval.datasets import manifest as manifest_module
from medsenteval.datasets import recognise
from medsenteval.datasets.convert import CONVERSIONS
from medsenteval.datasets.manifest import manifest, manifests, select
from medsenteval.datasets.recognise import file_digest
from medsenteval.errors import DataError, UnknownNameError
from medsenteval.registry import TASK_GROUPS
from medsenteval.support.toml_files import packaged_toml

ACCESS = ("open", "registration", "credentialed", "on request", "lost")


def test_every_task_has_a_manifest_and_every_manifest_is_complete() -> None:
    known = manifests()
    read = {task.name for each in known.values() for task in each.tasks}
    for group in ("sentence", "word", "word-general", "ner", "general", "probing"):
        assert set(TASK_GROUPS[group]) <= read, group
    for each in known.values():
        assert each.access in ACCESS, each.name
        assert each.page.startswith("http"), each.name
        assert all(
            len(said.strip()) > 1 for said in (each.tasks[0].citation, each.tasks[0].licence, each.obtain, each.folder)
        ), each.name
        assert {file.convert for file in each.files} <= {"", *CONVERSIONS}
        for files in each.layouts.values():
            assert len({file.path for file in files}) == len(files), each.name
        if each.access == "credentialed":
            assert not each.downloads, f"{each.name}: what needs a signature must not be fetched"


def test_every_manifest_is_well_formed() -> None:
    names = [
        name for group in manifest_module._GROUPS for name in packaged_toml("medsenteval.datasets", f"manifests/{group}.toml")
    ]
    assert len(names) == len(set(names)) == len(manifests())
    for each in manifests().values():
        assert each.files, each.name
        assert len({(task.access, task.licence, task.citation, task.folders[0]) for task in each.tasks}) == 1, each.name
        for address in (each.page, *(url for download in each.downloads for url in download.urls)):
            assert urlsplit(address).scheme in ("http", "https"), address
            assert urlsplit(address).hostname, address
        assert all(download.urls and "/" not in download.name for download in each.downloads), each.name
        for file in each.files:
            path = PurePosixPath(file.path)
            assert not path.is_absolute(), file
            assert ".." not in path.parts, file
            assert str(path) == file.path, file
            assert re.compile(file.content.encode()).pattern, file
            assert re.compile(file.row.encode()).pattern, file
            assert file.caution is None or (len(file.caution) == 2 and re.compile(file.caution[0].encode())), file
            assert all(number is None or (type(number) is int and number >= 0) for number in (file.rows, file.size)), file
        for digest in (*(one for file in each.files for one in file.sha256), *(one.sha256 for one in each.downloads)):
            assert re.fullmatch("([0-9a-f]{64})?", digest), each.name


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
    with pytest.raises(UnknownNameError, match=r"is called 'zzz'; `medsenteval data status` lists all \d+$"):
        manifest("zzz")
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


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent: cannot be read: No such file or directory; check the path"):
        recognise.file_digest(tmp_path / "absent")


def test_a_folder_of_too_many_files_is_refused_and_the_beginning_of_a_file_tells_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", ".hidden", "__MACOSX/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(300_000))
    monkeypatch.setattr(recognise, "_MOST_FILES", 2)
    found = list(recognise.candidates_below(tmp_path))
    assert [(each.name, each.given) for each in found] == [(f"{tmp_path.name}/{name}", False) for name in "ab"]
    assert (len(found[0].head), found[0].size) == (262_144, 300_000)
    assert [(each.name, each.given) for each in recognise.candidates_below(tmp_path / "a")] == [("a", True)]
    (tmp_path / "c").write_bytes(b"")
    with pytest.raises(DataError, match="more than 2 files"):
        list(recognise.candidates_below(tmp_path))
