"""The shell log's reducer: rows by number, pages that are missing, what comes while the record is asked."""

import random

from msgspec.structs import replace

from gshtui.bus.events.hub_events import HubStarted
from gshtui.bus.events.shell_events import FileChange, FilesChanged, ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.bus.shell_rows import Filter, Row, Span, files_note, place
from gshtui.ui.shell.shell_state import PAGE, PAGES, LogState, PageRequest, reduce, with_filter, with_span

T = 1_800_000_000.0


def ran(number: int, *, exit: int | None = 0, shell: str = "s", cwd: str = "/p") -> ShellRecord:
    at = T + number
    return ShellRecord(
        id=int(at * 1e6),
        shell=shell,
        number=number,
        command=f"command {number}",
        cwd=cwd,
        at=at,
        exit=exit,
        state="running" if exit is None else "done",
    )


def recorded(state: LogState, *records: ShellRecord) -> LogState:
    for record in records:
        state = reduce(state, ShellRecorded(record=record))
    return state


def asked(state: LogState) -> PageRequest:
    return PageRequest(state.total, state.stale)


def answered(state: LogState, rows: list[Row], start: int, limit: int) -> LogState:
    """The state after the record answered with these of all its rows."""
    return with_span(state, Span(start, len(rows), tuple(rows[start : start + limit])), asked(state))


def all_rows(state: LogState) -> list[Row | None]:
    return [state.row(at) for at in range(state.total)]


def test_commands_and_what_stands_between_them() -> None:
    state = recorded(LogState(), ran(1))
    for event in (
        ShellNoted(shell="s", text="why?", cwd="/p", at=T + 2),
        ShellFolderChanged(shell="s", old="/p", new="/q", at=T + 3),
        ShellFolderChanged(shell="s", old="/p", new="", at=T + 4),
        FilesChanged(changes=(FileChange("a.py", "added"),), at=T + 5),
    ):
        state = reduce(state, event)
    assert all_rows(state) == [
        ran(1),
        ShellNote("note", "why?", T + 2, "s", "/p"),
        ShellNote("folder", "/q", T + 3, "s", "/q"),
        ShellNote("file", "+a.py", T + 5),
    ]


def test_the_same_files_again_renew_the_newest_row() -> None:
    def changed(path: str, at: float) -> FilesChanged:
        return FilesChanged(changes=(FileChange(path, "modified"),), at=at)

    state = recorded(LogState(), ran(1))
    for at in range(2, 14):
        state = reduce(state, changed("a.py", T + at))
    assert all_rows(state) == [ran(1), ShellNote("file", "a.py", T + 13)]
    state = reduce(reduce(state, changed("b.py", T + 14)), changed("a.py", T + 15))
    state = reduce(recorded(state, ran(16)), changed("a.py", T + 17))
    assert [row.text for row in all_rows(state) if isinstance(row, ShellNote)] == ["a.py", "b.py", "a.py", "a.py"]


def test_the_end_of_a_command_takes_its_place() -> None:
    state = recorded(LogState(), ran(1, exit=None), ran(2, exit=None), ran(1, exit=3))
    assert all_rows(state) == [ran(1, exit=3), ran(2, exit=None)]
    assert state.running()
    assert not recorded(state, ran(2)).running()


def test_an_end_whose_beginning_is_not_known_is_no_row() -> None:
    half = ShellRecord(shell="s", number=9, exit=0, state="done", at=T)
    assert recorded(LogState(), half).total == 0


def test_older_rows_make_the_record_be_asked_again() -> None:
    """An import, or another window's: nobody knows where they belong."""
    state = recorded(LogState(), ran(5))
    assert not state.stale
    late = recorded(state, ran(2))
    assert late.stale == 1
    assert answered(late, [ran(2), ran(5)], 0, PAGE) == LogState(total=2, pages={0: (ran(2), ran(5))})


def test_the_hub_has_a_record_to_ask() -> None:
    assert reduce(LogState(), HubStarted(cwd="/p", project="/p")).stale == 1


def test_only_the_missing_pages_are_asked_for() -> None:
    rows: list[Row] = [ran(number) for number in range(1_000)]
    state = answered(reduce(LogState(), HubStarted(cwd="/p", project="/p")), rows, 800, 200)
    assert state.total == 1_000
    assert state.missing(850, 899) == []
    assert state.missing(750, 850) == [3]
    assert state.missing(-5, 5_000) == [3, 2, 1, 0]
    state = answered(state, rows, 600, 200)
    assert state.missing(750, 850) == []
    assert state.row(750) == ran(750)
    assert state.row(100) is None


def test_pages_far_from_the_reader_are_forgotten_but_never_the_newest() -> None:
    rows: list[Row] = [ran(number) for number in range(PAGE * (PAGES + 20))]
    state = LogState(stale=1)
    for start in range(len(rows) - PAGE, -1, -PAGE):
        state = answered(state, rows, start, PAGE)
    assert len(state.pages) == PAGES
    assert state.last == rows[-1]
    assert state.row(0) == rows[0]
    assert state.row(len(rows) - 2 * PAGE) is None
    more = recorded(state, ran(len(rows)))
    assert more.total == len(rows) + 1
    assert not more.stale


