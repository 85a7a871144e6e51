"""File objects of descriptors that are open already."""

from __future__ import annotations

import os
from io import BufferedReader


def open_reader(descriptor: int) -> BufferedReader:
    """Read from it; closing the file closes it. Raises `OSError` where it is a folder's, which closes it as well.

    `os.fdopen` leaves a folder's descriptor open.
    """
    try:
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise
