"""A program that looks and behaves like Claude Code in a terminal, drawn from the recordings of the real one.

    python -m tests.kit.fake_agent --screens tests/fixtures/screens/claude/2.1.197 [--delay 20] [--swallow 0.12] …

Its bad habits are options: slow to start, an Enter too close to a paste is swallowed, SIGHUP is ignored, Enter is never
taken, the first one only empties the input for a moment, or it reports before it draws. A prompt with `do:ask` brings
the approval question, any other one an answer after `--work` seconds. With GSH_HOOK_SPOOL it reports as the hooks of
the real one do, unless `--mute`.
"""

import argparse
import json
import os
import re
import select
import signal
import sys
import termios
import time
import tty
from datetime import UTC, datetime
from pathlib import Path

from gshtui.programs import report_hook

PASTE, PASTED = b"\x1b[200~", b"\x1b[201~"
_STALLED_LOOK = 0.05
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")


class Fake:
    """The program's state and its drawing."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        folder = Path(options.screens)
        meta = json.loads((folder / "screens.json").read_text("utf-8"))
        self.shots = {shot["file"].split("-", 1)[1].removesuffix(".txt"): shot for shot in meta["shots"]}
        self.lines = {
            name: (folder / shot["file"]).read_text("utf-8").split("\n")[:-1] for name, shot in self.shots.items()
        }
        self.draft = ""
        self.said: list[str] = []
        self.state = "idle"
        self.until = 0.0
        self.pasted_at = 0.0
        self.blinked = ""
        self.back_at = 0.0
        self.quitting = 0.0
        self.ignored = 0
        self.stalled = False
        self.turns = 0

    def draw(self) -> None:
        """The recording of the state, with the conversation and the draft in it."""
        lines = list(self.lines[self.state])
        row = max((n for n, line in enumerate(lines) if _STYLE.sub("", line).startswith("❯")), default=None)
        if row is not None and self.state != "approval":
            typed = self.draft.split("\n")
            lines[row : row + 1] = [f"❯ {typed[0]}", *(f"  {line}" for line in typed[1:6])]
            lines[row - 1 : row - 1] = self.said
        title = self.shots[self.state]["title"]
        tail = lines[-(os.get_terminal_size().lines - 1) :]
        picture = "\r\n".join(f"{line}\x1b[0m\x1b[K" for line in tail)
        os.write(1, f"\x1b]2;{title}\x07\x1b[?2004h\x1b[H\x1b[2J{picture}".encode())

    def report(self, event: str, **more: object) -> None:
        """As the hook does."""
        spool = os.environ.get("GSH_HOOK_SPOOL")
        if spool and not self.options.mute:
            data = {"hook_event_name": event, "session_id": self.options.session_id, **more}
            with Path(spool).open("ab") as file:
                file.write(report_hook.line(data, "claude", time.time()))

    def enter(self) -> None:
        """What stands in the input is entered, if the program is in the mood."""
        if time.monotonic() - self.pasted_at < self.options.swallow or self.options.deaf:
            return
        if self.draft and self.ignored < self.options.ignore:
            self.ignored += 1
            return
        if self.options.blink and not self.blinked and self.draft:
            self.blinked, self.draft = self.draft, ""
            self.back_at = time.monotonic() + self.options.blink
        elif self.state == "approval":
            self.report("PostToolUse", tool_name="Bash")
            self.work()
        elif self.draft and self.state != "busy":
            prompt, self.draft = self.draft, ""
            self.said += ["", f"❯ {prompt.splitlines()[0]}"]
            if self.options.heard:  # before its hook says that it was
                with Path(self.options.heard).open("a", encoding="utf-8") as file:
                    file.write(f"{prompt.splitlines()[-1].removeprefix('> ')}\n")
            self.report("UserPromptSubmit", prompt=prompt)
            if self.options.transcript:
                self.note(prompt)
            if "do:ask" in prompt:
                self.state = "approval"
                self.report("PermissionRequest", tool_name="Bash", tool_input={"command": "touch made.txt"})
            else:
                self.work()

    def note(self, prompt: str) -> None:
        """Write down what it was asked, as the real one does."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {
            "type": "user",
            "uuid": f"{self.turns}-{at}",
            "sessionId": self.options.session_id,
            "timestamp": at,
            "message": {"role": "user", "content": prompt},
        }
        with Path(self.options.transcript).open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(record)}\n")

    def work(self) -> None:
        self.state, self.until = "busy", time.monotonic() + self.options.work

    def answer(self) -> None:
        """The work is done."""
        self.turns += 1
        self.said += ["", f"● Answer number {self.turns}.", "", "✻ Worked for 1s", ""]
        self.state, self.until = "idle", 0.0
        self.report("Stop", last_assistant_message=f"Answer number {self.turns}.")

    def put_back(self) -> None:
        """The text stands in the input again."""
        self.draft, self.back_at = self.blinked, 0.0

    def key(self, key: bytes) -> bool:
        """One key; False when the program ends."""
        if key == b"\x03":
            if self.quitting and time.monotonic() - self.quitting < 2:
                self.report("SessionEnd", reason="prompt_input_exit")
                return False
            self.draft, self.quitting = "", time.monotonic()
        elif key == b"\x1b":
            if self.state in ("busy", "approval"):  # the real one tells no hook of it
                self.said += ["  ⎿  Interrupted · What should Claude do instead?"]
                self.state, self.until = "idle", 0.0
        elif key == b"\r":
            self.enter()
        elif key == b"\x15":
            self.draft = ""
        elif key == b"\x7f":
            self.draft = self.draft[:-1]
        elif key >= b" ":
            self.draft += key.decode("utf-8", "replace")
        return True

    def take(self, data: bytes) -> bool:
        """Input as it comes; False when the program ends."""
        while data:
            if data.startswith(PASTE):
                text, _, data = data[len(PASTE) :].partition(PASTED)
                self.draft += text.decode("utf-8", "replace").replace("\r", "\n")
                self.pasted_at = time.monotonic()
                continue
            key, data = data[:1], data[1:]
            if not self.key(key):
                return False
        if self.options.stall and self.pasted_at and not self.stalled:
            self.stalled = True
            self.draw()
            while not Path(self.options.stall).exists():
                select.select((), (), (), _STALLED_LOOK)
        return True


