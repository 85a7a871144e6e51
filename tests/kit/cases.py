"""Cases that one test goes through in one open window, or beside one program: all that fail are named at its end."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

import pytest

Case = Callable[..., AbstractContextManager[None]]


@contextmanager
def each_case() -> Generator[Case]:
    """`with each_case() as case: for …: with case(size, key): assert …`; a case is named by what it is given."""
    wrong = list[str]()

    @contextmanager
    def case(*named: object) -> Generator[None]:
        try:
            yield
        except AssertionError as error:
            said = "\n".join((str(error), *getattr(error, "__notes__", ())))  # a property's notes have its example
            wrong.append(f"{', '.join(map(repr, named))}: {said}")

    yield case
    if wrong:
        pytest.fail("\n\n".join(wrong), pytrace=False)
