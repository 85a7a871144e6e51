"""The pictures of Python blocks, from a real interpreter into a real window: kept, shown, shown again, exported."""

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say, Spent
from tests.kit.png import END, SIGNATURE, chunk, header, pixels, png
from tests.kit.pty_child import WarmPtyChild
from tests.kit.python_interpreters import PythonHarness


@pytest.fixture
async def python(tmp_path: Path) -> AsyncIterator[PythonHarness]:
    (tmp_path / "project").mkdir()
    (tmp_path / "own").mkdir()
    made = PythonHarness((tmp_path / "project").resolve(), tmp_path / "own")
    yield made
    await made.close()


def forging(*figures: dict[str, object]) -> str:
    """A block that has its interpreter report these figures, whatever it has drawn."""
    reach = "worker = output.__globals__['add_picture'].__globals__\nworker['_described'] = lambda picture: picture\n"
    return f"{reach}worker['_shown'] += {list(figures)!r}"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_a_hostile_picture_is_one_sentence(python: PythonHarness) -> None:
    animated = png(4, 3, chunk(b"acTL", b"\0" * 8))
    huge = SIGNATURE + header(30_000, 30_000) + pixels(1, 1) + END
    outcome = await python.run(
        forging(
            {"title": "none\x1b]2;x\x07", "png": encoded(b"GIF89a")},
            {"title": "huge", "png": encoded(huge)},
            {"title": "moving", "png": encoded(animated)},
            {"title": "text", "png": "not base64"},
            {"title": "large", "png": "", "error": "has 9,000,000 bytes; at most 1,000,000 are kept"},
            {"title": "odd", "png": encoded(png()), "columns": 7, "colours": encoded(b"12345")},
            {"title": "many", "png": encoded(png()), "columns": 10**9, "colours": encoded(b"123")},
        )
    )
    lines = outcome.notes.split("\n")
    assert lines[1:5] == [
        "[figure huge: the picture is 30,000 × 30,000 pixels; at most 4,096 × 4,096 are shown]",
        "[figure moving: the picture is animated; only still ones are shown]",
        "[figure text: the picture is not a PNG]",
        "[figure large: the picture has 9,000,000 bytes; at most 1,000,000 are kept]",
    ]
    assert lines[0].startswith("[figure none") and lines[0].endswith(": the picture is not a PNG]")
    assert "\x1b" not in outcome.text
    assert [(one.title, one.columns, one.colours) for one in outcome.drawings] == [("odd", 0, b""), ("many", 0, b"")]


PILLOW = """
import sys, types
def module(name, **names):
    made = sys.modules[name] = types.ModuleType(name)
    made.__dict__.update(names)
    return made
class Image:
    mode, size, filename = "RGB", (4, 3), "/somewhere/photo.jpg"
    def convert(self, mode): return self
    def resize(self, size): return self
    def tobytes(self): return bytes(range(36))
    def save(self, file, format): file.write(PNG)
    def show(self): sys.modules["PIL.ImageShow"].show(self)
class Viewer: pass
viewers = []
def register(viewer, order): viewers.insert(order, viewer)
def show(image): viewers[0].show(image, title=None)
module("PIL")
module("PIL.Image", Image=Image)
"""
"""As much of Pillow as a block's pictures need."""


async def test_an_image_that_is_shown_given_out_or_last_is_in_the_result(python: PythonHarness) -> None:
    await python.run(f"PNG = {png()!r}\n{PILLOW}")
    last = await python.run("Image()")
    assert [(one.title, one.width, one.height) for one in last.drawings] == [("photo.jpg", 4, 3)]
    assert (last.drawings[0].columns, last.drawings[0].colours) == (4, bytes(range(36)))
    assert last.drawings[0].png == png()
    assert len((await python.run("output(Image())\nimage = Image()\noutput(image)\nimage")).drawings) == 2
    assert (await python.run("1")).drawings == (), "each is shown once"


FIGURE = forging({"title": "Squares", "png": encoded(png(400, 300)), "columns": 4, "colours": encoded(bytes(36))})


async def test_a_window_shows_pictures_again_and_the_export_lists_them(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home.path / "project"
    project.mkdir()
    monkeypatch.setenv("TERM", "xterm-kitty")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("TMUX", raising=False)
    script = [[Call("python", {"code": FIGURE}), Spent(9, 9)], [Say("all drawn"), Spent(9, 9)]]
    async with loopback("anthropic", script) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        first = await asyncio.to_thread(drawn_picture, project, b"draw\r", "--mode", "auto")
        again = await asyncio.to_thread(drawn_picture, project, b"", "session", "resume", "latest")
    assert first == again
    monkeypatch.setenv("TMUX", "/tmp/none,1,0")  # passes no pictures on
    blocks = await asyncio.to_thread(shown_blocks, project)
    assert b"\x1b_Ga=t" not in blocks
    exported = [json.loads(line) for line in export(project, "jsonl").splitlines()]
    (picture,) = [line for line in exported if line["type"] == "picture"]
    assert (picture["media_type"], picture["data"]) == ("image/png", encoded(png(400, 300)))
    assert "(picture Squares: 400 × 300, image/png, " in export(project, "markdown")


def export(project: Path, form: str) -> str:
    argv = [sys.executable, "-m", "gshtui", "session", "export", "latest", "--format", form]
    return subprocess.run(argv, cwd=project, check=True, capture_output=True, text=True).stdout


def drawn_picture(project: Path, keys: bytes, *arguments: str) -> bytes:
    """The picture as the window gives it to the terminal."""
    child = WarmPtyChild(arguments, project, columns=110, rows=40)
    whole = re.compile(rb"\x1b_Ga=t,f=100,t=d,i=(\d+),q=2,m=0;([^\x1b]+)\x1b\\\x1b_Ga=p,U=1,i=\1,c=40,r=15,q=2\x1b\\")
    try:
        child.go()
        child.read_until(lambda: b"\x1b[?2004h" in child.output)
        child.write(keys)
        child.read_until(lambda: whole.search(child.output) is not None)
        child.read_until(lambda: child.output.count("\U0010eeee".encode()) >= 40 * 15)
        child.read_until(lambda: b"all drawn" in child.output)
        os.kill(child.pid, signal.SIGTERM)
        child.wait()
        found = whole.search(child.output)
        assert found is not None
        number = int(found[1])
        colour = f"38;2;{number >> 16};{number >> 8 & 255};{number & 255}"
        assert re.search(rb"\x1b\[" + colour.encode() + rb"[;m]", child.output), "the colour names the picture"
        return found[2]
    finally:
        child.close()


def shown_blocks(project: Path) -> bytes:
    """What the window writes until it shows the picture in half blocks; it is drawn once the terminal says it can."""
    child = WarmPtyChild(["session", "resume", "latest"], project, columns=110, rows=40)
    child.resize(110, 40, (10, 20))
    try:
        child.go()
        child.read_until(lambda: "▀▀▀▀".encode() in child.output)
        blocks = child.output
        assert b"\x1bP" not in blocks
        child.write(b"\x1b[?62;4;22c")  # long after the question
        child.read_until(lambda: child.output.count(b'\x1bP0;1;0q"1;1;400;20') >= 15)
        return blocks
    finally:
        child.close()
