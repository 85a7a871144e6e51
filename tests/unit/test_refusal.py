"""What the policy refuses whoever asks, and its limits."""

import pytest

from gshtui.cli.by_hand import MODULES
from gshtui.cli.declared_forms import COMMANDS
from gshtui.guard.policy.shell_policy import refused


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf ~",
        "rm -fr ~/",
        "rm -r -f --no-preserve-root /",
        "rm -r -- /",
        'rm -rf "$HOME"',
        "rm -rf $HOME/*",
        "rm -Rf /etc",
        "rm -rf /home/somebody",
        "cd / && rm -rf *",
        "true && (cd /; rm -rf *)",
        "sudo rm -rf /*",
        "xargs rm -rf /",
        "bash -c 'rm -rf /'",
        'echo "$(rm -rf /)"',
        "ls\nrm -rf /",
        "find / -delete",
        "dd if=/dev/zero of=/dev/vda bs=1M",
        "echo x > /dev/sda",
        "cat x >/dev/nvme0n1",
        "echo x > //dev/sda",
        "echo x >> /dev/./sda",
        "echo x >/dev/../dev/sda",
        "echo x >| /dev/s'd'a",
        "echo x &> /dev/sda",
        ": <> /dev/sda",
        "> /dev/sda",
        "exec 3>/dev/sda",
        "cd /dev && cat x > sda",
        "dd if=x of=//dev/sda",
        "cat x > /dev/disk/by-id/ata-0",
        "x=$(echo hi >/dev/sda)",
        "f() { cat > /dev/sda; }; f",
        "if true; then > /dev/sda",
        "bash -c '>/dev/sda'",
        "watch 'cat x >/dev/sda'",
        "trap 'cat >/dev/sda' EXIT",
        "echo 'cat >/dev/sda' | sh",
        "bash <<'EOF'\ncat x > /dev/sda\nEOF",
        "awk '{print > \"/dev/sda\"}' f",
        "echo x > /dev/sda " + "(" * 2_000,
        "mkfs.ext4 /dev/sda1",
        "wipefs -a /dev/sda",
        "chmod -R 777 /",
        "chown -R me /usr",
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb",
        "shutdown -h now",
        "sudo reboot",
        "if true; then reboot; fi",
        "systemctl poweroff",
        "init 0",
        "kill -9 -1",
        "kill -9 1",
        "killall -9 tmux",
        "pkill tmux",
    ],
)
def test_a_catastrophe_is_named(command: str) -> None:
    assert refused(command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -rf ./*",
        "rm -rf /tmp/work/x",
        "rm -rf /home/somebody/project/dist",
        "rm /etc/x",
        "find . -delete",
        "find / -name x",
        "dd if=a of=b",
        "cat /dev/sda",
        "grep '>/dev/sda' f",
        "rg -n '> */dev/sda' . | head",
        "echo 'never write > /dev/sda' >> notes.md",
        "cat > notes.md <<'EOF'\nnever write > /dev/sda\nEOF",
        "ls # >/dev/sda",
        "echo hi > /dev/null",
        "echo 'rm -rf /'",
        'git commit -m "Refuse shutdown; reboot"',
        "grep -r shutdown .",
        "echo reboot",
        "systemctl restart nginx",
        "kill 123",
        "killall node",
        "chmod -R 755 dist",
        "f() { echo a | tee b & }; f",
        "",
    ],
)
def test_ordinary_commands_are_not(command: str) -> None:
    assert refused(command) == ""


@pytest.mark.parametrize(
    "line", ["(" * 150_000, "$(" * 5_000 + ")" * 5_000, "a() {" * 20_000, "a() {" + "a|" * 90_000, "`" * 150_000]
)
def test_a_hostile_line_is_judged_in_bounded_time(line: str) -> None:
    assert isinstance(refused(line), str)


def test_what_is_too_long_to_judge_is_refused() -> None:
    assert "cannot be judged" in refused("x" * 300_000)


@pytest.mark.parametrize(
    "command",
    [
        "gsh-tui config set agent.mode auto",
        "env -u GSH_AGENT gsh-tui config set agent.mode auto",
        "env -iu GSH_AGENT -u X PATH=/bin /opt/bin/gsh-tui config set agent.mode auto",
        "env --unset GSH_AGENT gsh-tui config trust",
        "env -S 'gsh-tui config set agent.mode auto'",
        "sudo -u me gsh-tui config set agent.mode auto",
        "python -m gshtui config set agent.mode auto",
        "/x/.venv/bin/python3.13 -I -m gshtui config set agent.mode auto",
        "env -u GSH_AGENT python3 -mgshtui approvals allow 1",
        "python -Im gshtui hub stop",
        "/x/.venv/bin/python -P -m gshtui hub stop",
        "python /x/bin/gsh-tui config set agent.mode auto",
        "uv run python -m gshtui config set agent.mode auto",
        "bash -c 'unset GSH_AGENT; python -m gshtui config set agent.mode auto'",
        "gsh-tui agent answer 0002 1",
        "python -m gshtui agent answer 0002 --question x yes",
        "gsh-tui run 'mode yolo'",
        "gsh-tui run --as main '/approvals revoke 1'",
        "python3 -m gshtui run /mode auto",
        "gsh-tui prompt --mode yolo 'rm x'",
        "gsh-tui agent spawn --mode=auto x",
        "gsh-tui prompt --yes x",
        "gsh-tui people allow eve 'ssh-ed25519 AAAA'",
        "gsh-tui people revoke amy",
        "python -m gshtui plugins approve evil",
        "gsh-tui plugins on",
        "gsh-tui serve --ssh --host 0.0.0.0",
        "gsh-tui run 'people allow eve x'",
        "env -u GSH_AGENT gsh-tui run plugins approve evil",
        "gsh-tui run 'ls | people allow eve x'",
        "gsh-tui run 'echo $(mode yolo)'",
        "gsh-tui run 'ls; mode yolo'",
        "gsh-tui run 'diff a <(/mode yolo)'",
        "gsh-tui run --json ls '|' mode yolo",
        "echo 'mode yolo' | gsh-tui run",
        "gsh-tui run --json <lines",
        "gsh-tui prompt --set agent.mode=yolo x",
        "gsh-tui prompt --set=sandbox.enabled=false x",
        "GSH_AGENT__MODE=yolo gsh-tui prompt x",
        "env GSH_AGENT__MODE=yolo gsh-tui prompt x",
        "export GSH_SANDBOX__ENABLED=false; gsh-tui prompt x",
    ],
)
def test_our_own_program_widens_nothing_however_it_is_called(command: str) -> None:
    assert "only a person" in refused(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat ~/.local/share/gsh/agents/0002.json",
        "cd ~/.local/share/gsh && base64 agents/0002.json",
        "python3 -c 'print(1)' /home/me/.local/share/gsh/agents/0012.json",
        "cp hub.json /run/user/1000/gsh/4711.json",
        "ln -s x /tmp/gsh-1000/keeper.sock",
        "echo x > /tmp/gsh-0/hub.json",
    ],
)
def test_what_proves_an_agent_or_a_hub_is_neither_shown_nor_planted(command: str) -> None:
    """Who knows an agent's token, or is listed as a hub, could speak in its name."""
    assert refused(command)


