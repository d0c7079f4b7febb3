"""Names that users choose, as names of files and folders."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

__all__ = ["file_name_of"]

#: Bytes that a name may have; endings are added to it, and file systems stop at 255.
_MOST_BYTES: Final = 120
#: Names that Windows keeps for devices, whatever ending follows.
_DEVICES: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def file_name_of(name: str) -> str:
    """Return one path component for any name: other names get other components, and none leaves its folder.

    Letters, digits, ``_``, ``-`` and ``.`` stay as they are. A name with anything else in it, a long one, and one that some
    system reserves are made safe and end in ``~`` and a hash of the name, which no plain name can end in.
    """
    safe = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", name)).strip(".")
    if safe == name and name and len(name.encode()) <= _MOST_BYTES and not _DEVICES.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    start = safe.encode()[: _MOST_BYTES - len(digest) - 1].decode("utf-8", "ignore")
    return f"{'_' if _DEVICES.fullmatch(start) else ''}{start}~{digest}"
