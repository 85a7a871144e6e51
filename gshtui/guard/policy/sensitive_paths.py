"""Which files hold secrets or decide what is run, judged by their path.

Pure, but for the files of a repository without a working tree, which are known by their neighbours, and for what the
person's variables name. Other paths may hold secrets, too; this list serves approval questions, and decides what a
search leaves out.
Called by the policy and the file tools.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from gshtui.guard.policy.obeyed_files import is_obeyed
from gshtui.system.caller_environment import caller_environ

HOME_SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".oci", ".password-store", ".mozilla", ".thunderbird", ".fly"),
    *(".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".vault-token", ".boto"),
    *(".s3cfg", ".terraformrc", ".terraform.d/credentials.tfrc.json", ".authinfo", ".authinfo.gpg"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".docker/config.json"),
    *(".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".cache/huggingface/token"),
    *(".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/rclone", ".config/sops", ".config/doctl"),
    *(".config/containers/auth.json", ".config/git/credentials", ".config/uv/credentials", ".config/hcloud"),
    *(".config/github-copilot", ".config/glab-cli", ".config/stripe", ".config/pypoetry/auth.toml"),
    *(".config/google-chrome", ".config/chromium", ".config/BraveSoftware", "Library/Keychains"),
    *(".local/share/keyrings", ".local/share/kwalletd", ".local/share/uv/credentials", ".local/share/atuin/history.db"),
    *(".bash_history", ".zsh_history", ".zsh_sessions", ".zhistory", ".histfile", ".sh_history", ".lesshst"),
    *(".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history"),
    *(".local/share/fish/fish_history",),
)
"""What of a home holds secrets: asked about wherever it is read, and in a sandbox not to be seen."""
MOVED = (
    *("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "CLOUDSDK_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS"),
    *("AZURE_CONFIG_DIR", "KUBECONFIG", "GNUPGHOME", "DOCKER_CONFIG", "PASSWORD_STORE_DIR", "PGPASSFILE", "NETRC"),
    *("NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "BOTO_CONFIG"),
)
"""Variables by which people keep such a file or folder elsewhere; some name several, with colons between."""
_OF_HOME = re.compile(rf"/(?:{'|'.join(re.escape(name.casefold()) for name in HOME_SECRETS)})(?:/|$)")
_SECRET = re.compile(
    r"""(?x)(?:
    /\._netrc$ | /\.gem/credentials\.toml$ | /\.terraform\.d/credentials | /\.config/brave[^/]*(?:/|$)
    | /\.(?:bash|zsh|sh|python|node_repl|psql|mysql|sqlite|lesshst|fish)_?history$
    | /fish_history$ | /atuin/history\.db
    | /id_(?:rsa|dsa|ecdsa|ed25519)(?:_[^/]*)?$ | \.(?:pem|p12|pfx|jks|keystore|kdbx|ppk)$ | /[^/]*\.key$
    | /credentials(?:\.json|\.ya?ml|\.toml)?$ | /service[-_]account[^/]*\.json$ | /\.?secrets?\.(?:json|ya?ml|toml|env)$
    | /gsh/(?:agents/\d{4,}\.json|ssh_host_key)$
    | /\.env(?:rc)?(?:[._~-][^/]*)?$ | /[^/]+\.env$ | /\.dev\.vars(?:\.[^/]*)?$ | /\.htpasswd$
    | ^/proc/(?:[^/]+/)+(?:environ|mem|maps|auxv|cmdline|fd|root|cwd)(?:/|$) | ^/proc/kcore$
    | ^/dev/(?:mem|kmem|fd)(?:/|$)
    | ^/etc/(?:shadow|gshadow|sudoers|ssl/private|krb5\.keytab)[-~]?(?:/|$|\.d) | /host_[^/]*_key$
    )"""
)
_HISTORY = re.compile(r"hist(?:ory|file)?(?:\.db)?$")
_EXAMPLE = re.compile(r"/\.(?:env[._-]|dev\.vars\.)(?:example|sample|template|dist|defaults?|test\.example)$")
_GUARDED = re.compile(
    r"/\.git(?:/|$)|/\.gsh(?:/|$)|/\.config/gsh/(?:people$|(?:hooks|profiles)(?:/|$))"
    r"|/gsh/(?:config\.toml|rules\.toml|policy[^/]*|trusted\.json|plugins\.json|ssh_host_key|agents/\d{4,}\.json)$"
)
_STARTS_LATER = re.compile(
    r"""(?xs)(?:^|/)(?:
    (?: \.(?:ba|z|k|c|tc)?shrc | \.(?:bash_|z)?profile | \.(?:z|bash_)log(?:in|out) | \.zshenv | \.inputrc
    | \.pam_environment | \.gitconfig | \.tmux\.conf | \.(?:vimrc|emacs|xprofile|xinitrc|xsession) )$
    | \.config/(?:git|fish|nvim|autostart|systemd)/. | \.ssh/. | \.config/environment\.d/
    | (?:\.config|\.local/(?:share|state))/gsh(?:/|$)
    | Library/Launch(?:Agents|Daemons)/.
    )
    | ^/etc/(?:passwd|group|sudoers|profile|crontab|cron\.[a-z]+|ld\.so|hosts|environment|bash\.bashrc|zsh|pam\.d
        |systemd|init\.d|rc\.local|ssh)
    | ^/run/user/\d+/gsh(?:/|$) | ^/(?:var/)?tmp/gsh-\d+(?:/|$)
    | ^/(?:proc/sys|sys|boot)/ | ^/proc/sysrq-trigger$ | ^/var/spool/cron"""
)
"""Files outside a project that a shell, git, a session or the system runs or obeys."""
_CONTROLS = re.compile(r"(?:^|/)\.(?:git|gsh)(?:/(?![a-z]{1,20}\.lock$)|$)", re.IGNORECASE)
_HISTORY_FILE = re.compile(
    r"(?:^|/)(?:\.(?:bash|zsh|sh|python|psql|mysql)_history|\.zhistory|\.histfile|fish_history)$"
)
SEARCH_LEAVES_OUT = (
    *(
        "!.env",
        "!.env[._~-]*",
        "!*.env",
        "!.envrc",
        "!.dev.vars*",
        "!*.pem",
        "!*.key",
        "!*.p12",
        "!*.pfx",
        "!id_rsa*",
        "!id_ed25519*",
        "!id_ecdsa*",
    ),
    *("!.netrc", "!.npmrc", "!.pypirc", "!.pgpass", "!.git-credentials", "!.ssh", "!.aws", "!.gnupg", "!.kube"),
    *("!*_history", "!.histfile", "!.zhistory", "!credentials", "!credentials.json", "!.git"),
)
"""Globs for what a search over a folder passes by: secrets, unless they are named, and git's own files."""


