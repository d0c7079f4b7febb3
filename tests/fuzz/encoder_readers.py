"""Readers of vectors and weights' descriptions, each with small valid files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any, Final

import scipy.stats  # noqa: F401  # imported before memory is limited

from medsenteval.encoders.contextual.elmo import read_options
from medsenteval.encoders.static.fasttext import _description
from medsenteval.encoders.static.vector_formats import FileOptions, read_vectors
from tests.fuzz.reader import Reader, as_json, as_text, as_zip

__all__ = ["ENCODER_READERS"]


def _vectors(folder: Path) -> Any:
    file = next(path for path in sorted(folder.iterdir()) if path.is_file())
    return [len(words) for words, _ in read_vectors(file, FileOptions())]


def _glove_binary(folder: Path) -> Any:
    return list(read_vectors(folder / "vectors.bin", FileOptions(layout="blocks")))


def _fasttext(folder: Path) -> Any:
    return _description(folder / "m.bin")


def _fasttext_model() -> bytes:
    words = [b"</s>", b"heart", b"lung"]
    dimension, buckets = 2, 3
    described = struct.pack("<ii12id", 793712314, 12, dimension, 5, 5, 1, 5, 1, 2, 2, buckets, 3, 6, 100, 0.05)
    described += struct.pack("<iiiqq", len(words), len(words), 0, 99, -1)
    described += b"".join(word + b"\0" + struct.pack("<qb", 9, 0) for word in words)
    rows = len(words) + buckets
    described += struct.pack("<?qq", False, rows, dimension) + struct.pack(f"<{rows * dimension}f", *range(rows * dimension))
    return described + struct.pack("<?qq", False, len(words), dimension) + struct.pack(f"<{len(words) * dimension}f", *range(6))


ENCODER_READERS: Final[tuple[Reader, ...]] = (
    Reader("vectors text", {"v.txt": as_text("heart 1 2.5 -3e-2", "of the 4 5 6", "é 7 8 9")}, _vectors),
    Reader("vectors with header", {"v.vec": as_text("3 2", "heart 1 2.5", "lung 4 5", "é 7 8")}, _vectors),
    Reader(
        "vectors binary", {"v.bin": b"2 2\nheart " + struct.pack("<2f", 1, 2) + b"\nlung " + struct.pack("<2f", 3, 4)}, _vectors
    ),
    Reader(
        "vectors gz",
        {"v.txt": as_text("heart 1 2.5", "lung 4 5")},
        _vectors,
        lambda files: {"v.gz": gzip.compress(files["v.txt"], 1)},
    ),
    Reader("vectors gz bytes", {"v.gz": gzip.compress(as_text("heart 1 2.5", "lung 4 5"))}, _vectors),
    Reader("vectors zip bytes", {"v.zip": as_zip({"v.txt": as_text("heart 1 2.5", "lung 4 5")})}, _vectors),
    Reader(
        "GloVe binary",
        {"vectors.bin": struct.pack("<12d", *range(12)), "vocab.txt": as_text("heart 9", "lung 5")},
        _glove_binary,
    ),
    Reader("fastText bin", {"m.bin": _fasttext_model()}, _fasttext, weight=0.5),
    Reader(
        "ELMo options",
        {
            "o.json": as_json(
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
        lambda folder: read_options(folder / "o.json"),
    ),
)
