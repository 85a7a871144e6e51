"""Records the screens of the real programs again, after one of them has changed.

    python -m tests.kit.record_screens --bin DIR [--only claude] [--size 120x40] [--out FOLDER]
    python -m tests.kit.record_screens --dialogs [--only claude] [--out FOLDER]
    python -m tests.kit.record_screens --questions [--only claude] [--scene plan] [--out FOLDER]

`DIR` holds the programs (`npm install` in a folder outside the repository). Each is driven through tmux on a private
socket against a provider on this machine; its screens go to `tests/fixtures/screens/<program>/<version>/`. `--dialogs`
records what `.ci/programs` has installed, in a small and a large window, into `dialogs-<size>` below that;
`--questions` what it asks in each of its modes, into `<scene>-<size>` (`record_questions`).
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gshtui.programs.hooks import hook_reports, hooks
from gshtui.programs.profiles.profile_files import load
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.session import launch
from gshtui.tmux.server import TmuxServer
from tests.kit.loopback.apis import loopback
from tests.kit.prompt_driven_model import follow_prompts
from tests.kit.real_programs import FOLDER, PROGRAMS
from tests.kit.record_programs import DIALOGS, RECIPES, Recipe, Step
from tests.kit.record_questions import SCENES, Scene, calls, made_project
from tests.kit.tmux import kill_server

FIXTURES = Path(__file__).parents[1] / "fixtures" / "screens"
PATIENCE = 60.0
_PERHAPS = 25.0
"""Seconds for what some versions do not show."""
_STILL = 0.3
"""Seconds for which a screen that has taken a key stands still."""


async def pause(seconds: float) -> None:
    """Between two looks: real programs say nothing when they have drawn."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), seconds)


@dataclass
class Recording:
    """One program on its way."""

    recipe: Recipe
    server: TmuxServer
    folder: Path
    out: Path
    pane: str = ""
    shots: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def start(self, what: launch.Launch, base: dict[str, str], session: str, size: tuple[int, int]) -> None:
        env = what.environment(base)
        info = await self.server.spawn(session, what.argv, cwd=self.folder, env=env, width=size[0], height=size[1])
        self.pane = info.pane

    async def seen(self, pattern: str, steady: float, patience: float = PATIENCE) -> bool:
        """Whether the screen came to match, and stood still for that long."""
        loop = asyncio.get_running_loop()
        ends, last, since = loop.time() + patience, "", loop.time()
        while loop.time() < ends:
            text = "\n".join(without_styles(line) for line in await self.server.capture(self.pane))
            if text != last:
                last, since = text, loop.time()
            if re.search(pattern, text) and loop.time() - since >= steady:
                return True
            await pause(0.05)
        return False

    async def moved(self) -> None:
        """Wait until its screen is another one than now."""
        before = await self.server.capture(self.pane)
        ends = asyncio.get_running_loop().time() + _PERHAPS
        while await self.server.capture(self.pane) == before and asyncio.get_running_loop().time() < ends:
            await pause(0.05)

    async def take(self, step: Step, number: int) -> None:
        if step.optional and not step.text and not await self.seen(step.until, step.steady, _PERHAPS):
            return
        if step.after and step.steady:
            await self.seen("", step.after)
        for key in step.keys:
            if not (await self.server.pane(self.pane)).dead:
                await self.server.send_keys(self.pane, key)
                await self.seen("", _STILL, _PERHAPS)  # two keys at once are another key to some
        if step.text:
            await self.server.send_text(self.pane, step.text)
            await self.seen(re.escape(step.text[:20]) + "|[Pp]asted", 0.2)  # an Enter before that is one more line
            if step.enter:
                await self.server.send_keys(self.pane, "Enter")
        good = await self.seen(step.until, step.steady, _PERHAPS if step.optional else PATIENCE)
        if step.optional and not good:
            return
        if not good:  # what it shows is no picture of that
            print(f"  NOT {number:02}-{step.name}")
            print("\n".join(without_styles(line) for line in (await self.server.capture(self.pane))[-25:]))
            return
        if step.after and not step.steady:
            await self.moved()
        lines = await self.server.capture(self.pane)
        info = await self.server.pane(self.pane)
        name = f"{number:02}-{step.name}.txt"
        (self.out / name).write_text("\n".join(line.rstrip() for line in lines).rstrip() + "\n", "utf-8")
        self.shots.append(
            {
                "file": name,
                "status": step.status,
                "draft": step.draft,
                "dialog": step.dialog,
                "title": info.title,
                "command": info.command,
                "cursor": [info.cursor_x, info.cursor_y],
                "alternate": info.alternate,
                "dead": info.dead,
                "exit_status": info.exit_status,
            }
        )
        print(f"  ok  {name:28} {step.status or 'ended':9} {info.title!r}")