@pytest.mark.parametrize(
    "command",
    [
        "python -m gshtui config get agent.mode",
        "python -m pytest gshtui",
        "env -u X ls",
        "sudo -u me ls",
        "gsh-tui ls",
        "gsh-tui prompt --mode plan x",
        "gsh-tui run 'ls'",
        "gsh-tui agent ls",
        "gsh-tui people ls",
        "gsh-tui run 'grep pattern=mode'",
        "gsh-tui run 'cat notes | grep mode'",
        "gsh-tui prompt --set context.max_iterations=5 x",
        "gsh-tui plugins ls",
    ],
)
def test_other_calls_of_it_are_no_refused(command: str) -> None:
    assert not refused(command)


ONLY_A_PERSON = frozenset(
    {
        *("agent answer", "config edit", "config set", "config trust", "hook accept", "hook refuse", "hub install"),
        *("hub stop", "mcp accept", "mcp add", "mcp enable", "mcp import", "people allow", "people revoke"),
        *("plugins approve", "plugins off", "plugins on", "plugins revoke", "serve"),
    }
)
CONSENTS = frozenset({"accept", "allow", "answer", "approve", "refuse", "revoke", "trust"})
"""Words by which a person lets something run, or not."""


def test_no_agent_consents_by_a_command_of_ours() -> None:
    """What widens what agents may do is refused, however it is called; a new command that consents, too."""
    ours = {*(form.name for form in COMMANDS), *MODULES}
    assert ours >= ONLY_A_PERSON
    for name in ONLY_A_PERSON | {one for one in ours if one.rpartition(" ")[2] in CONSENTS}:
        assert "only a person" in refused(f"gsh-tui {name} x"), name
        if name != "serve":  # it is no command of the language
            assert "only a person" in refused(f"gsh-tui run 'ls | {name} x'"), name
    assert not [name for name in ours if name.endswith((" ls", " show")) and refused(f"gsh-tui {name} x")]


def test_a_wrapper_with_a_value_hides_nothing() -> None:
    assert refused("sudo -u root rm -rf /")
    assert refused("env -C /tmp rm -rf /")


@pytest.mark.parametrize(
    "command",
    [
        "cp ~/.ssh/id_rsa X",
        "cp -t . ~/.ssh/id_rsa",
        "cp --target-directory=. ~/.ssh/id_rsa",
        "cp README.md ~/.ssh/id_rsa .",
        "cp -r ~/.aws X",
        "sudo -u me cp ~/.ssh/id_rsa X",
        "bash -c 'cp ~/.ssh/id_rsa X'",
        "cd ~/.ssh && cp id_rsa /tmp/x",
        "ln ~/.ssh/id_rsa X",
        "ln -s ~/.ssh/id_rsa X",
        "mv .env X",
        "install -m 644 ~/.ssh/id_rsa X",
        "rsync -a ~/.ssh/ X",
        "tar cf x.tar ~/.ssh",
        "tar -C ~ -cf x.tar .ssh/id_rsa",
        "zip x.zip ~/.ssh/id_rsa",
        "gzip -k ~/.netrc",
        "7z a x.7z ~/.aws/credentials",
        "split ~/.ssh/id_rsa x",
        "openssl enc -in ~/.ssh/id_rsa -out x",
        "gpg --export-secret-keys",
        "find . -exec cp ~/.ssh/id_rsa X ;",
        "cp .env .env.bak",
    ],
)
def test_a_copy_of_a_key_is_refused_as_reading_it_is(command: str) -> None:
    assert refused(command)


@pytest.mark.parametrize(
    "command",
    [
        "cp .env.example .env",
        "cp a b",
        "cp ~/.ssh/id_rsa.pub X",
        "tar xzf release.tgz",
        "mv a .env",
        "ln -s ../.env.example .env",
        "install -m 600 sample.pem key.pem",
        "cp tests/server.pem tests/other.pem",
        "gzip -9 log.txt",
        "git add .",
    ],
)
def test_other_copies_are_not(command: str) -> None:
    assert not refused(command)
