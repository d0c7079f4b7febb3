"""Every reader under test."""

from __future__ import annotations

from typing import Final

from tests.fuzz.copy_readers import COPY_READERS
from tests.fuzz.encoder_readers import ENCODER_READERS
from tests.fuzz.file_readers import FILE_READERS
from tests.fuzz.model_readers import MODEL_READERS
from tests.fuzz.reader import Reader
from tests.fuzz.result_readers import RESULT_READERS
from tests.fuzz.table_readers import TABLE_READERS
from tests.fuzz.task_readers import TASK_READERS

__all__ = ["READERS"]

READERS: Final[tuple[Reader, ...]] = (
    *TASK_READERS,
    *ENCODER_READERS,
    *MODEL_READERS,
    *FILE_READERS,
    *RESULT_READERS,
    *TABLE_READERS,
    *COPY_READERS,
)
