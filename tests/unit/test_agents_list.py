"""The list of agents: what rows and events make of it, its order, its lines, and what can be done with whom."""

import re
from itertools import product

import msgspec
import pytest
from rich.cells import cell_len
from textual.content import Content

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentAdded, AgentStatusChanged, UsageReported
from gshtui.bus.events.fleet_events import (
    AgentKilled,
    AgentRemoved,
    AgentRestored,
    MessageHeld,
    MessageQueued,
    MessageSubmitted,
)
from gshtui.bus.events.hub_events import HubStarted
from gshtui.bus.messages import Usage
from gshtui.fleet.core.agent_tables import state_words, status_words
from gshtui.ui.agents.agents_list import ENDED_SHOWN, KINDS, draw_agents, list_agents
from gshtui.ui.agents.agents_state import AgentsState, AgentView, reduce
from gshtui.ui.kit.drawing.themes import STATUS_SIGNS
from tests.kit import recorded
from tests.kit.recorded_fleet import CLAUDE, DONE, HOME, LOST, MANY, SEARCH, SHELL, TESTS, changed, row

NOW = recorded.NOW


def after(*events: Event) -> AgentsState:
    state = AgentsState(home=HOME)
    for event in events:
        state = reduce(state, event)
    return state


def words(lines: list[Content]) -> list[str]:
    return [line.plain for line in lines]


def test_a_row_is_all_that_is_said_of_an_agent_in_a_terminal() -> None:
    usage = UsageReported(
        agent="0001", session="s", turn="t", iteration=1, provider="p", model="m", usage=Usage(input=5), cost=9.0
    )
    said = AgentStatusChanged(agent="0001", status="idle", source="screen")
    agent = after(AgentAdded(agent="0001", name="x"), *changed(SEARCH), usage, said).agents["0001"]
    assert (agent.status, agent.row.status_source, agent.since) == ("thinking", "event", NOW - 4)
    assert (agent.row.cost, agent.row.context, agent.made_of, agent.row.parent) == (0.12, 42_000, "explore", "main")
    idle = msgspec.structs.replace(SEARCH, status="idle", status_source="hook")
    assert after(*changed(SEARCH, idle)).agents["0001"].status == "idle"


def test_a_status_of_another_version_is_not_believed() -> None:
    assert after(*changed(row("0001", "x", status="dreaming"))).agents["0001"].status == "lost"


def test_a_kill_and_its_undoing() -> None:
    killed = msgspec.structs.replace(SHELL, killed=True)
    state = after(*changed(SHELL), AgentKilled(agent="0007", until=NOW + 60), *changed(killed))
    assert state.agents["0007"].killed_until == NOW + 60
    assert reduce(state, AgentRestored(agent="0007")).agents["0007"].killed_until == 0
    gone = msgspec.structs.replace(killed, status="done", ended=NOW)
    assert reduce(state, changed(gone)[0]).agents["0007"].killed_until == 0
    assert "0007" not in reduce(state, AgentRemoved(agent="0007")).agents


def test_messages_that_wait_are_counted_once_each() -> None:
    waits = (MessageQueued(message="a", agent="0001"), MessageHeld(message="a", agent="0001"))
    state = after(*changed(SEARCH), *waits, MessageQueued(message="b", agent="0001"))
    assert len(state.agents["0001"].messages) == 2
    assert len(reduce(state, MessageSubmitted(message="a", agent="0001")).agents["0001"].messages) == 1
    assert reduce(state, MessageSubmitted(message="zz", agent="0001")) is state


def test_the_details_count_prompts_that_were_not_sent() -> None:
    for count, said in ((0, []), (1, ["prompt not sent"]), (2, ["2 prompts not sent"])):
        waits = [MessageQueued(message=str(number), agent="0001") for number in range(count)]
        lines, _ = draw_agents(list_agents(after(*changed(SEARCH), *waits)), 80, NOW, "0001")
        assert [line.plain for line in lines if line.plain.endswith("not sent")] == said


