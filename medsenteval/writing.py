"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write under a temporary name, flush and rename, so that no reader ever sees half a file."""
    # Not through tempfile, whose files nobody else may read: these are kept, and a page or a result may be shared.
    scratch = path.parent / f".writing-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        with open(scratch, "xb") as stream:
            stream.write(content.encode("utf-8") if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
