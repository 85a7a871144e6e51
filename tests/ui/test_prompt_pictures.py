"""The foot of the conversation in pictures: every state, small and large."""

from textual import events

from gshtui.bus.events.agent_events import AgentStatusChanged, PromptQueued, TurnStarted
from gshtui.ui.prompt.prompt_completion import CompletionItem
from tests.kit.prompt_host import PromptHost, make_question
from tests.kit.snapshots import Snap, screens, snap

__all__ = ["snap"]

NOW = 1_000.0
DIFF = "\n".join(
    [
        "--- a/src/parser.py",
        "+++ b/src/parser.py",
        "@@ -10,7 +10,8 @@",
        " def parse(line: str) -> list[str]:",
        '-    return line.split(",")',
        "+    if not line.strip():",
        "+        return []",
        "+    return next(csv.reader([line]))",
        *(f" line {n}" for n in range(30)),
    ]
)
WRITE = make_question(
    1,
    tool="edit",
    effect="write",
    subject="/src/aurora/src/parser.py",
    pattern="edit in /src/aurora/src",
    diff=DIFF,
    warnings=("the file has changes that are not committed",),
)


def host(theme: str) -> PromptHost:
    return PromptHost(theme, keep_drafts=False, clock=lambda: 0.0, now=lambda: NOW)


@screens()
async def test_at_rest(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = host(theme)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        snap(app)


@screens(light=True)
async def test_everything_waits(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = host(theme)
    async with app.run_test(size=size) as pilot:
        app.feed(
            TurnStarted(agent="main", session="s", turn="t", prompt="p", at=NOW - 83),
            AgentStatusChanged(agent="main", status="waiting", at=NOW - 12),
            PromptQueued(prompt="q1", agent="main", text="then update the README\nand the changelog"),
            PromptQueued(prompt="q2", agent="main", text="and run the tests"),
            WRITE,
            make_question(2),
        )
        await pilot.press(*"why does ")
        app.post_message(events.Paste("x" * 40 + "\n" + "trace\n" * 240))
        await pilot.press(*" fail?")
        await pilot.pause()
        snap(app)


@screens()
async def test_a_question_in_front(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = host(theme)
    async with app.run_test(size=size) as pilot:
        app.feed(make_question(1, detail="rm -r build1\nmkdir build1", warnings=("deletes a folder",)))
        await pilot.press("ctrl+g")
        await pilot.pause()
        snap(app)


@screens(light=True)
async def test_a_reason(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    now = [0.0]
    app = PromptHost(theme, keep_drafts=False, clock=lambda: now[0], now=lambda: NOW)
    async with app.run_test(size=size) as pilot:
        app.feed(WRITE)
        await pilot.press("ctrl+g")
        await pilot.pause()
        now[0] = 5.0
        await pilot.press("5")
        await pilot.pause()
        await pilot.press(*"keep the old parser")
        await pilot.pause()
        snap(app)


@screens()
async def test_completions(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = host(theme)
    async with app.run_test(size=size) as pilot:
        await pilot.press(*"look at @par")
        files = [f"src/aurora/module{n}/parser.py" for n in range(9)]
        app.area.popup.show(
            [CompletionItem("@parser", 8, "@parser", "reads what others wrote", "agent", (1, 2, 3))]
            + [CompletionItem(f"@{name}", 8, name, "", "file", (19, 20, 21)) for name in files]
        )
        await pilot.press("down")
        await pilot.pause()
        snap(app)


@screens()
async def test_history_search(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = host(theme)
    async with app.run_test(size=size) as pilot:
        app.area.input.past.load(["fix the parser", "why is the build slow?", "write docs\nfor the parser"])
        await pilot.press("ctrl+r")
        await pilot.pause()
        await pilot.press(*"pars")
        await pilot.pause()
        snap(app)


@screens()
async def test_an_opened_paste(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = host(theme)
    async with app.run_test(size=size) as pilot:
        app.post_message(events.Paste("".join(f"line {n} of what was pasted\n" for n in range(240))))
        await pilot.press("alt+o")
        await pilot.pause()
        await pilot.pause()
        snap(app)


@screens()
async def test_changing_a_waiting_prompt(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = host(theme)
    async with app.run_test(size=size) as pilot:
        app.feed(PromptQueued(prompt="q1", agent="main", text="then update the README"))
        await pilot.press("alt+q", "enter")
        await pilot.pause()
        await pilot.press(*" too")
        await pilot.pause()
        snap(app)