def test_who_waits_for_the_person_is_on_top_and_children_stand_behind_their_parents() -> None:
    state = after(HubStarted(cwd=HOME), AgentAdded(agent="main", name="main"), *MANY)
    order = [(placed.agent.id, placed.depth) for placed in list_agents(state).placed]
    assert order == [
        ("0002", 0),
        ("main", 0),
        ("0001", 1),
        ("0003", 2),
        ("0007", 0),
        ("0004", 0),
        ("0005", 0),
        ("0006", 0),
    ]
    asks = msgspec.structs.replace(TESTS, needs_you=True)
    calm = msgspec.structs.replace(CLAUDE, needs_you=False, status="idle")
    order = [placed.agent.id for placed in list_agents(reduce(reduce(state, *changed(asks)), *changed(calm))).placed]
    assert order[:4] == ["main", "0001", "0003", "0002"]


def test_one_that_rests_with_a_prompt_that_was_not_sent_says_what_it_needs() -> None:
    unsent = OpenQuestion("unsent-1", "Your prompt to a was not sent.", "Mend it.")
    asks = row("0001", "a", status="idle", needs_you=True, unsent=unsent, question=unsent)
    narrow, wide = (words(draw_agents(list_agents(after(*changed(asks))), width, NOW)[0]) for width in (40, 100))
    assert narrow[0].startswith("◆ a needs you") and narrow[1] == "  Your prompt to a was not sent."
    assert any(line.startswith("◆ needs you") and unsent.subject in line for line in wide)
    assert status_words(asks).startswith("needs you · Your prompt to a was not sent. (")
    ended = msgspec.structs.replace(asks, status="done", needs_you=False, doing="killed")
    assert status_words(ended).startswith("done · killed (")


def test_a_state_has_the_same_words_in_the_window_and_in_the_table() -> None:
    statuses = ("starting", "thinking", "tool", "waiting", "idle", "done", "failed", "lost")
    for status, unread, held_up, exit_status in product(statuses, (0, 2), ("", "It is busy."), (None, 1)):
        facts = {"unread": unread, "held_up": held_up, "exit_status": exit_status, "status": status}
        one = row("0001", "a", **facts, needs_you=status == "waiting")
        drawn = draw_agents(list_agents(after(*changed(one))), 200, NOW)[0]
        told = state_words(one)
        assert any(re.match(rf". {re.escape(told)}  +a ", line.plain) for line in drawn), (told, words(drawn))
        assert told.partition(" · ")[0] in (one.state, "prompt not sent")
    assert [row("0001", "a", status="idle", unread=n).state for n in (0, 1)] == ["idle", "done"]


def test_agents_of_other_folders_and_old_ones_are_counted_not_listed() -> None:
    old = [row(f"00{n}", f"old{n}", status="done", status_at=NOW - n, ended=NOW - n) for n in range(10, 20)]
    state = after(AgentAdded(agent="main", name="main"), *changed(row("0001", "x", home="/else"), *old, DONE))
    short = list_agents(state)
    assert (len(short.placed), short.ended, short.elsewhere) == (2 + ENDED_SHOWN, 10 - ENDED_SHOWN, 1)
    assert {"0004", "0010"} <= {placed.agent.id for placed in short.placed}  # unread, and the newest
    assert len(list_agents(state, everything=True).placed) == 13
    assert "6 more ended · 1 elsewhere · e to show all" in words(draw_agents(short, 60, NOW)[0])


def test_parents_that_are_each_others_children_are_listed_all_the_same() -> None:
    circle = changed(row("0001", "a", parent="0002"), row("0002", "b", parent="0001"), row("0003", "c", parent="0003"))
    assert {placed.agent.id for placed in list_agents(after(*circle)).placed} == {"0001", "0002", "0003"}


