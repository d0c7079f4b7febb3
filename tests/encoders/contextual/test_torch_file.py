"""Files of torch.save, whole and made by hand, through the reader that runs nothing in them."""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medsenteval.errors import EncoderError

pytest.importorskip("torch")

import torch

from medsenteval.encoders.contextual.torch_file import read_torch_file


def read(file: Path) -> Any:
    return read_torch_file(file, "expected is a model")


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_of_all_kinds_and_layouts_are_read_as_they_were(tmp_path: Path, zipped: bool) -> None:
    square = torch.arange(12.0).reshape(3, 4)
    kinds = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64)
    tensors = {str(kind): torch.tensor([1, -2, 300]).to(kind) for kind in kinds}
    tensors |= {"turned": square.T, "part": square[1:, 2:], "whole": square, "none": torch.zeros(0), "one": torch.tensor(5.0)}
    torch.save(tensors, tmp_path / "model.pt", _use_new_zipfile_serialization=zipped)
    found = read(tmp_path / "model.pt")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def row(file: Path, change: Callable[[list[bytes]], object]) -> Path:
    """The older layout: five pickles and the storages behind them, of which some are changed."""
    stream = io.BytesIO()
    torch.save({"a": torch.arange(3.0)}, stream, _use_new_zipfile_serialization=False)
    content, parts = stream.getvalue(), []
    stream.seek(0)
    for _ in range(5):
        start = stream.tell()
        list(pickletools.genops(stream))
        parts.append(content[start : stream.tell()])
    parts.append(stream.read())
    change(parts)
    file.write_bytes(b"".join(parts))
    return file


@pytest.mark.parametrize(
    ("part", "content", "reason"),
    [
        (0, pickle.dumps(1, 2), "does not begin as files of torch.save do"),
        (1, pickle.dumps(1002, 2), "does not begin as files of torch.save do"),
        (2, pickle.dumps({"little_endian": False}, 2), "another byte order"),
        (4, pickle.dumps([], 2), "its storages are not those that its tensors name"),
        (4, pickle.dumps(["0"], 2), "its storages are not those that its tensors name"),
        (5, (4).to_bytes(8, "little") + bytes(16), "has not the length that its tensors name"),
        (5, (3).to_bytes(8, "little") + bytes(11), "it ends within its numbers"),
    ],
)
def test_each_part_of_the_older_layout_is_checked(tmp_path: Path, part: int, content: bytes, reason: str) -> None:
    assert read(row(tmp_path / "good.pt", lambda parts: None))["a"].tolist() == [0.0, 1.0, 2.0]
    file = row(tmp_path / "bad.pt", lambda parts: parts.__setitem__(part, content))
    expected = rf"bad\.pt: cannot be read, and code in it is never run \(.*{reason}.*\); expected is a model"
    with pytest.raises(EncoderError, match=expected):
        read(file)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("constants.pkl", b"", "TorchScript"),
        ("version.pkl", b"", "TorchScript"),
        ("code/any.py", b"", "TorchScript"),
        ("byteorder", b"big", "another byte order"),
        ("byteorder", b"little", ""),
        ("code.pkl", b"", ""),
    ],
)
def test_what_stands_beside_the_tensors_in_an_archive(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    torch.save({"a": torch.arange(3.0)}, tmp_path / "model.pt")
    file = tmp_path / "changed.pt"
    with zipfile.ZipFile(tmp_path / "model.pt") as good, zipfile.ZipFile(file, "w") as changed:
        for held in good.namelist():
            if not held.endswith("/byteorder"):
                changed.writestr(held, good.read(held))
        changed.writestr(f"model/{name}", content)
    if not reason:
        assert read(file)["a"].tolist() == [0.0, 1.0, 2.0]
        return
    with pytest.raises(EncoderError, match=reason):
        read(file)


class Stored:
    """A storage as the pickle of a file refers to it."""

    def __init__(self, *reference: Any) -> None:
        self.reference = reference


class Tensor:
    def __init__(self, storage: Stored, length: int) -> None:
        self.made_from: tuple[Any, ...] = (storage, 0, (length,), (1,), False, OrderedDict())

    def __reduce__(self) -> Any:
        return torch._utils._rebuild_tensor_v2, self.made_from


class Saving(pickle.Pickler):
    def persistent_id(self, thing: Any) -> Any:
        return thing.reference if isinstance(thing, Stored) else None


def archive(file: Path, *references: tuple[Any, ...], numbers: int = 4) -> Path:
    stream = io.BytesIO()
    Saving(stream, 2).dump([Tensor(Stored(*reference), numbers) for reference in references])
    with zipfile.ZipFile(file, "w") as whole:
        whole.writestr("m/data.pkl", stream.getvalue())
        for key in dict.fromkeys(reference[2] for reference in references):
            whole.writestr(f"m/data/{key}", bytes(4 * numbers))
    return file


FLOAT = torch.FloatStorage


@pytest.mark.parametrize(
    ("references", "reason"),
    [
        ([("storage", FLOAT, "0", "cpu", 4)], ""),
        ([("storage", FLOAT, "0", "cpu", 4, None)], ""),
        ([("storage", FLOAT, "0", "cpu", 4), ("storage", FLOAT, "0", "cpu", 4)], ""),
        ([("module", FLOAT, "0", "cpu", 4)], "is no storage of numbers"),
        ([("storage", OrderedDict, "0", "cpu", 4)], "is no storage of numbers"),
        ([("storage", FLOAT, "0", "cpu", 4.0)], "is no storage of numbers"),
        ([("storage", FLOAT, "0", "cpu", True)], "is no storage of numbers"),
        ([("storage", FLOAT, "0", "cpu", 4, ("0", 0, 4))], "is no storage of numbers"),
        ([("storage", torch.IntStorage, "0", "cpu", 4)], r"asks for torch\.IntStorage, which is no part of a model"),
        ([("storage", FLOAT, "0", "cpu", -1)], "promises more numbers than it holds"),
        ([("storage", FLOAT, str(key), "cpu", 100) for key in range(4)], "promises more numbers than it holds"),
        ([("storage", FLOAT, "0", "cpu", 5)], "ends within its numbers"),
        ([("storage", FLOAT, "0", "cpu", 3)], "spreads 3 numbers over a tensor of 4|out of bounds"),
    ],
)
def test_what_a_pickle_says_of_its_storages_is_checked(tmp_path: Path, references: list[Any], reason: str) -> None:
    file = archive(tmp_path / "m.pt", *references)
    if not reason:
        assert [tensor.tolist() for tensor in read(file)] == [[0.0] * 4] * len(references)
        return
    with pytest.raises(EncoderError, match=reason):
        read(file)
