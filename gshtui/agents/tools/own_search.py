"""Our own search, where there is no ripgrep: the same JSON lines on standard output, the same passing by.

Runs as a process of its own (`python -P -m gshtui.agents.tools.own_search ORDER`), because a regular expression that
backtracks for ever can only be ended from outside. Started by `grep`.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from typing import Any, cast

from gshtui.agents.tools.pattern import PatternError, compiled
from gshtui.agents.tools.walk import Walk

_HEAD = 8192
_LARGEST = 256 << 20


def search(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages of a search.

    Args:
        order: root, target, pattern, file_pattern, context, leave_out, seconds.

    Raises:
        re.error: the pattern is no regular expression.
        PatternError: the file pattern is no glob.
    """
    expression = re.compile(cast("str", order["pattern"]), re.MULTILINE)
    root, target = cast("str", order["root"]), cast("str", order["target"])
    if target != "./":
        yield from _file(os.path.join(root, target), target, expression, order["context"])  # noqa: PTH118 - hot
        return
    wanted = compiled(order["file_pattern"], anywhere=True) if order["file_pattern"] else None
    out = [compiled(glob, anywhere=True) for glob in order["leave_out"]]
    walk = Walk(
        root,
        deadline=time.monotonic() + order["seconds"],
        enter=lambda folder: not any(glob.match(folder.rstrip("/")) for glob in out),
    )
    start = len(root.rstrip("/")) + 1
    for entry in walk.files():
        relative = entry.path[start:]
        if wanted is not None and not wanted.match(relative):
            continue
        if any(glob.match(relative) for glob in out) or not entry.is_file(follow_symlinks=False):
            continue
        yield from _file(entry.path, f"./{relative}", expression, order["context"])


def _file(path: str, name: str, expression: re.Pattern[str], context: int) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as opened:  # noqa: PTH123 - hot
            head = opened.read(_HEAD)
            if b"\0" in head or os.fstat(opened.fileno()).st_size > _LARGEST:
                return
            content = (head + opened.read()).decode("utf-8", "surrogateescape")
    except OSError:
        return
    if expression.search(content) is None:
        return
    lines = content.split("\n")
    if not lines[-1]:
        lines.pop()
    if "\n" in expression.pattern or "\\n" in expression.pattern:
        hits = _spanning(content, expression, len(lines))
    else:  # one line at a time, as ripgrep does, so that `\s` stays on its line
        hits = {number for number, line in enumerate(lines) if expression.search(line)}
    around = sorted({n for hit in hits for n in range(max(0, hit - context), min(len(lines), hit + context + 1))})
    for number in around:
        kind = "match" if number in hits else "context"
        data = {"path": _spoken(name), "lines": _spoken(lines[number] + "\n"), "line_number": number + 1}
        yield {"type": kind, "data": data}


def _spanning(content: str, expression: re.Pattern[str], lines: int) -> set[int]:
    """Numbers of the lines, from 0, that some match lies in."""
    hits: set[int] = set()
    line, counted = 0, 0
    for match in expression.finditer(content):
        line += content.count("\n", counted, match.start())
        counted = match.start()
        last = line + content.count("\n", match.start(), max(match.start(), match.end() - 1))
        hits.update(number for number in range(line, last + 1) if number < lines)
    return hits


def _spoken(text: str) -> dict[str, str]:
    if text.isprintable() or text.isascii():
        return {"text": text}
    data = text.encode("utf-8", "surrogateescape")
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(data).decode()}


def main() -> int:
    """Search as the first argument says. 0: found, 1: nothing found, 2: the pattern is none."""
    found = 1
    try:
        for message in search(json.loads(sys.argv[1])):
            found = 0
            sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except (re.error, PatternError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever asked has enough
    return found


if __name__ == "__main__":
    sys.exit(main())
