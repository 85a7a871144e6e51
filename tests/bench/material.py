"""What the benchmarks show: an answer of any length as a model writes them, and conversations of any length.

Always the same for the same arguments. Imports nothing of the program.
"""

import itertools

START = "THE¤START"
"""Written before an answer."""
END = "THE¤END"
"""Written behind an answer: when this is on the screen, all of it has been shown."""

_PARTS = (
    "## Step {n}: the writer\n\n",
    "The queue is drained in **one** transaction, so an acknowledgement means that the row is on disk. See `store.py`, "
    "line {n}, and [the manual](https://www.sqlite.org/wal.html) for what *normal* promises and what it does not.\n\n",
    "- the first item is short\n- the second one, number {n}, is long enough that it has to be wrapped on most "
    "terminals that people use for their work\n  - and one inside\n\n",
    "```python\ndef step_{n}(queue: list[int], limit: int = {n}) -> int:\n    total = 0\n    for item in queue:\n"
    "        if item > limit:\n            total += item  # keep it\n    return total\n```\n\n",
    "| name | before | after |\n| --- | ---: | ---: |\n| open | {n} ms | 4 ms |\n| write | 12 ms | 3 ms |\n\n",
    "> It was slow because every row had its own transaction.\n\n",
    "1. measure\n2. change one thing\n3. measure again, {n} times\n\n",
)


def answer(size: int) -> str:
    """Markdown of exactly `size` characters: headings, prose, lists, code, tables, quotes."""
    pieces: list[str] = []
    length = 0
    for number in itertools.count(1):
        piece = _PARTS[number % len(_PARTS)].format(n=number)
        pieces.append(piece)
        length += len(piece)
        if length >= size:
            break
    return "".join(pieces)[:size]


def last_turns() -> list[tuple[str, str]]:
    """Ten messages that end any conversation: several screens of them, so that there is something to scroll."""
    return [*(("user" if n % 2 else "assistant", f"Word {n}.\n\n{answer(2500)}") for n in range(9)), ("assistant", END)]


def turns(count: int) -> list[tuple[str, str]]:
    """`count` messages of a conversation, (role, Markdown), from 40 to about 900 characters."""
    out: list[tuple[str, str]] = []
    for number in range(count):
        if number % 2 == 0:
            out.append(("user", f"Question {number}: why does step {number} take so long, and what can be done?"))
        else:
            out.append(("assistant", f"Answer {number}.\n\n{answer(150 + number * 37 % 800)}"))
    return out
