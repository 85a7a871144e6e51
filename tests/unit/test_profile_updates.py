"""Bundles of rules: only what a trusted key has signed, for what is read and nothing else; shown, kept and undone."""

import asyncio
import base64
import hashlib
import tomllib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gshtui import __version__
from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.programs.check import check_run, profile_updates
from gshtui.programs.check.check_results import STEPS, CheckedStep, CheckResult, Verdict, seen_here
from gshtui.programs.check.profile_updates import UpdatedRules, UpdateProfiles, is_worse, update_action
from gshtui.programs.profiles import profile_bundle
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.profiles.profile_bundle import Bundle
from tests.kit.home import Home

HEAD = f'format = 1\nversion = "2026.11.28"\nrelease = "{__version__}"\n'
RULES = (
    HEAD
    + r"""
[profiles.vibe]
seen = ["3.0.2", "3.1.0"]
remove = ["rules.tool"]

[[profiles.vibe.rules]]
name = "working"
all = ['^[^\w>]*(\w[\w ]*)… \(\d+s, esc stops it\)']

[[profiles.vibe.modes.each]]
name = "ask"
shown = ['─ asks ─$']
"""
)


@dataclass
class Signer:
    """A key of minisign's kind, and what it signs."""

    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    id: bytes = b"12345678"

    @property
    def public(self) -> str:
        return base64.b64encode(b"Ed" + self.id + self.private.public_key().public_bytes_raw()).decode()

    def sign(self, data: bytes, comment: str = "made today", *, hashed: bool = True) -> str:
        signed = self.private.sign(hashlib.blake2b(data).digest() if hashed else data)
        raw = base64.b64encode((b"ED" if hashed else b"Ed") + self.id + signed).decode()
        whole = base64.b64encode(self.private.sign(signed + comment.encode())).decode()
        return f"untrusted comment: a key\n{raw}\ntrusted comment: {comment}\n{whole}\n"


SIGNER = Signer()


def written(folder: Path, text: str = RULES, signature: str | None = None) -> str:
    """A bundle in this folder; its path."""
    path = folder / "rules.toml"
    path.write_text(text, "utf-8")
    path.with_name("rules.toml.minisig").write_text(SIGNER.sign(text.encode()) if signature is None else signature)
    return str(path)


async def update(wanted: UpdateProfiles, *keys: str, agent: bool = False) -> UpdatedRules:
    action = update_action({"PATH": "/nonexistent"}, lambda: keys or (SIGNER.public,))
    return await action.run(Invocation(Caller(is_agent=agent), Path("/"), Path("/")), wanted)


async def asked(source: str) -> tuple[str, UpdateProfiles]:
    """What a person is shown, and what is run after a yes."""
    action = update_action({"PATH": "/nonexistent"}, lambda: (SIGNER.public,))
    assert action.asks is not None
    question = await action.asks(Invocation(Caller(), Path("/"), Path("/")), UpdateProfiles(source=source))
    assert question is not None and isinstance(question.agreed, UpdateProfiles)
    return question.quoted, question.agreed


async def test_signed_rules_are_shown_count_at_once_and_can_be_undone(home: Home, tmp_path: Path) -> None:
    before = profiles.load().profiles["vibe"]
    quoted, agreed = await asked(written(tmp_path))
    assert '-seen = ["3.0.2"]\n+seen = ["3.0.2", "3.1.0"]' in quoted
    assert "-rules[tool].status" in quoted and "esc stops it" in quoted and "-modes.each[ask].shown" in quoted
    assert profiles.load().profiles["vibe"] == before, "nothing counts before a yes"
    done = await update(agreed)
    assert (done.version, done.taken, done.notes) == (
        "2026.11.28",
        True,
        ("vibe: not installed, so it was not checked.",),
    )
    now = profiles.load()
    assert now.problems == () and now.profiles["vibe"].knows("3.1.0")
    assert "tool" not in [rule.name for rule in now.profiles["vibe"].rules]
    modes = {mode.name: mode for mode in now.profiles["vibe"].modes.each}
    assert modes["ask"].arguments == ("--agent", "ask") and modes["ask"].shown == ("─ asks ─$",)
    assert len(modes) == len(before.modes.each), "what a bundle does not name stays"
    assert (await update(UpdateProfiles(undo=True))).version == ""
    assert profiles.load().profiles["vibe"] == before
    with pytest.raises(CommandError, match="nothing to undo"):
        await update(UpdateProfiles(undo=True))