@pytest.mark.parametrize("width", [18, 26, 59, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_pane_and_each_has_its_agent(width: int) -> None:
    strange = row("0009", "名前がとても長いエージェント" * 3, doing="x" * 300 + "\x1b[2J", needs_you=True, unread=12)
    lines, owners = draw_agents(list_agents(after(*MANY, *changed(strange))), width, NOW, "0009")
    assert len(lines) == len(owners)
    assert max(line.cell_length for line in lines) <= width
    assert all("\x1b" not in line.plain for line in lines)
    first = owners.index("0009")
    assert "名前" in lines[first].plain


def test_the_end_of_what_the_marked_agent_said_takes_the_rows_that_a_wide_list_leaves() -> None:
    said = "\n".join(f"line {n} \x1b[2J" for n in range(50))
    events = changed(SEARCH, row("0009", "talker", report=said))
    listing = list_agents(after(*events))
    bare = [line.plain for line in draw_agents(listing, 100, NOW, "0009")[0]]
    for rows in (len(bare), len(bare) + 1, len(bare) + 2, 30):
        lines, owners = draw_agents(listing, 100, NOW, "0009", rows)
        assert len(lines) == len(owners) and len(lines) <= max(rows, len(bare))
        shown = [line.plain.split("⟨")[0].strip() for line in lines[len(bare) :]]
        count = max(0, rows - len(bare) - 1)
        assert shown == (["", *(f"line {n}" for n in range(50 - count, 50))] if count else [])
    assert "line 48" not in "".join(line.plain for line in draw_agents(listing, 40, NOW, "0009", 30)[0])


def test_what_is_asked_keeps_its_file_and_is_whole_where_there_are_rows() -> None:
    asks = "Change /home/somebody/projects/aurora/compiler/sources/lexer.py?"
    listing = list_agents(after(*changed(msgspec.structs.replace(CLAUDE, doing=asks), SEARCH)))
    for width in (24, 40, 80):
        lines = [line.plain for line in draw_agents(listing, width, NOW)[0]]
        assert any(re.search(r"Change .*…/lexer\.py\?", line) for line in lines), (width, lines)
        whole = [line.plain for line in draw_agents(listing, width, NOW, "0002", 40)[0]]
        assert asks.replace(" ", "") in "".join("".join(whole[len(lines) :]).split()), (width, whole)
        cut = [line.plain for line in draw_agents(listing, width, NOW, "0002", len(lines))[0]]
        assert len(cut) <= len(whole) and all(cell_len(line) <= width for line in [*whole, *cut])


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (60, "2 elsewhere (1 waiting) · e to show all"),
        (33, "2 elsewhere (1 waiting) · e: all"),
        (28, "2 more (1 waiting) · e: all"),
    ],
)
def test_how_to_see_those_of_other_folders_is_never_cut(width: int, said: str) -> None:
    away = [row(f"001{n}", f"away-{n}", home="/elsewhere", needs_you=not n) for n in range(2)]
    assert draw_agents(list_agents(after(*changed(SEARCH, *away))), width, NOW)[0][-1].plain == said


def test_what_is_said_of_one_agent() -> None:
    def drawn(*events: Event, width: int = 40, chosen: str = "") -> list[str]:
        lines = draw_agents(list_agents(after(*events)), width, NOW, chosen)[0]
        return [" ".join(line.plain.split()) for line in lines]

    assert drawn(*changed(SEARCH)) == ["● look-around thinking · grep parse… 4 s"]
    assert drawn(*changed(SEARCH), chosen="0001")[1:] == [
        "",
        "explore · Claude Sonnet 4.5",
        "thinking · 4 s · grep parse_empty",
        "42k of 200k tokens · $0.12",
    ]
    assert drawn(*changed(CLAUDE)) == ["◆ claude needs you 40 s", "May it edit src/lexer.py?"]
    assert "needs you, by hook · 40 s · May it edit src/lexer.py?" in drawn(*changed(CLAUDE), width=80, chosen="0002")
    assert drawn(*changed(DONE)) == ["✓ docs done · 1 new · The README na… 2 h"]
    wide = drawn(*changed(SEARCH, CLAUDE), width=120)
    assert wide[0] == "state name program task or last line branch cost age" and len(wide) == 3
    assert wide[1] == "◆ needs you claude claude May it edit src/lexer.py? aurora-lexer 40 s"
    assert wide[2] == "● thinking look-around explore grep parse_empty $0.12 4 s"


def test_a_pane_as_wide_as_a_window_of_sixty_has_headings() -> None:
    lines, _ = draw_agents(list_agents(after(*changed(SEARCH, CLAUDE))), 58, NOW)
    assert lines[0].plain.split() == ["state", "name", "task", "or", "last", "line", "age"]


