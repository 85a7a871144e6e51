"""A long conversation with facts, rules and file names planted in it, and what of them must be there after any cut.

Owns the material; the deterministic half is `tests/unit/test_context_fidelity.py`, the half with a model is
`python -m tests.fidelity`.
"""

from dataclasses import dataclass

from tests.kit.context_harness import ContextHarness

RULES = (
    "Never change the public API of the module auth.",
    "Always write dates as YYYY-MM-DD.",
    "The staging port is 4711.",
    "Do not use the library requests; httpx is what we use.",
)
"""The person's own words: verbatim after any cut."""
FACTS = {
    "Which function holds the retry loop?": ("backoff_with_jitter",),
    "How many tests failed in the first run?": ("17",),
    "What is the name of the broken fixture?": ("frozen_clock",),
    "Which branch is the work on?": ("fix/token-refresh",),
}
"""What only the work itself said: a summary should keep it. Question → words of which one must be in the answer."""
FILES = ("src/auth/login.py", "src/auth/session.py", "tests/test_auth.py", "docs/changelog.md")
PIN = "PIN: the release is on 2026-12-01 and cannot move."


@dataclass(frozen=True, slots=True)
class Planted:
    """The conversation's blocks that matter."""

    pinned: str


def plant(here: ContextHarness, filler: int) -> Planted:
    """Fill a conversation. `filler`: rounds of work between the plants."""
    here.add_prompt(f"Fix the refresh of tokens. {RULES[0]} {RULES[1]}")
    here.add_answer("The work is on the branch fix/token-refresh.")
    here.add_call("def backoff_with_jitter(): ...", name="read", path=FILES[0])
    _, pinned = here.add_call(PIN, name="read", path=FILES[3])
    here.add_call("17 failed, 203 passed", name="bash", command="pytest")
    here.add_answer("17 tests failed in the first run. The retry loop is in backoff_with_jitter in src/auth/login.py.")
    for number in range(filler):
        if number == filler // 3:
            here.add_prompt(f"{RULES[2]} Go on.")
            here.add_call("edited", name="edit", path=FILES[1])
        if number == 2 * filler // 3:
            here.add_prompt(f"{RULES[3]} And the tests?")
            here.add_call("written", name="write", path=FILES[2])
            here.add_answer("The broken fixture is frozen_clock.")
        here.add_call(f"line of a log {number} " + "nothing of note here " * 120, name="bash", command=f"step {number}")
        here.add_answer(f"Step {number} is done; nothing unusual in its output.")
    here.add_prompt("Where do we stand?")
    return Planted(pinned)
