"""One warm program for all workers of a run: each would load all of it for itself."""

from typing import Any

import pytest

from tests.kit import warm_program


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Called for each worker, in the process that has them."""
    node.workerinput["warm"] = warm_program.shared(*warm_program.SDKS).argv(warm_program.SERVE)


def pytest_configure(config: pytest.Config) -> None:
    warm_program.lent[:] = getattr(config, "workerinput", {}).get("warm", ())
