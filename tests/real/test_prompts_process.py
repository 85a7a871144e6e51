"""`gsh-tui prompts` and `gsh-tui prompt --prompt`, as processes, with a provider on loopback and the real guard."""

import asyncio
from pathlib import Path

from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.warm_program import run_gsh


def keep(home: Home, name: str, text: str) -> None:
    folder = home.config / "gsh" / "prompts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


async def test_a_kept_prompt_is_sent_with_its_arguments_and_files(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    (project / "notes.txt").write_text("remember the milk\n")
    keep(home, "explain", "---\narguments: [file, how]\n---\nExplain @{$file} $how, $how.")
    async with loopback("anthropic", [[Say("done")]], repeat=True) as server:
        env = variables("anthropic", server.url)
        for words in (("--prompt", "explain", "notes.txt", "very well"), ("/explain notes.txt 'very well'",)):
            ran = await asyncio.to_thread(run_gsh, "prompt", *words, cwd=project, env=env)
            assert (ran.code, ran.out) == (0, "done\n"), ran.err
            sent = str(server.requests[-1].body)
            assert "remember the milk" in sent
            assert "very well, very well." in sent


def test_a_command_inside_passes_the_guard(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    keep(home, "touching", "!{touch made.txt} go")
    ran = run_gsh("prompt", "--prompt", "touching", cwd=project)
    assert ran.code == 4
    assert "was not allowed" in ran.err
    assert not (project / "made.txt").exists()


def test_they_are_listed_shown_and_refused(tmp_path: Path, home: Home) -> None:
    keep(home, "one", "---\ndescription: The first\n---\nText of one")
    keep(home, "big", "x" * 10_000_000)
    listed = run_gsh("prompts", "ls", cwd=tmp_path)
    assert listed.out == "/one — The first (yours)\n"
    assert "10,000,000 bytes" in listed.err
    assert run_gsh("prompts", "ls", "--json", cwd=tmp_path).json["prompts"][0]["name"] == "one"
    assert run_gsh("prompts", "show", "one", cwd=tmp_path).out == "Text of one\n"
    unknown = run_gsh("prompt", "--prompt", "big", cwd=tmp_path)
    assert (unknown.code, "limit is" in unknown.err) == (1, True)
