"""The table of tests by program and version: what is red, what is missing, and the order of its columns."""

from pathlib import Path

from tests.kit import version_table

REPORT = """<?xml version="1.0"?><testsuites><testsuite>
{}
</testsuite></testsuites>"""


def _case(test: str, program: str, version: str, result: str = "") -> str:
    about = f'<property name="program" value="{program}"/><property name="version" value="{version}"/>'
    body = f"<properties>{about}</properties>{f'<{result}/>' if result else ''}"
    return f'<testcase classname="tests.programs.test_turns" name="test_{test}[{program}]">{body}</testcase>'


def test_a_row_for_each_test_and_a_column_for_each_version(tmp_path: Path) -> None:
    cases = [
        _case("comes_to_rest", "claude", "2.1.332"),
        _case("comes_to_rest", "claude", "2.1.99"),
        _case("comes_to_rest", "claude", "2.1.332", "failure"),  # the same test at another size
        _case("reads_alone", "claude", "2.1.332", "error"),
        _case("reads_alone", "aider", "0.86.2", "skipped"),
        '<testcase classname="tests.programs.test_mcp_servers" name="test_fetches"/>',
    ]
    (tmp_path / "report.xml").write_text(REPORT.format("\n".join(cases)))
    found = version_table.cells(tmp_path / "report.xml")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in version_table.table(found).split("\n")]
    assert lines[0] == ["test", "aider 0.86.2", "claude 2.1.99", "claude 2.1.332"]
    assert lines[2:] == [
        ["turns: comes to rest", "–", "P", "F"],
        ["turns: reads alone", "–", "–", "F"],
        ["passed, failed", "0 P 0 F", "1 P 0 F", "0 P 2 F"],
    ]


def test_todays_version_may_be_the_pinned_one(tmp_path: Path) -> None:
    (tmp_path / "newest").mkdir()
    (tmp_path / "newest" / "claude").write_text("2.1.332\n")
    (tmp_path / "newest" / "mcp-server-git").write_text("2026.10.19\n")  # no program that is an agent
    assert version_table.todays(tmp_path) == {("claude", "2.1.332")}
    assert version_table.todays(tmp_path / "nowhere") == set()
