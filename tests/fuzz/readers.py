"""Every reader under test."""

from __future__ import annotations

from typing import Final

from tests.fuzz.encoder_readers import ENCODER_READERS
from tests.fuzz.file_readers import FILE_READERS
from tests.fuzz.reader import Reader
from tests.fuzz.task_readers import TASK_READERS

__all__ = ["READERS"]

READERS: Final[tuple[Reader, ...]] = (*TASK_READERS, *ENCODER_READERS, *FILE_READERS)
