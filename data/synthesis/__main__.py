"""Write the synthetic sample data, or check that what is on disk is what this script writes.

    python -m data.synthesis            writes data/sample/<Folder>/...  (from the top of the repository)
    python -m data.synthesis --check    exits with 1 and names the files that differ

Standard library only, one fixed seed: the bytes are the same on every machine and Python version.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .corpora import build_files

FOLDER = Path(__file__).resolve().parents[1] / "sample"
SEED = 1111


def write(files: dict[str, bytes], folder: Path) -> None:
    """Write all files below the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def differing(files: dict[str, bytes], folder: Path) -> list[str]:
    """Return the names of files that are missing, changed, or lie beside the generated ones without belonging there."""
    wrong = {name for name, content in files.items() if not _equals(folder / name, content)}
    for subfolder in {name.split("/")[0] for name in files}:
        found = {path.relative_to(folder).as_posix() for path in (folder / subfolder).rglob("*") if path.is_file()}
        wrong |= found - files.keys()
    return sorted(wrong)


def _equals(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(description="Write or check the synthetic sample data.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file on disk differs")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the data folders are (default: data/sample)")
    options = parser.parse_args(arguments)
    files = build_files(SEED)
    if options.check:
        wrong = differing(files, options.folder)
        for name in wrong:
            print(f"{name} is not what data.synthesis writes", file=sys.stderr)
        return 1 if wrong else 0
    write(files, options.folder)
    print(f"wrote {len(files)} files, {sum(map(len, files.values())):,} bytes, below {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
