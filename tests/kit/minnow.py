"""A small program that the guide to profiles is about: an input between two rules, an answer on request, a question.

    python -m tests.kit.minnow

`work` keeps it at work until Escape, `ask` has it ask; anything else is repeated. Ctrl-D ends it.
"""

import os
import sys
import termios
import tty

RULE = "─" * 20


def main() -> None:
    said, over, typed, state, chosen = "", "", "", "rest", 0
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        while True:
            rows = ["Minnow 1.0", f"you: {said}" if said else "", over if state == "rest" else ""]
            if state == "ask":
                rows += [RULE, "Remove notes.txt?"]
                rows += [f"{'> ' if at == chosen else '  '}{at + 1}. {label}" for at, label in enumerate(("Yes", "No"))]
                rows += ["enter chooses, esc refuses"]
            else:
                work = " · working, esc to stop" if state == "work" else ""
                rows += [RULE, typed, RULE, f"small-model{work}"]
            back = "" if state == "ask" else f"\x1b[5;{len(typed) + 1}H"
            os.write(1, ("\x1b[2J\x1b[H" + "\r\n".join(rows) + back).encode())
            for key in os.read(0, 4096).decode().replace("\x1b[200~", "").replace("\x1b[201~", ""):
                if key == "\x04":
                    return
                if state == "ask" and key in "12\r\x1b":
                    said, over, state = f"answered {'2' if key == chr(27) else key}", "done in 1 s", "rest"
                elif key == "\x1b":
                    over, state = "stopped" if state == "work" else over, "rest"
                elif key == "\x15":
                    typed = ""
                elif key == "\r":
                    said, typed, over = typed, "", "done in 1 s"
                    state = said if said in ("work", "ask") else state
                elif key.isprintable():
                    typed += key
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        sys.stdout.write("\x1b[2J\x1b[H")


if __name__ == "__main__":
    main()
