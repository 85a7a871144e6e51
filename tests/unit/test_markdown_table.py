"""Tables, amounts and widths, as all lists share them."""

from gshtui.text import cells, markdown_table, units


def test_a_table_is_a_row_a_line() -> None:
    made = markdown_table.table(("a", "", "n"), [("x", "", "1")], right=(2,))
    assert made == "| a | | n |\n| --- | --- | ---: |\n| x |  | 1 |"
    assert markdown_table.facts([("name", "value")]) == "| | |\n| --- | --- |\n| name | value |"


def test_costs_and_bars() -> None:
    assert [units.money(amount) for amount in (None, 0.0, 0.0042, 1.23456)] == ["unknown", "$0.00", "$0.0042", "$1.23"]
    assert [units.bar(share, 2) for share in (-1.0, 0.0, 0.01, 0.5, 1.0, 9.0)] == ["", "", "", "█", "██", "██"]
    assert (units.bar(0.01, 2, least=1), units.bar(9 / 16, 2)) == ("▏", "█▏")


def test_a_width_is_what_tmux_counts() -> None:
    family = "\N{WOMAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    told = {"abc": 3, "日本": 4, "e\u0301": 1, family: 2, "\u26a0\ufe0f": 1, "\N{THUMBS UP SIGN}\U0001f3fd": 4}
    assert {text: cells.width(text) for text in told} == told
    assert cells.head(f"a{family}b", 3) == f"a{family}"
    assert cells.rows(f"a{family}日b", 3) == [f"a{family}", "日b"]
    assert (cells.rows("", 3), cells.rows("日本", 1)) == ([""], ["日", "本"])


def test_a_face_without_markdown_shows_columns() -> None:
    text = (
        f"Agents:\n{markdown_table.table(('id', 'name'), [('1', 'löng-名'), ('0012', '')], right=(1,))}\nThat is all."
    )
    assert markdown_table.padded(text) == "Agents:\nid       name\n1     löng-名\n0012\nThat is all."
    assert markdown_table.padded("no table | here") == "no table | here"


def test_a_terminal_without_markdown_gets_columns_and_no_marks() -> None:
    facts = markdown_table.facts([("name", "`a b`"), ("longer", "**c**")])
    assert markdown_table.bare_columns(facts) == "name    a b\nlonger  c"
    assert markdown_table.bare_columns(f"Before.\n\n{facts}\n\n`x` after.").endswith("longer  c\n\nx after.")


def test_numbers_end_at_the_right_in_bare_columns_too() -> None:
    table = markdown_table.table(("day", "in"), [("1 Dec", "20"), ("12 Dec", "1.9k")], right=(1,))
    assert markdown_table.bare_columns(table) == "day       in\n1 Dec     20\n12 Dec  1.9k"