async def test_a_persons_own_file_counts_over_an_update(home: Home, tmp_path: Path) -> None:
    own = home.config / "gsh" / "profiles" / "vibe.toml"
    own.parent.mkdir(parents=True)
    own.write_text('extends = "vibe"\nseen = ["9.9.9"]\n', "utf-8")
    await update(UpdateProfiles(source=written(tmp_path)))
    vibe = profiles.load().profiles["vibe"]
    assert vibe.seen == ("9.9.9",) and "tool" not in [rule.name for rule in vibe.rules]


async def test_each_update_can_be_undone_and_an_older_one_is_not_taken(home: Home, tmp_path: Path) -> None:
    await update(UpdateProfiles(source=written(tmp_path)))
    later = RULES.replace("2026.11.28", "2026.11.30").replace("3.1.0", "3.2.0")
    assert (await update(UpdateProfiles(source=written(tmp_path, later)))).version == "2026.11.30"
    assert profiles.load().profiles["vibe"].knows("3.2.0")
    for text, says in ((later, "count already"), (RULES, "older than the rules 2026.11.30")):
        with pytest.raises(CommandError, match=says):
            await update(UpdateProfiles(source=written(tmp_path, text)))
    assert (await update(UpdateProfiles(undo=True))).version == "2026.11.28"
    assert not profiles.load().profiles["vibe"].knows("3.2.0")


async def test_what_was_not_shown_is_not_taken(home: Home, tmp_path: Path) -> None:
    _, agreed = await asked(written(tmp_path))
    written(tmp_path, RULES.replace("3.1.0", "3.2.0"))
    with pytest.raises(CommandError, match="changed since it was shown"):
        await update(agreed)


