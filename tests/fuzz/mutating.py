"""Mutations of valid files: of their bytes, their lines and fields, their numbers, and with what is known to break parsers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["mutate"]

_LARGEST: Final = 200_000
_NUMBER: Final = re.compile(rb"\d+")

#: What readers of text, JSON, XML, TOML, CSV and archives trip over.
HOSTILE: Final[tuple[bytes, ...]] = (
    b"\0", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\n\n\n", b"\t", b"\t\t\t", b"\x0c", b"\x1f",
    b"\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\x80", b"\\ud800", b"\\u0000", b'"', b"'",
    b"\\", b"|", b"###", b"NaN", b"nan", b"inf", b"-inf", b"Infinity", b"1e999", b"-1", b"0", b"1_000", b"0x10", b"1e-400",
    "٣".encode(), b"9" * 30, b"9" * 5000, b"4294967296", b"18446744073709551616", b"-9223372036854775809", b"null", b"true",
    b"[]", b"{}", b"[[", b"]]", b"{", b"}", b"[" * 500, b'{"a":' * 300, b"<", b">", b"</", b"<a>" * 50, b"&amp;", b"&x;",
    b"&#0;", b"&#55296;", b"<![CDATA[", b"<!--", b'<!DOCTYPE r [<!ENTITY x "y">]>',
    b'<!DOCTYPE r SYSTEM "http://127.0.0.1:9/">', b'<?xml version="1.0" encoding="utf-7"?>',
    b'<?xml version="1.0" encoding="x-no-such"?>', b"../../../etc/passwd", b"/etc/passwd", b"C:\\x", b"a/../../b",
    b"\x1b[2J", b" " * 300, b",", b";", b"=", b"[a", b"a.b.c = 1\n", b"-DOCSTART-\tO\n", b"O", b"B-", b"I-x",
)  # fmt: skip

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]


def mutate(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Apply one to four mutations; ``others`` are contents to splice with."""
    for _ in range(1 + min(int(rng.expovariate(1.2)), 3)):
        content = rng.choice(_MUTATIONS)(content, rng, others)
        if len(content) > _LARGEST:
            content = content[:_LARGEST]
    return content


def _span(content: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + int(rng.expovariate(1 / 12)) + 1)


def _flip(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _random_bytes(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(content, rng)
    return content[:start] + rng.randbytes(end - start) + content[end:]


def _delete(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(content, rng)
    return content[:start] + content[end:]


def _duplicate(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(content, rng)
    times = rng.choice((1, 1, 2, 5, 1000 if rng.random() < 0.02 else 3))
    return content[:end] + content[start:end] * times + content[end:]


def _truncate(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _hostile(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(content, rng)
    return content[:start] + rng.choice(HOSTILE) + (content[start:] if rng.random() < 0.5 else content[end:])


def _splice(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else content
    return content[: rng.randrange(len(content) + 1)] + other[rng.randrange(len(other) + 1) :]


def _lines(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(4)
    if action == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif action == 1:
        lines.insert(other, lines[one])
    elif action == 2:
        del lines[one]
    else:
        rng.shuffle(lines)
    return b"\n".join(lines)


def _fields(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    separator = rng.choice((b"\t", b"|", b",", b" ", b'"', b":"))
    fields = content.split(separator)
    one, other = rng.randrange(len(fields)), rng.randrange(len(fields))
    fields[one], fields[other] = fields[other], fields[one]
    if rng.random() < 0.3:
        del fields[one]
    return separator.join(fields)


def _numbers(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Replace a number, which may be a count or a size that a reader believes."""
    found = list(_NUMBER.finditer(content))
    if not found:
        return content
    chosen = rng.choice(found)
    value = rng.choice(
        (b"0", b"1", b"-1", b"2147483648", b"99999999999", b"9" * 400, b"1.5", b"x", b"", str(int(chosen[0][:18]) + 1).encode())
    )
    return content[: chosen.start()] + value + content[chosen.end() :]


def _encoding(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    text = content.decode("utf-8", "replace")
    encoded = text.encode(rng.choice(("utf-16", "utf-16-le", "utf-8-sig", "utf-32")))
    return rng.choice(
        (encoded, text.encode("latin-1", "replace"), text.replace("\n", "\r").encode(), text.replace("\n", "\r\n").encode())
    )


def _little_endian(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Overwrite four or eight bytes by a boundary value, as binary headers have them."""
    value = rng.choice((0, 1, -1, 2**31 - 1, -(2**31), 2**20, 255, 65536))
    width = rng.choice((2, 4, 8))
    start = rng.randrange(len(content) + 1)
    return content[:start] + (value & ((1 << 8 * width) - 1)).to_bytes(width, "little") + content[start + width :]


def _empty(content: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    return rng.choice((b"", b"\n", b" ")) if rng.random() < 0.2 else content


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _flip, _random_bytes, _delete, _duplicate, _truncate, _hostile, _hostile, _splice, _lines, _fields, _numbers, _encoding,
    _little_endian, _empty,
)  # fmt: skip