@pytest.mark.parametrize("width", [24, 40, 60, 120])
@pytest.mark.parametrize("asking", [1, 2, 3, 11])
def test_eleven_agents_take_a_row_each_and_names_are_whole(width: int, asking: int) -> None:
    rows = [row(f"{n:04}", f"worker-{n}", doing=f"task {n}", status="idle" if n % 2 else "tool") for n in range(20, 31)]
    rows[:asking] = [msgspec.structs.replace(CLAUDE, id=one.id, name=one.name) for one in rows[:asking]]
    lines, owners = draw_agents(list_agents(after(*changed(*rows))), width, NOW)
    assert len(lines) <= 13 and all(owners.count(one.id) == 1 for one in rows[asking:])
    for one in rows:
        own = [line.plain for line, owner in zip(lines, owners, strict=True) if owner == one.id]
        assert one.name in own[0] and (width == 24 or one not in rows[:asking] or "May it edit" in " ".join(own))


@pytest.mark.parametrize("width", [26, 34, 38, 46, 59, 60, 66, 78, 80, 120, 158, 200])
def test_how_it_is_and_since_when_give_way_to_a_name_that_has_room_alone(width: int) -> None:
    others = [row(f"{n:04}", f"worker-{n}", doing="reading src/lexer.py", status="tool") for n in range(2)]
    for length in range(1, 61):
        name = "n" * length
        facts = {"status_at": NOW - 70, "worktree": "/src/aurora-lexer"}
        for depth, one in (
            (0, row("0009", name, status="idle", **facts)),
            (0, row("0009", name, status="failed", exit_status=1, **facts)),
            (1, row("0009", name, status="tool", doing="writing", parent="0000", **facts)),
        ):
            lines, owners = draw_agents(list_agents(after(*changed(*others, one))), width, NOW)
            line = lines[owners.index("0009")].plain
            said = {"idle": "idle", "failed": "failed", "tool": "working"}[one.status]
            assert cell_len(line) <= width and STATUS_SIGNS[one.status][0] in line
            room = width - 2 - 2 * depth - length
            assert name in line if room >= 0 else re.search("nn…n+", line), (length, line)
            assert said in line or room < len(said) + 1, (length, line)
            fits = room >= 0 or width - 2 - 2 * depth < 16 + len(said) + len("1 min") + 2
            assert "1 min" in line or (fits and room < len(said) + len("1 min") + 2), (length, line)


@pytest.mark.parametrize("width", [24, 36, 60, 80, 120])
def test_where_there_are_rows_each_question_has_one(width: int) -> None:
    asked = [
        msgspec.structs.replace(CLAUDE, id=f"{n:04}", name=f"fix-the-parser-for-empty-lines-in-july-{n}", doing=ASKS)
        for n in range(4)
    ]
    listing = list_agents(after(*changed(*asked)))
    for rows in (10, 30):
        lines = words(draw_agents(listing, width, NOW, rows=rows)[0])
        whole = [line for line in lines if ASKS[:20] in line]
        assert len(whole) == 4 or rows == 10, lines
        assert rows == 30 or len(lines) <= 5
        assert all("needs you" in line for line in lines[-8::2]) or rows == 10 or width == 24


@pytest.mark.parametrize("width", [24, 36, 60, 80, 120])
@pytest.mark.parametrize("asking", [0, 1, 2, 3, 11])
def test_eleven_agents_have_at_most_thirteen_rows_and_a_heading(width: int, asking: int) -> None:
    agents = [msgspec.structs.replace(CLAUDE, id=f"{n:04}", name=f"worker-{n}", doing=ASKS) for n in range(asking)]
    agents += [msgspec.structs.replace(DONE, id=f"{n:04}", name=f"rests-{n}", status="idle") for n in range(asking, 11)]
    lines = [line for line in words(draw_agents(list_agents(after(*changed(*agents))), width, NOW, rows=33)[0]) if line]
    listed = [line for line in lines if re.search(r"worker-|rests-", line) or ASKS[:12] in line]
    assert 11 <= len(listed) <= 13, lines


ASKS = "python3 -m pytest -q tests/test_lexer.py"


