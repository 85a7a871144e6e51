"""What looks like keys or passwords in a project is not read by a command that nobody was asked about."""

import os
from pathlib import Path

import pytest

from gshtui.guard.policy.sensitive_paths import HOME_SECRETS, may_be_secret
from gshtui.guard.sandbox import sandbox as sandbox_module
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.warm_program import run_gsh
from tests.real.test_sandbox import in_sandbox
from tests.real.test_sandbox_refusals import tools

CANARY = "CANARY5d1f"
KEY = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n"
SECRETS = {
    ".env": f"K={CANARY}\n",
    "web/.env.production": f"K={CANARY}\n",
    "a/b/c/d/prod.env": f"K={CANARY}\n",
    "certs/server.pem": KEY,
    "certs/server.key": KEY,
    "id_ed25519": KEY,
    "config/credentials.json": CANARY,
    "secrets.yaml": CANARY,
    ".aws/credentials": CANARY,
    ".env~": f"K={CANARY}\n",
    "web/.env-prod": f"K={CANARY}\n",
    "web/.env_local": f"K={CANARY}\n",
    "worker/.dev.vars": f"K={CANARY}\n",
    ".npmrc": f"//registry.example/:_authToken={CANARY}\n",
}
SEEN = {
    ".env.example": "K=\n",
    ".env-sample": "K=\n",
    ".dev.vars.example": "K=\n",
    "certs/ca.pem": "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n",
    "web/.npmrc": "//registry.example/:_authToken=${NPM_TOKEN}\nregistry=https://registry.example/\n",
    "environment.py": "x = 1\n",
    "keys.py": "x = 1\n",
}
SHAPES = (
    "cat .e*",
    "cat $(ls -a | grep env)",
    "grep -r CANARY .",
    "python3 -c \"import os; [print(open(os.path.join(r, f), errors='replace').read()) for r, _, fs in os.walk('.')"
    ' for f in fs if os.access(os.path.join(r, f), os.R_OK)]"',
    "tar cf - . | strings",
    "cp -r . /tmp/copy; cat $(find /tmp/copy -type f)",
    'for f in .* * */* */.*; do cat "$f"; done',
    "ln .env shown; ln -s .env also; mv certs other; cat shown also other/*",
    "chmod -R u+rwX .; cat .env certs/*",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "project"
    for name, text in {**SECRETS, **SEEN}.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text, "utf-8")
    (tmp_path / "state").mkdir()
    return made


def test_the_quick_look_at_names_finds_what_the_close_one_would() -> None:
    for name in (
        *HOME_SECRETS,
        "x/prod.env",
        "x/host_x_key",
        "x/service_account-1.json",
        "x/.secrets.toml",
        "x/a.kdbx",
    ):
        *folders, last = name.split("/")
        if len(folders) < 2 and not name.startswith("Library"):
            assert may_be_secret(folders[-1] if folders else "x", last), name
    assert not any(may_be_secret("src", name) for name in ("a.json", "keys.py", "environment.py", ".env.example"))


@pytest.mark.parametrize("line", SHAPES)
async def test_no_shape_of_reading_shows_them(project: Path, line: str) -> None:
    (project / "run.sh").write_text(line, "utf-8")
    done = await in_sandbox(tools(project), "sh run.sh")
    assert CANARY not in str(done), line
    assert {name: (project / name).read_text("utf-8") for name in SECRETS if (project / name).exists()}


async def test_no_other_name_of_the_same_file_shows_it(project: Path) -> None:
    (project / "deep" / "er").mkdir(parents=True)
    os.link(project / ".env", project / "deep" / "er" / "notes.txt")
    (project / "also.txt").symlink_to("deep/er/notes.txt")
    (project / "run.sh").write_text("grep -rh . deep; cat also.txt deep/er/notes.txt .env", "utf-8")
    assert CANARY not in str(await in_sandbox(tools(project), "sh run.sh"))


async def test_what_holds_none_is_content_and_what_is_hidden_is_said(project: Path) -> None:
    harness = tools(project)
    (project / "run.sh").write_text(f"cat {' '.join(SEEN)} && cat web/.env.production .env; true", "utf-8")
    done = await in_sandbox(harness, "sh run.sh")
    assert "BEGIN CERTIFICATE" in done.data["output"] and "registry=" in done.data["output"]
    assert sorted(each["subject"] for each in done.data["refused"]) == [".env", "web/.env.production"], done.text
    assert "[the sandbox: cannot see .env: it may hold keys or passwords" in done.text
    assert done.sandbox is not None and done.sandbox.refused == (), "it is no reason to ask"


async def test_a_person_s_setting_shows_them(project: Path) -> None:
    harness = tools(project, visible=[".env", "certs/*"])
    (project / "run.sh").write_text("cat .env; cat certs/server.key; cat id_ed25519", "utf-8")
    done = await in_sandbox(harness, "sh run.sh")
    assert done.data["output"].count(CANARY) == 2


async def test_what_a_command_made_itself_it_reads_again_until_a_person_writes_it(project: Path) -> None:
    harness = tools(project)
    (project / "run.sh").write_text("echo K=made >local.env", "utf-8")
    await in_sandbox(harness, "sh run.sh")
    (project / "run.sh").write_text("cat local.env", "utf-8")
    assert (await in_sandbox(harness, "sh run.sh")).data["output"] == "K=made\n"
    (project / "local.env").write_text(f"K={CANARY}\n", "utf-8")
    assert CANARY not in str(await in_sandbox(harness, "sh run.sh"))


async def test_too_many_are_no_sandbox(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_module, "_MOST_SECRETS", 3)
    ran = await ran_or_refused(project)
    assert "more than 3 files that may hold keys or passwords" in ran


async def ran_or_refused(project: Path) -> str:
    from gshtui.commands.declaration import CommandError

    try:
        return (await in_sandbox(tools(project), "true")).text
    except CommandError as error:
        return error.message


@pytest.mark.parametrize("mode", [("--mode", "auto"), ("--yes",)])
async def test_none_of_it_reaches_a_provider(project: Path, home: Home, mode: tuple[str, ...]) -> None:
    import asyncio

    calls: list[list[Call | Say]] = [[Call("bash", {"command": line})] for line in SHAPES[:4]]
    async with loopback("anthropic", [*calls, [Say("done")]]) as server:
        env = variables("anthropic", server.url)
        ran = await asyncio.to_thread(run_gsh, "prompt", *mode, "go", cwd=project, env=env)
        told = str([one.body for one in server.requests])
    assert CANARY not in told, ran.err
    assert len(told) > 1000