def whole(data: bytes) -> bytes:
    """More of a paste whose end has not come yet."""
    while PASTE in data and data.rfind(PASTED) < data.rfind(PASTE):
        data += os.read(0, 65536)
    return data


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--screens", required=True)
    parser.add_argument("--session-id", default="00000000-0000-4000-8000-000000000000")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds until it is ready")
    parser.add_argument("--swallow", type=float, default=0.0, help="seconds after a paste in which Enter is lost")
    parser.add_argument("--work", type=float, default=0.5, help="seconds that an answer takes")
    parser.add_argument("--go", default="", help="an answer takes until this file is there, too")
    parser.add_argument("--deaf", action="store_true", help="never take an Enter")
    parser.add_argument("--ignore", type=int, default=0, help="Enters behind a text that do nothing")
    parser.add_argument("--stall", default="", help="nothing is read after the first paste until this file is there")
    parser.add_argument("--blink", type=float, default=0.0, help="seconds for which the first Enter empties the input")
    parser.add_argument("--heard", default="", help="a file for the last line of each prompt that it accepts")
    parser.add_argument("--transcript", default="", help="a file for the prompts that it accepts, as a transcript")
    parser.add_argument("--stubborn", action="store_true", help="ignore SIGHUP and SIGTERM")
    parser.add_argument("--lag", type=float, default=0.0, help="seconds from its first report to its first picture")
    parser.add_argument("--mute", action="store_true", help="report nothing")
    options, _ = parser.parse_known_args()
    if options.stubborn:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        if options.delay:
            os.write(1, b"Starting ...\r\n")
            select.select([], [], [], options.delay)
            termios.tcflush(0, termios.TCIFLUSH)  # what was typed too early is lost
        fake = Fake(options)
        fake.report("SessionStart", source="startup")
        select.select([], [], [], options.lag)
        fake.draw()
        while True:
            next_at = fake.back_at or fake.until
            left = max(0.0, next_at - time.monotonic()) if next_at else None
            ready, _, _ = select.select([0], [], [], left)
            if ready:
                data = os.read(0, 65536)
                if not data or not fake.take(whole(data)):
                    break
            elif fake.back_at:
                fake.put_back()
            elif fake.until and options.go and not Path(options.go).exists():
                fake.until = time.monotonic() + _STALLED_LOOK
                continue
            elif fake.until:
                fake.answer()
            fake.draw()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    sys.stdout.write("\r\nResume this session with:\r\nclaude --resume x\r\n")


if __name__ == "__main__":
    main()
