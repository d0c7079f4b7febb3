"""What a reader under test is, and small helpers to write its valid files."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.mutating import mutate

__all__ = ["Files", "Reader", "as_json", "as_text", "as_zip"]

Files = dict[str, bytes]


@dataclass(frozen=True)
class Reader:
    """``files`` are valid; ``read`` gets their folder; ``wrap`` packs mutated files into what is read (a zip, a Word document).

    ``weight`` is the share of inputs, lower for slow ones. ``mutate`` changes one file's content, knowing its format.
    """

    name: str
    files: Files
    read: Callable[[Path], Any]
    wrap: Callable[[Files], Files] | None = None
    weight: float = 1.0
    mutate: Callable[[bytes, random.Random, Sequence[bytes]], bytes] = mutate


def as_text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def as_json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def as_zip(files: Files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()
