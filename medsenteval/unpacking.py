"""What Python's own unpackers raise when an archive or compressed file is damaged, cut or made to hurt."""

from __future__ import annotations

import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from typing import Final

__all__ = ["DAMAGED"]

#: A damaged header can surface as any of these: sizes that overflow, offsets before the start, flags that name no method.
DAMAGED: Final = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, struct.error, EOFError, OSError,
    ValueError, IndexError, KeyError, OverflowError, MemoryError, NotImplementedError, RuntimeError,
)  # fmt: skip
