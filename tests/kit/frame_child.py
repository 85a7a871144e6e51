"""The program of the first-frame tests: paints, then does as its argument says. Run in a pty by `tests/real`.

`app FILE`: the window on a fake hub; writes what is in the input to FILE once that ends in `!`, and leaves.
`break`: the window with a fault in it. `fail`: raises before Textual is imported. `wait FILE WORDS`: with these words;
touches FILE, then waits to be ended. `none`: says whether a frame was painted.
"""

import os
import signal
import sys
from pathlib import Path

from gshtui.ui.window.first_frame import paint


def main(what: str, file: str = "", words: str = "") -> int:
    """Paint, then go on."""
    frame = paint(os.getcwd(), words)  # noqa: PTH109
    if what == "none":
        if frame is not None:
            frame.abandon()
        os.write(1, b"painted\n" if frame is not None else b"nothing\n")
        return 0
    if what == "fail":
        raise RuntimeError("start-up failed")
    if what == "wait":
        Path(file).touch()
        signal.pause()
        return 0
    return window(frame, Path(file)) if what == "app" else broken(frame)


def broken(frame: object) -> int:
    """A window with a fault in it, from `run` on."""
    from gshtui.client.window_protocol import OpenRequest
    from gshtui.ui.window import window_run

    class Faulty(window_run.Workbench):
        def on_ready(self) -> None:
            raise ValueError("a fault in the window")

    window_run.Workbench = Faulty  # type: ignore[misc]
    try:
        return window_run.run(OpenRequest(Path.cwd()), first_frame=frame)  # type: ignore[arg-type]
    except ValueError as error:
        os.write(1, f"reported: {error}\n".encode())
        return 3


def window(frame: object, file: Path) -> int:
    """The real driver and the real input, on a fake hub."""
    from gshtui.ui.kit.textual.driver import WorkbenchDriver, free_alt_digits
    from gshtui.ui.prompt.prompt_input import PromptInput
    from tests.kit.window import Window

    class Reporting(Window):
        def on_mount(self) -> None:
            area = self.bench.input
            assert isinstance(area, PromptInput)
            noted = area.changed

            def changed() -> None:
                noted()
                if area.text.endswith("!"):
                    file.write_text(area.text)
                    self.call_later(self.action_quit)

            area.changed = changed  # type: ignore[method-assign]

    free_alt_digits()
    WorkbenchDriver.first_frame = frame  # type: ignore[assignment]
    return Reporting(Path.cwd()).run() or 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
