"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write under a temporary name, flush and rename, so that no reader ever sees half a file."""
    # Not tempfile, whose files only their owner may read: results are shared, and pages are sent to others.
    scratch = path.parent / f".writing-{secrets.token_hex(8)}"
    stream = open(scratch, "xb")  # noqa: SIM115
    try:
        with stream:
            stream.write(content.encode("utf-8") if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
