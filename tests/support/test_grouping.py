"""Values of one key stand together, in the order in which they come."""

from __future__ import annotations

from medsenteval.support.grouping import grouped


def test_keys_and_values_keep_their_order() -> None:
    found = grouped([("b", 3), ("a", 1), ("b", 2), ("b", 3)])
    assert list(found.items()) == [("b", [3, 2, 3]), ("a", [1])]
    assert grouped([]) == {}
