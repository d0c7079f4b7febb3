"""What ``lanes`` of words can do beyond arithmetic and logic, in compiled code.

In plain Python the same operators on arrays of sixteen ``uint64`` or ``uint32`` mean the same.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from medsenteval.lanes import LANES_OF, WORDS, address, load, prefetch, repeat, store

__all__ = [
    "LANES", "ROW",
    "choose_below", "count_differences", "count_ones", "find_at_most", "first_one", "gather",
    "gather_along", "load", "prefetch", "repeat", "store",
]  # fmt: skip

LANES: Final = WORDS
#: Words of what is compared one by one: a line of the cache.
ROW: Final = 8

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


@intrinsic
def count_ones(typing_context: Any, words: Any) -> Any:
    """Return the number of ones of a 64-bit word, or of each lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _count_ones(builder, arguments[0]) if words == _lanes else builder.ctpop(arguments[0])

    kind = _lanes if words == _lanes else types.uint64
    return kind(kind), generate


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