def test_what_comes_while_the_record_is_asked_is_kept() -> None:
    rows: list[Row] = [ran(number) for number in range(300)]
    state = answered(LogState(stale=1), rows, 200, 100)
    question = asked(state)
    state = recorded(state, ran(300), ran(301, exit=None))
    state = with_span(state, Span(0, 300, tuple(rows[:200])), question)
    assert all_rows(state) == [*rows, ran(300), ran(301, exit=None)]
    assert not state.stale


def test_an_old_answer_does_not_make_a_command_run_again() -> None:
    state = recorded(LogState(), ran(1, exit=None))
    question = asked(state)
    state = recorded(state, ran(1, exit=0))
    state = with_span(state, Span(0, 1, (ran(1, exit=None),)), question)
    assert all_rows(state) == [ran(1, exit=0)]


def test_where_the_record_counts_other_rows_their_numbers_are_new() -> None:
    """The oldest were removed meanwhile: what is known of other pages counts no more."""
    rows: list[Row] = [ran(number) for number in range(600)]
    state = answered(answered(LogState(stale=1), rows, 400, 200), rows, 0, 200)
    state = answered(state, rows[50:], 200, 200)
    assert state.total == 550
    assert state.row(200) == ran(250)
    assert state.row(0) is None
    assert not state.stale


def test_a_filter_begins_anew_and_admits_what_fits() -> None:
    state = with_filter(recorded(LogState(), ran(1)), Filter(failed=True))
    assert (state.total, state.stale) == (0, 1)
    state = with_span(state, Span(0, 0), asked(state))
    assert recorded(state, ran(2)).total == 0
    assert all_rows(recorded(state, ran(2, exit=1))) == [ran(2, exit=1)]
    assert reduce(state, ShellNoted(shell="s", text="x", at=T)).total == 0


def test_a_command_that_runs_is_not_among_the_failed_until_it_failed() -> None:
    state = with_span(LogState(Filter(failed=True), stale=1), Span(0, 0), PageRequest(0, 1))
    state = recorded(state, ran(1, exit=None), ran(2, exit=None), ran(2, exit=1))
    assert all_rows(state) == [ran(2, exit=1)]
    assert recorded(state, ran(1, exit=1)).stale == 1, "it stands before another one: the record knows where"


def test_filters() -> None:
    record = replace(ran(1, exit=2, cwd="/src/a"), command="make Test", expanded="gmake Test")
    for admitted in (
        Filter(),
        Filter(text="MAKE te"),
        Filter(text="gma"),
        Filter(cwd="/src"),
        Filter(cwd="/"),
        Filter(shell="s", failed=True),
    ):
        assert admitted.admits(record), admitted
    for refused in (Filter(text="make tests"), Filter(cwd="/src/ab"), Filter(cwd="/sr"), Filter(shell="t")):
        assert not refused.admits(record), refused
    assert not Filter(failed=True).admits(ran(1))


def test_changed_files_in_a_line() -> None:
    changes = (FileChange("a", "added"), FileChange("b", "deleted"), FileChange("c", "modified"))
    assert files_note(FilesChanged(changes=changes), "/p").text == "+a, −b, c"
    assert files_note(FilesChanged(changes=(*changes, FileChange("d", "modified")), more=7), "/p").text == (
        "+a, −b, c and 8 more"
    )


def test_any_order_of_events_and_answers_ends_at_what_the_record_holds() -> None:
    """Records are kept, then told; answers come at any time and may be old. In the end all rows are right."""
    for seed in range(150):
        chance = random.Random(seed)
        kept: dict[int, ShellRecord] = {number: ran(number) for number in range(chance.randrange(700))}
        state = LogState(stale=1)
        told: list[ShellRecord] = []
        question: tuple[PageRequest, Span] | None = None
        for number in range(700, 760):
            step = chance.random()
            record = ran(number if step < 0.8 else chance.choice([*kept, number]), exit=chance.choice([None, 0, 1]))
            kept[record.number] = record
            told.append(record)
            if chance.random() < 0.7:
                state = recorded(state, *told)
                told = []
            if question is not None and chance.random() < 0.5:
                state, question = with_span(state, question[1], question[0]), None
            if question is None and chance.random() < 0.5:
                rows = sorted(kept.values(), key=place)
                start = max(0, len(rows) - PAGE) // PAGE * PAGE
                question = asked(state), Span(start, len(rows), tuple(rows[start:]))
        state = recorded(state, *told)
        if question is not None:
            state = with_span(state, question[1], question[0])
        rows: list[Row] = sorted(kept.values(), key=place)
        for _ in range(20):
            missing = state.missing(0, state.total - 1)
            if not state.stale and not missing:
                break
            start = max(0, len(rows) - PAGE) // PAGE * PAGE if state.stale else missing[0] * PAGE
            limit = len(rows) - start if state.stale else PAGE
            state = answered(state, rows, start, limit)
        # A command that ended cannot run again: where it was told to, both are right.
        assert [(row.shell, row.number) for row in all_rows(state) if isinstance(row, ShellRecord)] == [
            (row.shell, row.number) for row in rows if isinstance(row, ShellRecord)
        ], seed
