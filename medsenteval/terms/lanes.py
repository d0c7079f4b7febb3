"""What ``lanes`` of words can do beyond arithmetic and logic, in compiled code.

In plain Python the same operators on arrays of sixteen ``uint64`` or ``uint32`` mean the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from medsenteval.lanes import LANES_OF, WORDS, address, load, prefetch, repeat, store

__all__ = [
    "LANES", "ROW",
    "add_differences", "choose_below", "count_differences", "find_at_most", "first_one", "gather",
    "gather_along", "load", "prefetch", "repeat", "store",
]  # fmt: skip

LANES: Final = WORDS
#: Words of what is compared one by one: a line of the cache.
ROW: Final = 8

#: Bytes whose differences the processor adds up by one instruction, or 0 where it has none for it.
_features: Final = binding.get_host_cpu_features()
_AT_ONCE = 32 if _features.get("avx2", False) else 16 if _features.get("sse2", False) else 0

_WORD: Final = ir.IntType(64)
_lanes: Final = LANES_OF[types.uint64]


@intrinsic
def gather(typing_context: Any, table: Any, codes: Any, places: Any, offset: Any, width: Any, column: Any) -> Any:
    """Return ``table[codes[places[lane] + offset] * width + column]`` for each lane, of flat contiguous arrays."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table_, codes_, places_, offset_, width_, column_ = arguments
        kinds = signature.args
        gathered = ir.Constant(_lanes.vector, ir.Undefined)
        for lane in range(LANES):
            start = builder.load(address(context, builder, kinds[2], places_, ir.Constant(_WORD, lane)))
            code = builder.load(address(context, builder, kinds[1], codes_, builder.add(start, offset_)))
            place = builder.add(builder.mul(builder.zext(code, _WORD), width_), column_)
            word = builder.load(address(context, builder, kinds[0], table_, place))
            gathered = builder.insert_element(gathered, word, ir.Constant(ir.IntType(32), lane))
        return gathered

    return _lanes(table, codes, places, types.intp, types.intp, types.intp), generate


@intrinsic
def gather_along(typing_context: Any, table: Any, codes: Any, places: Any, offset: Any, width: Any, columns: Any) -> Any:
    """Return ``table[codes[places[lane] + offset] * width + columns[lane] + offset]`` for each lane, words of 32 bits."""
    kind = LANES_OF[table.dtype]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table_, codes_, places_, offset_, width_, columns_ = arguments
        kinds = signature.args
        gathered = ir.Constant(kind.vector, ir.Undefined)
        for lane in range(LANES):
            start = builder.load(address(context, builder, kinds[2], places_, ir.Constant(_WORD, lane)))
            code = builder.load(address(context, builder, kinds[1], codes_, builder.add(start, offset_)))
            column = builder.load(address(context, builder, kinds[5], columns_, ir.Constant(_WORD, lane)))
            place = builder.add(builder.mul(builder.zext(code, _WORD), width_), builder.add(column, offset_))
            word = builder.load(address(context, builder, kinds[0], table_, place))
            gathered = builder.insert_element(gathered, word, ir.Constant(ir.IntType(32), lane))
        return gathered

    return kind(table, codes, places, types.intp, types.intp, columns), generate


def _count_ones(builder: Any, words: Any) -> Any:
    name = f"llvm.ctpop.v{words.type.count}i64"
    counter = cgutils.get_or_insert_function(builder.module, ir.FunctionType(words.type, [words.type]), name)
    return builder.call(counter, [words])


def _differences_by_instruction(builder: Any, left: Any, right: Any) -> Any:
    """Add up differences in parts that the processor has an instruction for."""
    in_part = _AT_ONCE // 8
    part, numbers = ir.VectorType(_WORD, in_part), ir.VectorType(ir.IntType(8), _AT_ONCE)
    name = "llvm.x86.avx2.psad.bw" if _AT_ONCE == 32 else "llvm.x86.sse2.psad.bw"
    add = cgutils.get_or_insert_function(builder.module, ir.FunctionType(part, [numbers, numbers]), name)

    def lanes_at(places: Sequence[int]) -> Any:
        return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), list(places))

    added = []
    for first in range(0, left.type.count, in_part):
        places = lanes_at(range(first, first + in_part))
        both = [builder.bitcast(builder.shuffle_vector(words, words, places), numbers) for words in (left, right)]
        added.append(builder.call(add, both))
    while len(added) > 1:
        together = lanes_at(range(2 * added[0].type.count))
        added = [builder.shuffle_vector(*pair, together) for pair in zip(added[::2], added[1::2], strict=True)]
    return added[0]


def _differences_in_steps(builder: Any, left: Any, right: Any) -> Any:
    """Add up differences as any processor can: bytes to pairs of them, to four, to eight."""
    numbers = ir.VectorType(ir.IntType(8), 8 * left.type.count)
    one, other = (builder.bitcast(words, numbers) for words in (left, right))
    apart = builder.select(builder.icmp_unsigned("<", one, other), builder.sub(other, one), builder.sub(one, other))
    added = builder.bitcast(apart, left.type)
    for width, mask in ((8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF)):
        kept, shift = (ir.Constant(left.type, [number] * left.type.count) for number in (mask, width))
        added = builder.add(builder.and_(added, kept), builder.and_(builder.lshr(added, shift), kept))
    return added


@intrinsic
def add_differences(typing_context: Any, left: Any, right: Any) -> Any:
    """Return by how much the eight bytes of two words differ in all, for each lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return (_differences_by_instruction if _AT_ONCE else _differences_in_steps)(builder, *arguments)

    return _lanes(_lanes, _lanes), generate


@intrinsic
def first_one(typing_context: Any, word: Any) -> Any:
    """Return the place of the lowest one of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), generate


@intrinsic
def count_differences(typing_context: Any, words: Any, left: Any, right: Any) -> Any:
    """Return how many bits of the ``ROW`` words from ``left`` on differ from those from ``right`` on, in one flat array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = ir.VectorType(_WORD, ROW)
        loaded = []
        for place in arguments[1:]:
            begin = address(context, builder, signature.args[0], arguments[0], place)
            loaded.append(builder.load(builder.bitcast(begin, ir.PointerType(row))))
            loaded[-1].align = 8
        adder = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_WORD, [row]), f"llvm.vector.reduce.add.v{ROW}i64"
        )
        return builder.call(adder, [_count_ones(builder, builder.xor(*loaded))])

    return types.uint64(words, types.intp, types.intp), generate


@intrinsic
def find_at_most(typing_context: Any, left: Any, right: Any) -> Any:
    """Return a word whose bit ``lane`` says whether that lane of ``left`` is at most that of ``right``.

    Both must be below half of what a word can hold: without AVX-512, comparing without signs takes more instructions.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.icmp_signed("<=", *arguments)
        return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), _WORD)

    return types.uint64(left, left), generate


@intrinsic
def choose_below(typing_context: Any, left: Any, right: Any, yes: Any, no: Any) -> Any:
    """Return each lane of ``yes`` where ``left`` is below ``right``, else of ``no``; as high as for ``find_at_most``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.icmp_signed("<", *arguments[:2]), *arguments[2:])

    return yes(left, left, yes, yes), generate
