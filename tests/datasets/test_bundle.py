"""Bundles: what goes in by its licence, comes out by its hash."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from medsenteval.cli.main import main
from medsenteval.datasets.bundle import export_bundle, import_bundle
from medsenteval.datasets.locate import load_dataset, sample_root
from medsenteval.datasets.manifest import manifest, select
from medsenteval.datasets.status import SYNTHETIC, examine
from medsenteval.errors import DataError
from medsenteval.registry import task
from medsenteval.settings import Settings


def run(*arguments: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(main, ["data", *arguments], catch_exceptions=False)
    return outcome.exit_code, outcome.output


def members(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewritten(bundle: Path, changes: dict[str, bytes | None]) -> Path:
    content = {name: data for name, data in {**members(bundle), **changes}.items() if data is not None}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    target = bundle.with_name("changed.zip")
    target.write_bytes(stream.getvalue())
    return target


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    export_bundle(tmp_path / "b.zip", [manifest("BIOSSES"), manifest("RQE")], sample_root(), restricted=False)
    return tmp_path / "b.zip"


def test_open_sets_travel_and_restricted_ones_only_when_asked(tmp_path: Path) -> None:
    code, said = run("export", str(tmp_path / "open.zip"), "sentence")
    assert code == 0
    assert "left out MedNLI: credentialed: PhysioNet Credentialed Health Data License 1.5.0; add it with --restricted" in said
    names = set(json.loads(members(tmp_path / "open.zip")["bundle.json"])["sets"])
    assert names == {"RQE", "PubMed20K", "PICO", "BioC", "BIOSSES"}
    code, said = run("export", str(tmp_path / "new" / "place" / "all.zip"), "--restricted")
    assert code == 0
    assert len(json.loads(members(tmp_path / "new" / "place" / "all.zip")["bundle.json"])["sets"]) >= 10
    terms = members(tmp_path / "new" / "place" / "all.zip")["LICENCES.txt"].decode()
    assert "MedNLI\n  access: credentialed\n  licence: PhysioNet" in terms
    code, said = run("export", str(tmp_path / "none.zip"), "MedNLI")
    assert code == 2
    assert "nothing to export" in said
    assert not (tmp_path / "none.zip").exists()


def test_a_bundle_gives_the_same_data(bundle: Path, tmp_path: Path) -> None:
    root = tmp_path / "elsewhere"
    code, said = run("import", str(bundle), "-d", str(root))
    assert code == 0
    assert f"BIOSSES: synthetic sample: 100 rows in {root / 'BIOSSES'}" in said
    for name in ("BIOSSES", "RQE"):
        here, there = (load_dataset(task(name), place, Settings()) for place in (sample_root(), root))
        assert (here.fingerprint, here.synthetic) == (there.fingerprint, there.synthetic)
    assert not list(root.glob(".preparing*"))


def test_damage_and_lies_are_noticed_before_anything_is_written(bundle: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    name = "data/RQE/RQE_Test_302_pairs_AMIA2016.xml"
    listed = json.loads(members(bundle)["bundle.json"])
    unknown = {**listed, "sets": {**listed["sets"], "Other": {"files": {}}}}
    outside = {"schema": 1, "sets": {"RQE": {"files": {"data/../../x": {"sha256": "0" * 64}}}}}
    damages: list[tuple[dict[str, bytes | None], str]] = [
        ({name: members(bundle)[name] + b" "}, "is damaged"),
        ({name: None}, "its list and its files disagree"),
        ({"data/RQE/more.txt": b"x"}, "its list and its files disagree"),
        ({"bundle.json": None}, "no bundle of this toolkit"),
        ({"bundle.json": b"[]"}, r"its bundle.json cannot be read"),
        ({"bundle.json": b'{"schema": 9}'}, "its schema is 9"),
        ({"bundle.json": json.dumps(unknown).encode()}, "'Other', which this version does not know"),
        ({"bundle.json": json.dumps(outside).encode()}, "its list and its files disagree: data/"),
        ({"../evil": b"x"}, "refused"),
    ]
    for changes, complaint in damages:
        with pytest.raises(DataError, match=complaint):
            import_bundle(rewritten(bundle, changes), root)
        assert list(root.iterdir()) == []


def test_a_set_that_cannot_be_read_is_not_imported(bundle: Path, tmp_path: Path) -> None:
    import hashlib

    name = "data/RQE/RQE_Test_302_pairs_AMIA2016.xml"
    broken = b"<RQE-med-test>"
    listed = json.loads(members(bundle)["bundle.json"])
    listed["sets"]["RQE"]["files"][name]["sha256"] = hashlib.sha256(broken).hexdigest()
    changed = rewritten(bundle, {name: broken, "bundle.json": json.dumps(listed).encode()})
    with pytest.raises(DataError, match=r"RQE cannot be imported: data/RQE/RQE_Test.*:1: not well-formed"):
        import_bundle(changed, tmp_path / "root")


def test_unreadable_sets_stay_out_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "RQE"
    folder.mkdir(parents=True)
    (folder / "RQE_Train_8588_AMIA2016.xml").write_text("<r>")
    (tmp_path / "data/CitationSA").mkdir()
    (tmp_path / "data/CitationSA/train.txt").write_text("neutral\ta [C]\npositive\tb [C]\n")
    included, left_out = export_bundle(tmp_path / "b.zip", select(("RQE", "CitationSA")), tmp_path / "data", restricted=True)
    assert included == ["CitationSA"]
    assert list(left_out) == ["RQE"]
    assert "not well-formed" in left_out["RQE"]
    assert examine(manifest("BIOSSES"), sample_root()).state == SYNTHETIC


def test_a_bundle_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = run("export", str(tmp_path / "file" / "b.zip"), "BIOSSES")
    assert code == 2
    assert said.startswith(f"Error: {tmp_path / 'file'}")
