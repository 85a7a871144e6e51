"""A full-screen-less AI program with the bad habits of the real ones, and a file of all that it took.

    python -m tests.kit.quirky_program LOG

`❯ ` is its input. It writes each text that it takes into LOG, as one JSON line. Enter behind `\\` makes a new line. A
leading `!` switches its input to `! `, where Enter is never taken. `ask` opens a question whose Enter means yes (which
LOG tells), `menu` a dialog that only Escape closes, `work` works until Escape is pressed; other texts are answered at
once. Its profile is `PROFILE`.
"""

import json
import os
import sys
import termios
import tty
from pathlib import Path

PROFILE = r"""
title = "Quirky"
programs = ["quirky"]

[input]
line = '^[❯!] ?(.*)$'
more = '^  (\S.*)$'
footer = 1

[text.first]
"!" = " "
"#" = ""

[text.last]
'\' = " "

[[rules]]
status = "waiting"
input = false
all = ['^(.*\?)$', '^→ 1\. Yes']
doing = "{1}"

[[rules]]
status = "waiting"
dialog = true
input = false
all = ['^\[ settings \]']
doing = "settings"

[[rules]]
status = "thinking"
all = ['^working']

[[rules]]
status = "idle"
input = true
all = ['^[❯!]']

[timing]
start = 8.0
settle = 0.1
enter = 0.05
idle = 10.0
shown = 1.0
"""
PASTE, PASTED = b"\x1b[200~", b"\x1b[201~"


class QuirkyProgram:
    """The program."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.draft = ""
        self.state = "idle"
        self.question = ""
        self.turns = 0

    def draw(self) -> None:
        """The whole picture."""
        rows = [f"turn {self.turns}", ""]
        shell = self.draft.startswith("!")
        mark, text = ("!", self.draft[1:].lstrip()) if shell else ("❯", self.draft)
        typed = [f"{mark} {text.split(chr(10))[0]}", *(f"  {line}" for line in text.split("\n")[1:])]
        match self.state:
            case "question":
                rows += ["make", f"{self.question}?", "→ 1. Yes", "  2. No"]
            case "dialog":
                rows += ["[ settings ]", "  colour: blue", "esc closes"]
            case "working":
                rows += ["working", *typed[-20:]]
            case _:
                rows += typed[-20:]
        picture = "\r\n".join(f"{row}\x1b[K" for row in rows)
        os.write(1, f"\x1b[?2004h\x1b[H\x1b[2J{picture}".encode())

    def log_line(self, text: str) -> None:
        """Into the file."""
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(text) + "\n")

    def enter(self) -> None:
        """Enter was pressed."""
        if self.state == "question":
            self.log_line(f"YES to {self.question}")
            self.state = "idle"
        elif self.state == "dialog":
            self.log_line("CHOSEN")
        elif self.draft.endswith("\\"):
            self.draft = self.draft[:-1] + "\n"
        elif self.draft and not self.draft.startswith("!"):
            text, self.draft = self.draft, ""
            self.turns += 1
            word, _, rest = text.partition(" ")
            if word == "ask":
                self.state, self.question = "question", rest
            else:
                self.log_line(text)
                self.state = {"menu": "dialog", "work": "working"}.get(word, self.state)

    def feed(self, data: bytes) -> bool:
        """Input as it comes; False when it ends."""
        while data:
            if data.startswith(PASTE):
                while PASTED not in data:
                    data += os.read(0, 65536)
                text, _, data = data[len(PASTE) :].partition(PASTED)
                if self.state in ("idle", "working"):  # a menu ignores what is pasted
                    self.draft += text.decode("utf-8", "replace").replace("\r", "\n")
                continue
            key, data = data[:1], data[1:]
            if key == b"\x04":
                return False
            if key == b"\r":
                self.enter()
            elif key == b"\x1b":
                self.state = "idle"
            elif key == b"\x15":
                self.draft = ""
            elif self.state == "question" and key == b"2":
                self.log_line(f"NO to {self.question}")
                self.state = "idle"
            elif key >= b" " and self.state == "idle":
                self.draft += key.decode("utf-8", "replace")
        return True


def main() -> None:
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        program = QuirkyProgram(Path(sys.argv[1]))
        program.draw()
        while (data := os.read(0, 65536)) and program.feed(data):
            program.draw()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    main()
