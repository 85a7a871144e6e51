"""`gsh-tui` where further packages are installed: those in the folders of `PYTHONPATH`, which a fork does not read."""

import os
import sys
from collections.abc import Sequence

from gshtui.cli.entry import main as command


def main(words: Sequence[str]) -> int:
    sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
    return command(list(words))
