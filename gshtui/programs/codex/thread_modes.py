"""How much a Codex conversation may do unasked, in the words of its app-server, and which of our modes that is like.

A conversation keeps its permissions itself when it is gone on with, whatever the command line says; but where it may
write to its folder alone, the sandbox of the program's settings counts. Pure.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gshtui.bus.agent_data import GuardMode, ProgramMode
from gshtui.guard.modes import MODES
from gshtui.programs.profiles.profile import Profile
from gshtui.system.json_types import obj, string

_SANDBOXES = {
    "read-only": "readOnly",
    "workspace-write": "workspaceWrite",
    "danger-full-access": "dangerFullAccess",
}
"""As its command line and its settings call them → as its server does."""
_SHORT = {"-s": "--sandbox", "-a": "--ask-for-approval"}
_ALL = ("--dangerously-bypass-approvals-and-sandbox", "--yolo")


class Permissions(NamedTuple):
    """When it asks (never, on-request, untrusted), what its commands may write to, and whether a person answers."""

    approval: str
    sandbox: str
    """As its command line calls it."""
    by_person: bool = True

    @property
    def like(self) -> GuardMode:
        """Our mode that allows as much."""
        if self.approval == "untrusted":
            return "ask"  # whatever the sandbox allows, it asks about all that it does not know to only read
        if self.sandbox not in ("read-only", "workspace-write"):
            return "yolo"
        if self.sandbox == "workspace-write" or (self.approval != "never" and not self.by_person):
            return "auto"
        return "plan" if self.approval == "never" else "ask"

    @property
    def settings(self) -> dict[str, Any]:
        """What its server is asked for."""
        policy = {"type": _SANDBOXES[self.sandbox]}
        return {"approvalPolicy": self.approval, "approvalsReviewer": "user", "sandboxPolicy": policy}


def permissions_in(arguments: Sequence[str]) -> Permissions | None:
    """Those that arguments choose; `None`: not both."""
    if any(word in _ALL for word in arguments):
        return Permissions("never", "danger-full-access")
    found = {_SHORT.get(name, name): value for name, value in itertools.pairwise(arguments)}
    approval, sandbox = found.get("--ask-for-approval", ""), found.get("--sandbox", "")
    return Permissions(approval, sandbox) if approval and sandbox in _SANDBOXES else None


def permissions_told(told: Mapping[str, Any]) -> Permissions | None:
    """Those of a conversation as its server tells them; `None`: it does not."""
    policy = obj(told.get("sandboxPolicy")) or obj(told.get("sandbox"))
    # A table has the kinds of questions that are asked: it asks.
    approval = string(told.get("approvalPolicy")) or ("on-request" if obj(told.get("approvalPolicy")) else "")
    kind = string(policy.get("type"))
    if not approval or not kind:
        return None
    sandbox = next((ours for ours, theirs in _SANDBOXES.items() if theirs == kind), kind)
    return Permissions(approval, sandbox, string(told.get("approvalsReviewer")) in ("", "user"))


def permissions_of(profile: Profile, mode: GuardMode | str) -> Permissions | None:
    """Those that stand for one of our modes; `None`: none do."""
    rules = (rule for rule in profile.modes.each if rule.like == mode and rule.arguments)
    return next((found for rule in rules if (found := permissions_in(rule.arguments)) is not None), None)


def mode_of(profile: Profile, permissions: Permissions) -> ProgramMode:
    """The program's mode, by its name in the profile where it has one."""
    rules = profile.modes.each
    name = next((rule.name for rule in rules if permissions_in(rule.arguments) == permissions), "")
    if not name:
        asks = "never asks" if permissions.approval == "never" else f"asks {permissions.approval}"
        asks = asks if permissions.by_person else "reviews itself"
        name = f"{permissions.sandbox}, {asks}"
    return ProgramMode(name, permissions.like)


def is_wider(one: Permissions, other: Permissions) -> bool:
    """Whether it allows more unasked."""
    return MODES.index(one.like) > MODES.index(other.like)
