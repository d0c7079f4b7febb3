"""Weights that would act when they are loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

__all__ = ["Scripted", "Trap"]


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.made),)


class Scripted(torch.nn.Module):
    """A TorchScript module that writes a file while it is loaded."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.weight = torch.ones(3)
        self.file = str(file)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x

    @torch.jit.export
    def __getstate__(self) -> tuple[torch.Tensor, str, bool]:
        return self.weight, self.file, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, str, bool]) -> None:
        self.file, self.training = state[1], state[2]
        self.weight = torch.from_file(self.file, shared=True, size=4)  # makes the file
