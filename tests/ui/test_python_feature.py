"""The key for the variables of the agent's Python, in a window."""

from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.window.features import FEATURES, PythonFeature, own_keys


class LineWindow:
    """A window that remembers the lines it was told to run."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run_command(self, line: str) -> None:
        self.lines.append(line)


def test_the_key_shows_the_variables() -> None:
    window = LineWindow()
    PythonFeature(window).press("python.variables")  # type: ignore[arg-type]
    assert window.lines == ["python show"]
    assert PythonFeature in FEATURES
    assert "python.variables" in own_keys()
    assert KEYS["python.variables"].keys == "alt+v"
