"""Everything that must hold before a change lands: style, types, tests with coverage. Run it as ``python -m tests``.

Arguments go to pytest: ``python -m tests -m "not slow"``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
_PARALLEL = ["--numprocesses", "auto", "--maxprocesses", "4", "--dist", "loadfile"]


def main(arguments: list[str]) -> int:
    python = sys.executable
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as elsewhere:
        steps: list[tuple[list[str], Path]] = [
            ([python, "-m", "ruff", "check", "."], REPOSITORY),
            ([python, "-m", "ruff", "format", "--check", "."], REPOSITORY),
            # From elsewhere, so that mypy sees the installed package with its folders mapped, not the clone's bare one.
            ([python, "-m", "mypy", "--config-file", str(REPOSITORY / "pyproject.toml"), "-p", "medsenteval"], Path(elsewhere)),
            ([python, "-m", "mypy", "-p", "data.synthesis"], REPOSITORY),
            # Files side by side, but no more than memory has room for torch and TensorFlow.
            ([python, "-m", "pytest", *_PARALLEL, "--cov", "--cov-report=term", *arguments], REPOSITORY),
        ]
        for command, folder in steps:
            print("$", " ".join(command[1:]), flush=True)
            # All steps run even if one fails, so that one run tells everything.
            if subprocess.run(command, cwd=folder).returncode != 0:
                failed.append(command[2])
    print("failed: " + ", ".join(failed) if failed else "style, types and tests passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
