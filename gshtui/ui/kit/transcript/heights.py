"""Sums of heights: how many rows lie before an item, and which item a row is in, both in O(log n).

A Fenwick tree over a list that grows and shrinks at its end; a change elsewhere is a rebuild. Refuses to know what the
items are. Used for the blocks of an entry and for the entries of a conversation.
"""

from __future__ import annotations

from collections.abc import Iterable


class Heights:
    """Heights in rows, none negative."""

    __slots__ = ("_tree", "_values", "total")

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values = list(values)
        self.total = sum(self._values)
        """Rows of all items."""
        tree = [0, *self._values]
        for at in range(1, len(tree)):
            parent = at + (at & -at)
            if parent < len(tree):
                tree[parent] += tree[at]
        self._tree = tree

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> list[int]:
        """All heights, in order; a list of the caller's own."""
        return self._values.copy()

    def __getitem__(self, at: int) -> int:
        return self._values[at]

    def append(self, height: int) -> None:
        """One more item at the end."""
        self._values.append(height)
        self.total += height
        at = len(self._values)
        below, low = at - 1, at - (at & -at)
        value = height
        while below > low:
            value += self._tree[below]
            below -= below & -below
        self._tree.append(value)

    def pop(self) -> None:
        """The last item away."""
        self.total -= self._values.pop()
        self._tree.pop()

    def put(self, at: int, height: int) -> None:
        """Another height for the item."""
        change = height - self._values[at]
        if not change:
            return
        self._values[at] = height
        self.total += change
        at += 1
        while at < len(self._tree):
            self._tree[at] += change
            at += at & -at

    def before(self, at: int) -> int:
        """Rows before the item."""
        rows = 0
        while at > 0:
            rows += self._tree[at]
            at -= at & -at
        return rows

    def find(self, row: int) -> tuple[int, int]:
        """The item that the row is in, and the row within it. Rows past the end count into the last item."""
        at = 0
        step = 1 << (len(self._values).bit_length())
        while step:
            after = at + step
            if after < len(self._tree) and self._tree[after] <= row:
                at = after
                row -= self._tree[at]
            step >>= 1
        if at >= len(self._values):
            last = len(self._values) - 1
            return last, row + self._values[last]
        return at, row