async def test_an_agent_takes_no_rules(home: Home, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Only a person"):
        await update(UpdateProfiles(source=written(tmp_path)), agent=True)
    with pytest.raises(CommandError, match="Only a person"):
        await update(UpdateProfiles(undo=True), agent=True)


TABLE = HEAD + "[profiles.vibe]\n"
RULE = HEAD + "[[profiles.vibe.rules]]\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (RULES.replace("format = 1", "format = 2"), "format 2, which a newer gsh-tui reads"),
        (RULES.replace(__version__, "99.0.0"), "for gsh-tui 99.0.0"),
        (RULES.replace('"2026.11.28"', '"../../evil"'), "numbers with dots"),
        (RULES.replace('"2026.11.28"', "20261128"), "numbers with dots"),
        (HEAD + '[profiles."../../claude"]\nnotes = []\n', "no profile"),
        (HEAD + "[profiles.nobody]\nnotes = []\n", "'nobody', of which gsh-tui has no profile"),
        (HEAD + "[profiles]\nvibe = 1\n", "profiles.vibe is no table"),
        (HEAD, "it needs `format`, "),
        (HEAD + "[files]\n[profiles.vibe]\n", "`files`"),
        ("format = 1\n[[", "not valid TOML"),
        (TABLE + 'argv = ["sh"]\n', "`vibe.argv`"),
        (TABLE + 'title = "x"\n', "`vibe.title`"),
        (TABLE + 'name = "claude"\n', "`vibe.name`"),
        (TABLE + 'programs = ["ls"]\n', "`vibe.programs`"),
        (TABLE + 'extends = "shell"\n', "`vibe.extends`"),
        (TABLE + 'scrub = ["HOME"]\n', "`vibe.scrub`"),
        (TABLE + 'protocol = "codex"\n', "`vibe.protocol`"),
        (TABLE + "shell = true\n", "`vibe.shell`"),
        (TABLE + 'version_flag = "--yolo"\n', "`vibe.version_flag`"),
        (TABLE + 'offered = ["--yolo"]\n', "`vibe.offered`"),
        (TABLE + 'environment = { A = "1" }\n', "`vibe.environment`"),
        (TABLE + 'hooks = { kind = "claude" }\n', "`vibe.hooks.kind`"),
        (TABLE + 'keys = { interrupt = ["Escape"] }\n', "`vibe.keys.interrupt`"),
        (TABLE + 'text = { close = "rm -rf ~" }\n', "`vibe.text.close`"),
        (TABLE + 'conversation = { resume = ["{id}"] }\n', "`vibe.conversation.resume`"),
        (TABLE + "timing = { veto = 0 }\n", "`vibe.timing.veto`"),
        (TABLE + "question = { means = { once = ['No'] } }\n", "`vibe.question.means`"),
        (TABLE + "modes = { chosen = '' }\n", "`vibe.modes.chosen`"),
        (HEAD + '[[profiles.vibe.modes.each]]\nname = "ask"\narguments = []\n', r"`vibe.modes.each\[ask\].arguments`"),
        (HEAD + '[[profiles.vibe.modes.each]]\nname = "ask"\nlike = "yolo"\n', r"`vibe.modes.each\[ask\].like`"),
        (HEAD + '[[profiles.vibe.modes.each]]\nname = "ask"\napproved = "."\n', r"`vibe.modes.each\[ask\].approved`"),
        (TABLE + 'modes = { each = "x" }\n', "`vibe.modes.each`"),
        (TABLE + 'remove = ["conversation.resume"]\n', "`vibe.conversation.resume`"),
        (TABLE + 'remove = ["modes"]\n', "`vibe.modes`"),
        (TABLE + 'remove = ["modes.each"]\n', "`vibe.modes.each`"),
        (TABLE + 'remove = ["input"]\n', "`vibe.input`"),
        (TABLE + 'remove = "keys"\n', "`vibe.keys`"),
        (TABLE + 'remove = ["rules.nothing"]\n', "nothing"),
        (TABLE + "input = { line = 3 }\n", "vibe is not a profile"),
        (TABLE + "input = 3\n", "`vibe.input`"),
        (TABLE + "input = { line = '(?=a)' }\n", "the pattern '.*' of `input.line`"),
        (TABLE + "titles = { busy = '(a)\\1' }\n", "of `titles.busy`"),
        (RULE + "name = \"rest\"\nall = ['(?<!x)y']\n", r"of `rules\[rest\].all"),
        (RULE + 'name = "new"\nstatus = "idle"\n', "nothing in `all`"),
        (RULE + 'name = "new"\nstatus = "idle"\nrun = "x"\n', r"`vibe.rules\[new\].run`"),
    ],
)
async def test_a_bad_bundle_is_one_sentence_and_changes_nothing(
    home: Home, tmp_path: Path, text: str, says: str
) -> None:
    with pytest.raises(CommandError, match=says) as refused:
        await update(UpdateProfiles(source=written(tmp_path, text)))
    assert "\n" not in refused.value.message
    assert refused.value.message.startswith("The rules in ") and refused.value.message.endswith(".")
    assert not (home.config / "gsh").exists()


OTHER = Signer(id=b"87654321")
SAME_ID = Signer()


