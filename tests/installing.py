"""Programs that tests need and that pip cannot install: looked for, else installed as the machine allows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable

__all__ = ["found_or_installed", "from_package_manager"]


def from_package_manager(debian: Iterable[str], homebrew: Iterable[str]) -> list[list[str]]:
    """Return the commands by which this system's package manager installs packages, if there is one that may."""
    if shutil.which("apt-get"):
        allowed = [] if os.geteuid() == 0 else ["sudo", "-n"]
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
        return [[*allowed, "apt-get", "update", "-qq"], [*allowed, *install, *debian]]
    return [["brew", "install", "--cask", *homebrew]] if shutil.which("brew") else []


def found_or_installed(find: Callable[[], str | None], commands: Iterable[list[str]]) -> str | None:
    """Return what a function finds, at once or after one of the commands; None where none of them helps."""
    if (found := find()) is not None:
        return found
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, timeout=300, stdin=subprocess.DEVNULL).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            done = False
        if done and (found := find()) is not None:
            return found
    return None