async def version_of(program: str, env: dict[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        program, "--version", env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    found = re.search(r"\d+\.\d+\.\d+", output.decode())
    return found.group() if found else "unknown"


async def record(recipe: Recipe, options: argparse.Namespace) -> bool:
    """Record one program. False when a step was not seen."""
    place = Path(tempfile.mkdtemp(prefix="rec-", dir=options.scratch or None))
    home, folder = place / "home", place / "project"
    home.mkdir()
    folder.mkdir()
    (folder / "readme.txt").write_text("A project.\n", "utf-8")
    server = TmuxServer(socket_path=place / "s")
    width, height = (int(part) for part in options.size.split("x"))
    path = f"{Path(options.bin).resolve()}:{os.environ['PATH']}"
    base = {"HOME": str(home), "PATH": path, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    program = str(Path(options.bin).resolve() / recipe.argv[0])
    number = await version_of(program, base)
    out = Path(options.out) / recipe.name / number
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    print(f"{recipe.name} {number}")
    profile = load(place / "none").get(recipe.name)
    own = home / ".gemini" / "extensions" if recipe.name == "gemini" else place / "hooks"
    hooks.apply_plan(hooks.plan(profile, folder=own))
    try:
        async with loopback(recipe.api, choose=recipe.choose, strict=False, pace=40, chunk=20) as provider:
            base |= recipe.prepare(home, provider.url)
            recording = Recording(recipe, server, folder, out)
            begun = await launch.first_launch(
                profile, [program, *recipe.argv[1:]], agent="0001", data=place, environ=base, folder=own
            )
            await recording.start(begun, base, "rec-1", (width, height))
            for index, step in enumerate(recipe.steps, 1):
                await recording.take(step, index)
            reported = hook_reports.spool_path(place, "0001").read_text("utf-8")
            (out / "hooks.jsonl").write_text(reported, "utf-8")
            bound = begun.external_id or identity(reported)
            once_more = await launch.next_launch(
                profile, [program, *recipe.argv[1:]], bound, agent="0001", data=place, environ=base, folder=own
            )
            print(f"  conversation {bound}, resumed by {' '.join(once_more.argv[1:4])} … blank={once_more.blank}")
            await recording.start(once_more, base, "rec-2", (width, height))
            for index, step in enumerate(recipe.resumed, len(recipe.steps) + 1):
                await recording.take(step, index)
        meta = {"program": recipe.name, "version": number, "width": width, "height": height, "shots": recording.shots}
        (out / "screens.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", "utf-8")
        for file in out.glob("*"):  # nothing of this machine stays in a recording
            file.write_text(file.read_text("utf-8").replace(str(place), "/home/u"), "utf-8")
    finally:
        for pane in await server.panes():
            await server.kill_pane(pane.pane, grace=1.0)  # not all of them go when their terminal does
        await kill_server(server)
        await server.close()
        shutil.rmtree(place, ignore_errors=True)
    return True


async def record_installed(name: str, scene: Scene, size: str, options: argparse.Namespace) -> None:
    """Record one scene of an installed program in a window of this size."""
    program = PROGRAMS[name]
    place = Path(tempfile.mkdtemp(prefix="rec-", dir=options.scratch or None))
    home, folder = place / "home", place / "project"
    home.mkdir()
    folder.mkdir()
    made_project(folder)
    server = TmuxServer(socket_path=place / "s")
    width, height = (int(part) for part in size.split("x"))
    out = Path(options.out) / name / program.version / f"{scene.name}-{size}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    print(f"{name} {program.version} {scene.name} {size}")
    base = {"HOME": str(home), "PATH": f"{FOLDER / 'bin'}:{os.environ['PATH']}", "TERM": "xterm-256color"}
    tool = program.setup.tool
    choose = follow_prompts(tool.name, tool.argument, calls(name, folder), **tool.more)
    try:
        async with loopback(program.api, choose=choose, strict=False, pace=40, chunk=20) as provider:
            base |= {"LANG": "C.UTF-8"} | ({} if scene.bare else program.prepare(home, folder, provider.url))
            if scene.set_up is not None:
                scene.set_up(home, folder)
            recording = Recording(
                Recipe(name, program.api, lambda home, url: program.prepare(home, folder, url), ()),
                server,
                folder,
                out,
            )
            argv = (str(program.path), *program.argv[1:], *scene.arguments)
            await recording.start(launch.Launch(argv), base, "rec", (width, height))
            for index, step in enumerate(scene.steps, 1):
                await recording.take(step, index)
        meta = {"program": name, "version": program.version, "width": width, "height": height}
        meta["shots"] = recording.shots
        (out / "screens.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", "utf-8")
        for file in out.glob("*"):  # nothing of this machine stays in a recording
            file.write_text(file.read_text("utf-8").replace(str(place), "/home/u"), "utf-8")
    finally:
        for pane in await server.panes():
            await server.kill_pane(pane.pane, grace=1.0)
        await kill_server(server)
        await server.close()
        shutil.rmtree(place, ignore_errors=True)


def identity(reported: str) -> str:
    """The conversation's id that the program's hooks told."""
    told = [json.loads(line).get("conversation", "") for line in reported.splitlines()]
    return next((word for word in reversed(told) if word), "")


async def main() -> None:
    parser = argparse.ArgumentParser(description="Record the screens of real programs.")
    parser.add_argument("--bin", help="folder with the programs")
    parser.add_argument("--dialogs", action="store_true", help="the dialogs of the installed programs")
    parser.add_argument("--questions", action="store_true", help="what the installed programs ask")
    parser.add_argument("--scene", action="append", default=[], help="of the questions; without it, all")
    parser.add_argument("--only", action="append", default=[], choices=sorted({*DIALOGS, *SCENES}))
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--sizes", default="80x24,120x35,160x45", help="of the questions")
    parser.add_argument("--out", default=str(FIXTURES))
    parser.add_argument("--scratch", default="", help="folder to work in; a short path")
    options = parser.parse_args()
    if options.dialogs:
        for name in options.only or sorted(DIALOGS):
            for size in ("80x24", "200x50"):
                await record_installed(name, Scene("dialogs", DIALOGS[name]), size, options)
        return
    if options.questions:
        for name in options.only or sorted(SCENES):
            for scene in SCENES[name]:
                for size in tuple(options.sizes.split(",")) if scene.name in (options.scene or scene.name) else ():
                    await record_installed(name, scene, size, options)
        return
    if not options.bin:
        parser.error("--bin names the folder with the programs")
    for name in options.only or sorted(RECIPES):
        await record(RECIPES[name], options)


if __name__ == "__main__":
    asyncio.run(main())