@pytest.mark.parametrize(
    ("signature", "says"),
    [
        (SIGNER.sign(RULES.encode() + b" "), "signature is wrong"),
        (SIGNER.sign(RULES.encode()).replace("made today", "made later"), "signature is wrong"),
        (SIGNER.sign(RULES.encode(), hashed=False).replace("\nRWQ", "\nRUQ"), "signature is wrong"),
        (OTHER.sign(RULES.encode()), "key that is not trusted"),
        (SAME_ID.sign(RULES.encode()), "signature is wrong"),
        ("", "not one that minisign makes"),
        ("untrusted comment: x\n!!!\ntrusted comment: y\n!!!\n", "not one that minisign makes"),
        (SIGNER.sign(RULES.encode()).partition("trusted comment: made")[0], "not one that minisign makes"),
    ],
    ids=("file", "comment", "kind", "key", "forged", "empty", "nonsense", "half"),
)
async def test_what_no_trusted_key_has_signed_is_refused(home: Home, tmp_path: Path, signature: str, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        await update(UpdateProfiles(source=written(tmp_path, RULES, signature)))
    assert not (home.config / "gsh").exists()


async def test_without_a_trusted_key_or_a_signature_nothing_is_taken(home: Home, tmp_path: Path) -> None:
    path = written(tmp_path)
    action = update_action({"PATH": ""}, tuple)
    invocation = Invocation(Caller(), tmp_path, tmp_path)
    with pytest.raises(CommandError, match="No key is trusted"):
        await action.run(invocation, UpdateProfiles(source=path))
    with pytest.raises(CommandError, match="no public key of minisign"):
        await update(UpdateProfiles(source=path), "RWQnonsense")
    Path(f"{path}.minisig").unlink()
    with pytest.raises(CommandError, match="It has no signature"):
        await update(UpdateProfiles(source=path))
    Path(path).write_bytes(b"#" * 1_000_001)
    with pytest.raises(CommandError, match="are not taken"):
        await update(UpdateProfiles(source=path))
    with pytest.raises(CommandError, match="There is no such file"):
        await update(UpdateProfiles(source=str(tmp_path / "none.toml")))
    with pytest.raises(CommandError, match="by http and https, not by ftp"):
        await update(UpdateProfiles(source="ftp://x/rules.toml"))


async def test_a_signature_over_the_whole_file_is_one_too(home: Home, tmp_path: Path) -> None:
    path = written(tmp_path, RULES, SIGNER.sign(RULES.encode(), hashed=False))
    assert (await update(UpdateProfiles(source=path))).taken


@pytest.mark.parametrize("goes", ["well", "worse", "stopped", "stopped at once"])
async def test_rules_that_turn_out_worse_or_that_nobody_waits_for_do_not_count(
    goes: str, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check after them ends with the first step that fails more, since one that fails takes long."""
    told = list[str]()

    async def check(
        profile: Profile, environ: Mapping[str, str], rules: Path | None = None
    ) -> AsyncGenerator[CheckedStep]:
        new = profile.knows("3.1.0")
        for step in STEPS:
            told.append(f"{step} after" if new else step)
            assert profiles.load().profiles["vibe"] == before, "they do not count while they are checked"
            if new and goes == "stopped":
                raise asyncio.CancelledError
            yield CheckedStep(step, "N" if new and step == "question" and goes == "worse" else "W")

    def use(folder: Path, bundle: Bundle, signature: bytes) -> None:
        profile_bundle.use(folder, bundle, signature)
        if goes == "stopped at once":
            loop.call_soon_threadsafe(running.cancel)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(check_run, "check_program", check)
    monkeypatch.setattr(profile_updates, "use", use)
    (tmp_path / "vibe").write_text("#!/bin/sh\necho 3.0.2\n", "utf-8")
    (tmp_path / "vibe").chmod(0o755)
    before = profiles.load().profiles["vibe"]
    action = update_action({"PATH": f"{tmp_path}:/usr/bin:/bin"}, lambda: (SIGNER.public,))
    coming = action.run(Invocation(Caller(), tmp_path, tmp_path), UpdateProfiles(source=written(tmp_path)))
    running = asyncio.ensure_future(coming)
    if goes.startswith("stopped"):
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        assert (await running).taken == (goes == "well")
    if goes == "worse":
        assert told[len(STEPS) :] == ["rest after", "work after", "question after"]
    assert (profiles.load().profiles["vibe"] == before) == (goes != "well")
    assert (seen_here("vibe", "3.0.2") is not None) == (goes == "well")


async def test_rules_for_another_release_do_not_count_after_an_upgrade(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = profiles.load().profiles["vibe"]
    await update(UpdateProfiles(source=written(tmp_path)))
    monkeypatch.setattr("gshtui.programs.profiles.profile_bundle.__version__", "99.0.0")
    loaded = profiles.load()
    assert loaded.profiles["vibe"] == before
    assert any("so they do not count in 99.0.0" in problem for problem in loaded.problems)


def steps(marks: str) -> CheckResult:
    verdicts: dict[str, Verdict] = {"W": "W", "P": "P", "N": "N", "-": "-"}
    return CheckResult(tuple(CheckedStep(str(number), verdicts[mark]) for number, mark in enumerate(marks)))


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        ("WWN", "WWN", False),
        ("WWN", "WWP", False),
        ("WWN", "WPN", True),
        ("WPP", "WWN", True),
        ("WW-", "WWW", False),
        ("NNN", "WNN", False),
    ],
)
def test_what_works_less_or_fails_more_is_worse(before: str, after: str, worse: bool) -> None:
    assert is_worse(steps(before), steps(after)) is worse
    assert is_worse(steps(before), None)


def test_the_bundle_of_these_tests_is_what_people_write() -> None:
    assert set(tomllib.loads(RULES)) == {"format", "version", "release", "profiles"}
