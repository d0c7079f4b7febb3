"""What loaders share: options checked, and files read or judged before a library opens them."""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from medsenteval.errors import EncoderError


def check_choices(kind: str, **options: tuple[str, Collection[str]]) -> None:
    """Refuse an option whose value, the first of the two given for it, is not among those that it can have."""
    for option, (value, allowed) in options.items():
        if value not in allowed:
            raise EncoderError(f"{kind}: {option} is {value!r}; it can be {' or '.join(filter(None, allowed))}")


def is_a(thing: Any, module: str, name: str) -> bool:
    """Whether a thing is of a library's class; a library that nobody has imported has made none of it."""
    return module in sys.modules and isinstance(thing, getattr(sys.modules[module], name, ()))


def whole_number(kind: str, option: str, text: str, least: int = 0) -> int:
    """Read an option that is a whole number."""
    if not re.fullmatch("[0-9]{1,15}", text) or int(text) < least:
        raise EncoderError(f"{kind}: {option} is {text!r}; it must be a whole number from {least}")
    return int(text)


def number(kind: str, option: str, text: str, least: float = 0.0) -> float:
    """Read an option that is a finite number."""
    with suppress(ValueError):
        if least <= float(text) < float("inf"):
            return float(text)
    raise EncoderError(f"{kind}: {option} is {text!r}; it must be a number from {least:g}")


@contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment for as long as the block lasts, unless the user has decided about it."""
    decided = name in os.environ
    os.environ.setdefault(name, value)
    try:
        yield
    finally:
        if not decided:
            del os.environ[name]


def read_json(file: Path, expected: type, kind: str) -> Any:
    """Return what a JSON file holds, a dictionary or a list as ``expected``."""
    if not file.is_file():  # a pipe would be read for ever
        raise EncoderError(f"{kind}: {file} is missing or no file")
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise EncoderError(f"{kind}: {file} cannot be read as JSON: {error}") from error
    if not isinstance(found, expected):
        raise EncoderError(f"{kind}: {file} holds a {type(found).__name__}; expected is a {expected.__name__} in JSON")
    return found


def joined_files(argument: str) -> list[Path]:
    """Return the one or two files that an argument names, joined by "+"; where a name holds one too, those that exist tell."""
    whole = Path(argument).expanduser()
    if "+" not in argument or whole.is_file():
        return [whole]
    joints = [joint.start() for joint in re.finditer(r"\+", argument)]
    pairs = [[Path(argument[:at]).expanduser(), Path(argument[at + 1 :]).expanduser()] for at in joints]
    return max(pairs, key=lambda pair: [file.is_file() for file in pair])


def two_files(argument: str, kind: str, expected: str) -> tuple[Path, Path]:
    """Return the two files that an argument names, joined by "+"."""
    files = joined_files(argument)
    if len(files) < 2:
        raise EncoderError(f"{kind}: needs two files joined by '+', got {argument!r}; {expected}")
    for file in files:
        if not file.is_file():
            raise EncoderError(f"{kind}: there is no file {file}; {expected}")
    return files[0], files[1]


def torch_file_fault(file: Path) -> str:
    """Say what is wrong with a file of torch.save; of the format before torch 1.6 only the start can be judged."""
    with file.open("rb") as stream:
        start = stream.read(2)
    if start == b"PK":
        return "" if zipfile.is_zipfile(file) else "its end is missing; is the download complete?"
    return "" if start[:1] == b"\x80" else "it is not a file that torch.save wrote"