def moved(variables: Sequence[str], *folders: str) -> list[str]:
    """The places that the person's variables name. One that is relative is so to their shell's folder, or to these."""
    environ = caller_environ()
    bases = [base for base in (environ.get("PWD", ""), *folders) if base.startswith("/")]
    named = [place for name in variables for place in environ.get(name, "").split(":") if place.strip("/")]
    every = [os.path.join(base, place) for place in named for base in bases or ("/",)]  # noqa: PTH118
    return [os.path.normpath(place) for place in dict.fromkeys(every)]


def secret(real: Path) -> str:
    """What secret the path holds or may hold, in a few words; empty if none."""
    if any(real.is_relative_to(place) for place in moved(MOVED) if place != "/"):
        return "keys or passwords"
    path = str(real).casefold()
    if not (_OF_HOME.search(path) or _SECRET.search(path)) or _EXAMPLE.search(path):
        return ""
    if path.startswith("/proc/"):
        return "another process's memory or environment"
    return "a shell's history" if _HISTORY.search(path) else "keys or passwords"


_MAY_HOLD = re.compile(
    r"(?i)^[._]|env$|\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk|key)$|^id_|_key$|credential|secret|service[-_]account|history"
)
"""Of names in a folder that is not hidden, those to look at closely: a quick first look at many thousand."""
_PRIVATE_KEY = re.compile(rb"PRIVATE KEY-----|^(?!.*-----BEGIN )", re.DOTALL)
_PASSWORD = re.compile(rb"(?im)^[^#;\n]{0,300}_(?:auth|authtoken|password)[ \t]*=[ \t]*(?![ \t\n]|\$\{)")
_LOOKED_INTO = 1 << 18


def may_be_secret(folder: str, name: str) -> bool:
    """Whether a file or folder of a project, in a folder of this name, holds or may hold keys or passwords."""
    return bool(_MAY_HOLD.search(name) or folder.startswith(".")) and bool(secret(Path("/", folder, name)))


def holds_no_secret(file: Path) -> bool:
    """Whether such a file can be seen to hold none: certificates alone, or settings of npm without a password."""
    by_name = {".pem": _PRIVATE_KEY, ".npmrc": _PASSWORD}
    wanted = by_name.get(file.suffix.lower()) or by_name.get(file.name)
    if wanted is None:
        return False
    try:
        with file.open("rb") as opened:
            text = opened.read(_LOOKED_INTO + 1)
    except OSError:
        return False
    return len(text) <= _LOOKED_INTO and not wanted.search(text)


def guarded(real: Path) -> str:
    """Why no tool may write there, in one sentence, or empty: git's own files, and our own settings."""
    path = str(real).casefold()
    if not _GUARDED.search(path):
        return ""
    if "/.git" in path:
        return "Files in .git decide what git runs; change them with git, not with a file tool."
    return "These are the workbench's own settings; only a person may change them."


def controls(path: str) -> bool:
    """Whether a normalised path is git's or the workbench's own, which decides what they run."""
    return bool(_CONTROLS.search(path))


def is_history(path: str) -> bool:
    """Whether a normalised path is where a shell or an interpreter records what was typed."""
    return bool(_HISTORY_FILE.search(path))


def starts_later(path: str) -> bool:
    """Whether a shell, git, a session or the system runs or obeys this file outside a project later."""
    return bool(_STARTS_LATER.search(path))


def starts_things(real: Path) -> str:
    """A warning for a file that some program runs or obeys when the project is opened, built or tested; or empty.

    Looks at what stands beside it.
    """
    if is_obeyed(str(real)):
        return f"{real.name} decides what other programs run"
    return f"{real.name} is part of a repository, which decides what git runs" if _of_bare_repository(real) else ""


def _of_bare_repository(real: Path) -> bool:
    """Git takes a folder for a repository that has HEAD, objects and refs; whichever of them comes last counts.

    One that has HEAD and commondir is one, too: commondir has no other use, and is asked about wherever it is.
    """
    folders = list(real.parents)
    for name, folder in zip((real.name, *(each.name for each in folders)), folders, strict=False):
        if name in ("objects", "refs") and os.path.lexists(folder / "HEAD"):
            return True
        if name == "HEAD" and os.path.lexists(folder / "commondir"):
            return True
        others = name in ("HEAD", "config", "hooks", "info")
        if others and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            return True
    return False