@pytest.mark.parametrize("width", [18, 20, 28, 34])
def test_names_that_begin_alike_are_told_apart_by_their_ends(width: int) -> None:
    rows = [row(f"{n:04}", f"worker-with-a-rather-long-name-{n}", status="tool") for n in range(1, 5)]
    lines, owners = draw_agents(list_agents(after(*changed(*rows))), width, NOW)
    shown = [lines[owners.index(one.id)].plain for one in rows]
    assert [line.split()[1][-2:] for line in shown] == ["-1", "-2", "-3", "-4"]
    assert all(line.startswith("● work") for line in shown)


@pytest.mark.parametrize("width", range(18, 40))
def test_no_state_is_cut_to_say_since_when(width: int) -> None:
    gone = row("0009", "claude", status="failed", exit_status=1, status_at=NOW - 700)
    line = draw_agents(list_agents(after(*changed(gone))), width, NOW)[0][0].plain
    assert line.startswith("✗ claude failed") and ("12 min" in line) == (width >= 22)


def test_a_failed_one_says_what_was_wrong_and_not_its_banner() -> None:
    screen = "Welcome to Claude Code\n\n Unable to connect to Anthropic services\n\nNote: see the countries at\n"
    gone = row("0009", "claude", status="failed", exit_status=1, report=screen, ended=NOW - 60, status_at=NOW - 60)
    for width in (72, 160):
        line = next(
            one.plain for one in draw_agents(list_agents(after(*changed(gone))), width, NOW)[0] if "✗" in one.plain
        )
        assert "Unable to connect" in line and "Welcome" not in line


@pytest.mark.parametrize(
    ("width", "said"), [(40, "✓ review done · 1 new"), (24, "✓ review done +1 "), (21, "✓ review done ")]
)
def test_how_it_is_and_since_when_come_before_what_is_new(width: int, said: str) -> None:
    has_news = row("0009", "review", status="done", unread=1, status_at=NOW - 700)
    line = draw_agents(list_agents(after(*changed(has_news))), width, NOW)[0][0].plain
    assert line.startswith(said) and "…" not in line and line.endswith("12 min")


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (31, "✓ parser-empty-lines done  10 s"),
        (28, "✓ parser-empty-lines done +1"),
        (27, "✓ parser-empty-lines done"),
        (24, "✓ parser-empty-lines +1"),
        (22, "✓ parser-empty-lines"),
    ],
)
def test_a_name_is_whole_before_how_it_is_and_since_when(width: int, line: str) -> None:
    one = row("0009", "parser-empty-lines", status="done", status_at=NOW - 10, unread=1)
    assert draw_agents(list_agents(after(*changed(one))), width, NOW)[0][0].plain.rstrip() == line


@pytest.mark.parametrize(
    ("asks", "width", "line"),
    [
        ("make test && rm -rf ./out --verbose", 31, "make test && rm -rf ./out --…"),
        ("make test && rm -rf /srv/projects/aurora/out", 31, "make test && rm -rf /srv/pro…"),
        ("wants to run: make test && rm -rf ./out", 31, "run: make test && rm -rf ./o…"),
        ("wants to edit sources/parser/lexer.py", 25, "edit sources/…/lexer.py"),
        ("Change ./lexer.py and then the tests?", 31, "Change ./lexer.py and then t…"),
    ],
)
def test_a_path_in_a_command_is_cut_at_the_end_or_not_at_all(asks: str, width: int, line: str) -> None:
    waits = msgspec.structs.replace(CLAUDE, doing=asks)
    drawn = draw_agents(list_agents(after(*changed(waits))), width, NOW)[0][1].plain.strip()
    assert drawn == line and drawn.count("…") == 1


def test_a_killed_one_says_how_long_it_can_come_back() -> None:
    state = after(*changed(SHELL), AgentKilled(agent="0007", until=NOW + 42))
    assert "killed · u · 42 s" in words(draw_agents(list_agents(state), 40, NOW)[0])[0]


def test_an_ended_local_agent_is_no_such_thing() -> None:
    assert not AgentView(AgentRow(id="main", name="main", runtime="local", status="done")).ended
    assert after(*changed(LOST)).agents["0005"].ended


