"""Files of torch.save, read without running anything in them: plain values, tensors and flair's dictionary of characters.

torch.load(weights_only=True) knows pickle protocol 2 alone, and flair writes protocol 4; torch.load(weights_only=False) hands a
TorchScript archive, which carries code, to torch.jit. So both layouts are read here: the zip archive with a pickle and one
file for each storage, and the older row of pickles with the storages behind them.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import IO, Any, Final

import torch

from medsenteval.errors import EncoderError

_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_BYTES: Final = {"latin1": "latin-1"}
_STORED: Final = {
    "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16, "Long": torch.int64,
}  # fmt: skip


class Characters:
    """Stands for flair.data.Dictionary: characters and their numbers, if the file is what it should be."""

    idx2item: Any
    item2idx: Any


def read_torch_file(file: Path, expected: str) -> Any:
    """Return what a file holds, or say that it is damaged or holds more than a model consists of."""
    size = file.stat().st_size
    try:
        with file.open("rb") as stream:
            is_archive = stream.read(2) == b"PK"
            stream.seek(0)
            return (_read_archive if is_archive else _read_row)(stream, size)
    except Exception as error:  # a hostile pickle can make its reader raise anything
        raise EncoderError(f"{file}: cannot be read, and code in it is never run ({error}); {expected}") from error


class _Reader(pickle.Unpickler):
    """Finds only what models of flair and InferSent consist of; any other name in the file, and with it other code, is refused.

    What it finds belongs to this reader alone or cannot be changed, since a pickle may also set attributes.
    """

    def __init__(self, stream: IO[bytes], room: int) -> None:
        start = stream.tell()
        for operation, argument, _ in pickletools.genops(stream):
            # The number of a note is believed and memory taken for it.
            if operation.name.endswith("PUT") and int(argument or 0) > room:
                raise pickle.UnpicklingError(f"it numbers its parts up to {argument}")
        stream.seek(start)
        super().__init__(stream)
        self.storages: dict[str, torch.Tensor] = {}
        self._room = room
        self._known: dict[str, Any] = {
            "collections.OrderedDict": OrderedDict,
            "collections.defaultdict": defaultdict,
            **dict.fromkeys(("builtins.int", "__builtin__.int", "__builtin__.long"), int),  # long is protocol 2's
            "_codecs.encode": lambda text, encoding: text.encode(_BYTES[encoding]),  # how protocol 2 writes bytes
            "flair.data.Dictionary": type("Dictionary", (Characters,), {}),
            "torch._utils._rebuild_tensor": self._tensor,  # before torch 0.4
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
            **{f"torch.{kind}Storage": dtype for kind, dtype in _STORED.items()},
        }

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in self._known:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no part of a model")
        return self._known[f"{module}.{name}"]

    def persistent_load(self, saved: Any) -> torch.Tensor:
        """Return a storage as a tensor of one dimension, to be filled once the pickle is read."""
        what, dtype, key, _, length, *view = saved
        if what != "storage" or not isinstance(dtype, torch.dtype) or type(length) is not int or any(view):
            raise pickle.UnpicklingError(f"it asks for {saved}, which is no storage of numbers")
        if key not in self.storages:
            self._room -= length * dtype.itemsize
            if length < 0 or self._room < 0:
                raise pickle.UnpicklingError("it promises more numbers than it holds")
            self.storages[key] = torch.zeros(length, dtype=dtype)
        return self.storages[key]

    def _tensor(self, storage: torch.Tensor, offset: int, size: Any, stride: Any, *_: Any) -> torch.Tensor:
        tensor = storage.as_strided(size, stride, offset)
        if tensor.numel() > storage.numel():
            raise pickle.UnpicklingError(f"it spreads {storage.numel()} numbers over a tensor of {tensor.numel()}")
        return tensor


def _read_archive(stream: IO[bytes], size: int) -> Any:
    with zipfile.ZipFile(stream) as archive:
        names = archive.namelist()
        root = names[0].partition("/")[0]
        if any(name in (f"{root}/constants.pkl", f"{root}/version.pkl") or name.startswith(f"{root}/code/") for name in names):
            raise pickle.UnpicklingError("it is a TorchScript archive, which carries code")
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise pickle.UnpicklingError("it is compressed, which torch.save never does")
        if f"{root}/byteorder" in names and archive.read(f"{root}/byteorder") != b"little":
            raise pickle.UnpicklingError("it was written on a machine of another byte order")
        reader = _Reader(io.BytesIO(archive.read(f"{root}/data.pkl")), size)
        found = reader.load()
        for key, storage in reader.storages.items():
            with archive.open(f"{root}/data/{key}") as numbers:
                _fill(storage, numbers)
        return found


def _read_row(stream: IO[bytes], size: int) -> Any:
    for expected in (_MAGIC, _PROTOCOL):
        if _Reader(stream, size).load() != expected:
            raise pickle.UnpicklingError("it does not begin as files of torch.save do")
    if not _Reader(stream, size).load()["little_endian"]:
        raise pickle.UnpicklingError("it was written on a machine of another byte order")
    reader = _Reader(stream, size)
    found = reader.load()
    keys = _Reader(stream, size).load()
    if sorted(keys) != sorted(reader.storages):
        raise EOFError("its storages are not those that its tensors name")
    for key in keys:
        storage = reader.storages[key]
        if int.from_bytes(stream.read(8), "little") != storage.numel():
            raise EOFError(f"its storage {key} has not the length that its tensors name")
        _fill(storage, stream)
    return found


def _fill(storage: torch.Tensor, numbers: IO[bytes]) -> None:
    room = storage.view(torch.uint8).numpy().data
    if numbers.readinto(room) != len(room):  # type: ignore[attr-defined]
        raise EOFError("it ends within its numbers")
