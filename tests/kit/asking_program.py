"""A program whose question changes by itself, at random moments, and which knows exactly what each key was about.

    python -m tests.kit.asking_program LOG SEED [LOST [SLOW [list|astray]]]

After each picture it asks the terminal where its cursor is. The reply comes in the same stream as the keys: a key
before it was pressed while the earlier picture was on the screen, a key behind it while this one was. LOG gets a line
for each key: the question on the screen, and the key. Its questions differ in one character, or in the order of their
choices; some pictures are dialogs without choices, some are none. Its profile is `PROFILE`; `q` ends it.

With LOST it asks one question after the other, each until it is answered, ignores the first LOST keys of each, and
reads nothing after it has painted one until the file SLOW is there (`0`: it reads at once). With `list` its choices
have no numbers: the arrows move a mark and Enter chooses, which is what LOG gets; with `astray` the mark moves two rows
at once.
"""

import json
import os
import random
import re
import select
import sys
import termios
import tty
from pathlib import Path

PROFILE = r"""
title = "Asking"
programs = ["asking"]

[question]
choice = '^(?:→ |  )(\d)\. (\S.*)$'
mark = '^→ \d\. '
above = '^={5,}'
footer = '^enter chooses'

[[rules]]
status = "waiting"
all = ['^→ ', '^enter chooses']

[[rules]]
status = "waiting"
dialog = true
all = ['^\[ settings \]']
doing = "a dialog is open"

[[rules]]
status = "idle"
all = ['^resting']

[timing]
settle = 0.1
shown = 0.6
"""
_ARROW = re.compile(rb"\x1b[\[O]([AB])")
REPLY = re.compile(rb"\x1b\[\d+;\d+R")
SUBJECTS = ("rm -rf a;b", "rm -rf a b", "rm -rf a,b", "rm -rf {a}b", "rm -rf #a", "rm -rf 'a' %b")


def picture(dice: random.Random, *, numbered: bool = True) -> tuple[str, str]:
    """The next question (empty: none that can be answered), and the screen with it."""
    kind = dice.random()
    if kind < 0.12:
        return "", "resting\r\n"
    if kind < 0.2:
        return "", "[ settings ]\r\n  colour: blue\r\n"
    subject = dice.choice(SUBJECTS)
    labels = dice.sample(["Yes", "Yes, always", "No", "No, and stop"], dice.randrange(2, 5))
    rows = [f"{'→' if n == 0 else ' '} {f'{n + 1}. ' if numbered else ''}{label}" for n, label in enumerate(labels)]
    lines = ["=" * 20, subject, "May I?", *([] if numbered else [""]), *rows, "enter chooses"]
    return f"{subject}|{'|'.join(labels)}", "\r\n".join(lines)


def main() -> None:
    log, dice = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    stays, lost = len(sys.argv) > 3, 0
    slow = sys.argv[4] if len(sys.argv) > 4 else "0"
    kind = sys.argv[5] if len(sys.argv) > 5 else ""
    mark = 0
    before = termios.tcgetattr(0)
    tty.setraw(0)
    shown, drawn, unread = "", True, b""
    coming = ""
    try:
        while True:
            if drawn:
                coming, screen = picture(dice, numbered=not kind)
                while stays and (not coming or coming == shown):
                    coming, screen = picture(dice, numbered=not kind)
                mark = 0
                lost = int(sys.argv[3]) if stays else 0
                os.write(1, f"\x1b[H\x1b[2J{screen}\x1b[6n".encode())
                drawn = False
                while slow != "0" and not Path(slow).exists():
                    select.select([], [], [], 0.05)
            ready, _, _ = select.select([0], [], [], dice.choice((0.001, 0.004, 0.02, 0.05, 0.3, 0.6)))
            if not ready:
                drawn = not unread and shown == coming and not stays
                continue
            unread += os.read(0, 4096)
            while unread:
                if (reply := REPLY.match(unread)) is not None:
                    shown, unread = coming, unread[reply.end() :]
                elif kind and (arrow := _ARROW.match(unread)) is not None:
                    unread = unread[arrow.end() :]
                    labels = coming.split("|")[1:]
                    step = (1 if arrow.group(1) == b"B" else -1) * (2 if kind == "astray" else 1)
                    screen = screen.replace(f"→ {labels[mark]}", f"  {labels[mark]}")
                    mark = max(0, min(len(labels) - 1, mark + step))
                    screen = screen.replace(f"  {labels[mark]}\r\n", f"→ {labels[mark]}\r\n")
                    os.write(1, f"\x1b[H\x1b[2J{screen}\x1b[6n".encode())
                elif unread[:1] == b"\x1b":
                    break  # the rest of a reply
                else:
                    key, unread = unread[:1], unread[1:]
                    if key == b"q":
                        return
                    with log.open("a", encoding="utf-8") as file:
                        chosen = coming.split("|")[1:][mark] if kind else key.decode()
                        file.write(json.dumps([shown, chosen]) + "\n")
                    if lost:
                        lost -= 1
                        continue
                    drawn = drawn or shown == coming  # answered, so it goes on; else it was about the one before
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    main()