def test_agents_are_filtered_and_grouped_by_folder() -> None:
    state = after(*MANY)
    everyone = {placed.agent.id for placed in list_agents(state, everything=True).placed}
    kinds: list[set[str]] = []
    for kind in KINDS:
        kinds.append({placed.agent.id for placed in list_agents(state, everything=True, words=kind).placed})
        assert kinds[-1], kind
    assert sum(map(len, kinds)) == len(set().union(*kinds)), "an agent is of one kind"
    assert set().union(*kinds) == everyone
    grouped = list_agents(state, everything=True, grouped=True).placed
    assert {placed.agent.id for placed in grouped} == everyone
    folders = [placed.agent.row.worktree or placed.agent.row.cwd or placed.agent.row.home for placed in grouped]
    assert [folder for folder, before in zip(folders, ["", *folders], strict=False) if folder != before] == [
        placed.group for placed in grouped if placed.group
    ], "the agents of a folder are together, under its name"
    lines, owners = draw_agents(list_agents(state, everything=True, grouped=True), 60, NOW)
    heads = [line.plain for line, owner in zip(lines, owners, strict=True) if not owner and line.plain][1:]
    assert heads[: len(set(folders))] == [placed.group for placed in grouped if placed.group]


@pytest.mark.parametrize("levels", [1, 3, 7])
def test_no_width_is_too_narrow(levels: int) -> None:
    above = [f"{at:04}" if at else "" for at in range(levels)]
    rows = [
        row(f"{at + 1:04}", f"a-rather-long-name-{at}", parent=parent, unread=at) for at, parent in enumerate(above)
    ]
    listing = list_agents(after(*changed(*rows)))
    assert all(len(draw_agents(listing, width, NOW)[0]) >= levels for width in range(1, 60))


@pytest.mark.parametrize("width", [24, 33, 46])
def test_states_begin_in_one_column_where_the_longest_name_leaves_room(width: int) -> None:
    named = [row(f"{n:04}", name, status=how) for n, (name, how) in enumerate([("fix", "idle"), ("lexer-two", "tool")])]
    lines = words(draw_agents(list_agents(after(*changed(*named))), width, NOW)[0])
    idle, working = (next(line for line in lines if word in line) for word in ("idle", "working"))
    assert idle.index("idle") == working.index("working") == 12


@pytest.mark.parametrize("width", [24, 40, 120])
def test_who_rests_with_an_answer_that_nobody_has_read_is_done(width: int) -> None:
    told = [row("0009", "fix", status="idle", unread=2), row("0010", "main", status="idle")]
    lines = words(draw_agents(list_agents(after(*changed(*told))), width, NOW)[0])
    fix, main = (next(line for line in lines if name in line) for name in ("fix", "main"))
    assert "✓" in fix and "done" in fix and "new" not in fix and "+" not in fix and "idle" not in fix
    assert "○" in main and "idle" in main


def test_what_is_only_thought_to_rest_does_not_say_why() -> None:
    rests = row("0009", "fix", kind="cli", status="idle", status_source="record?", doing="its screen has just changed")
    assert not any("screen" in line for line in words(draw_agents(list_agents(after(*changed(rests))), 60, NOW)[0]))


def test_what_is_new_is_told_in_one_way_where_one_row_has_little_room() -> None:
    names = ("docs", "review-of-the-lexer")
    told = [row(f"{n:04}", name, status="done", unread=1, status_at=NOW - 7_200) for n, name in enumerate(names)]
    for width, said in ((60, "done · 1 new"), (34, "done +1")):
        lines = words(draw_agents(list_agents(after(*changed(*told))), width, NOW)[0])
        rows = [next(line for line in lines if name in line) for name in names]
        assert all(said in line and line.rstrip().endswith("2 h") for line in rows), (width, rows)


def test_only_programs_end_with_an_exit_status() -> None:
    ended = [
        row(f"{n:04}", kind, kind=kind, status="failed", exit_status=1, report="Key refused.", ended=NOW)
        for n, kind in enumerate(("native", "cli"))
    ]
    ours, program = words(draw_agents(list_agents(after(*changed(*ended))), 46, NOW)[0])[:2]
    assert "failed · Key refused." in ours and "failed · exit 1" in program
