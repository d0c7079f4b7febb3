"""Small errors in a source file: a swapped operator, a shifted number, a negated condition, an early return of nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutant", "mutants_of"]

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is",
    ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.Pow: "*", ast.BitAnd: "|", ast.BitOr: "&", ast.And: "or", ast.Or: "and",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A file with the text between two offsets replaced."""

    file: Path
    line: int
    start: int
    end: int
    replacement: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.replacement + source[self.end :]

    def compiles(self, source: str) -> bool:
        try:
            compile(self.apply(source), str(self.file), "exec")
        except SyntaxError:
            return False
        return True

    def describe(self, source: str) -> str:
        return f"{self.file}:{self.line}: {source[self.start : self.end]!r} became {self.replacement!r}"


def mutants_of(file: Path, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a file, some of which do not compile; annotations, docstrings and texts stay as they are."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    encoded = source.encode()

    def offset(line: int, column: int) -> int:
        return len(encoded[: starts[line - 1] + column].decode())

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)

    def between(left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[Mutant]:
        """Replace the operator that stands between two operands."""
        if type(operator) not in _OPERATORS:
            return
        start, end = place(left)[1], place(right)[0]
        gap = source[start:end]
        word = gap.strip(" ()\n\\")
        if word and gap.count(word) == 1 and "#" not in gap:
            at = start + gap.index(word)
            yield Mutant(file, left.lineno, at, at + len(word), _OPERATORS[type(operator)])

    for node in _code(tree):
        found: list[Mutant] = []
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
                found += between(left, right, operator)
        elif isinstance(node, ast.BinOp):
            found += between(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            found += between(node.values[0], node.values[1], node.op)
        elif isinstance(node, (ast.If, ast.While, ast.IfExp)):
            start, end = place(node.test)
            found.append(Mutant(file, node.lineno, start, end, f"not ({source[start:end]})"))
        elif isinstance(node, ast.Return) and node.value is not None:
            start, end = place(node.value)
            found.append(Mutant(file, node.lineno, start, end, "None"))
        elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            start, end = place(node)
            changed = not node.value if isinstance(node.value, bool) else node.value + 1
            found.append(Mutant(file, node.lineno, start, end, repr(changed)))
        yield from (mutant for mutant in found if mutant.replacement != source[mutant.start : mutant.end])


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk what runs: no annotations, decorators, formatted texts, messages of errors, nor assertions (zip's strict is one)."""
    if isinstance(tree, (ast.JoinedStr, ast.Raise, ast.Assert)) or (isinstance(tree, ast.keyword) and tree.arg == "strict"):
        return
    if isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING":
        return
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "type_params", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child)
