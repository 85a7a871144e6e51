"""The variables that children get: agents' commands what a list passes, others all but secrets and hijacks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from gshtui.guard.secrets.secret_names import is_secret_name

_SECRET_VALUE = re.compile(
    r"^(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[A-Z0-9]{16}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{20,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\..*|-----BEGIN [A-Z ]*PRIVATE KEY-----.*)",
    re.DOTALL,
)
"""The commonest shapes of `redaction`, which takes long to load and is not needed to start a program."""
_URL_WITH_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@", re.IGNORECASE)
_PROVIDERS = re.compile(r"^(?:ANTHROPIC|OPENAI|GEMINI|GROQ|MISTRAL|COHERE|HUGGINGFACE|HF)_")
"""Of variables that begin so, none is a command's business."""
# Variables that change which code a shell, git or an interpreter runs at start, and those that tie it to this terminal.
_HIJACKS = re.compile(
    r"^(?:TMUX|TMUX_.*|BASH_ENV|ENV|BASH_FUNC_.*|PROMPT_COMMAND|PS[0-4]|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|HISTFILE"
    r"|GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|PREFIX|EXEC_PATH|CONFIG.*|EXTERNAL_DIFF|SSH_COMMAND|ASKPASS)"
    r"|GSH_.*|PYTHONSTARTUP|PYTHONHOME|PYTHONINSPECT|PERL5OPT|RUBYOPT|NODE_OPTIONS|LINES|COLUMNS|LESSOPEN|LESSCLOSE"
    r"|RIPGREP_CONFIG_PATH|TERM_PROGRAM.*|VTE_VERSION|KITTY_.*|ITERM_.*|WEZTERM_.*|STY|WINDOW|WINDOWID)$"
)
_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONUNBUFFERED": "1",
}
_PASSED = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "HOSTNAME"),
        *("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "TERMINFO"),
        *("MANPATH", "INFOPATH", "CI", "DEBUG", "VERBOSE", "SOURCE_DATE_EPOCH", "KUBECONFIG", "DOCKER_HOST"),
        *("CC", "CXX", "AR", "LD", "RANLIB", "STRIP", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LDLIBS"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "PKG_CONFIG_PATH", "MAKEFLAGS", "MACHINE"),
        *("http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "FTP_PROXY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"),
        *("VIRTUAL_ENV", "NODE_ENV", "RAILS_ENV", "RACK_ENV", "APP_ENV", "MIX_ENV", "DJANGO_SETTINGS_MODULE"),
        *("M2_HOME", "PERL5LIB", "RUBYLIB", "ERL_LIBS", "SDKROOT", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET"),
    )
)
_PASSED_BEGINNINGS = (
    *("LC_", "XDG_", "GIT_AUTHOR_", "GIT_COMMITTER_", "PYTHON", "PYENV_", "PIP_", "PIPX_", "UV_", "POETRY_", "PDM_"),
    *("HATCH_", "TOX_", "PYTEST_", "CONDA_", "MAMBA_", "NODE_", "NVM_", "FNM_", "VOLTA_", "NPM_", "npm_", "PNPM_"),
    *("YARN_", "COREPACK_", "BUN_", "DENO_", "GO", "CGO_", "CARGO", "RUST", "SCCACHE_", "CCACHE_", "JAVA_", "JDK_"),
    *("MAVEN_", "GRADLE_", "SDKMAN_", "KOTLIN_", "ANDROID_", "DOTNET_", "NUGET_", "MSBUILD", "GEM_", "BUNDLE_"),
    *("RBENV_", "RVM_", "COMPOSER_", "PHP_", "ASDF_", "MISE_", "NIX_", "HOMEBREW_", "OPAM", "OCAML", "CABAL_"),
    *("STACK_", "GHC", "HEX_", "REBAR_", "CMAKE_", "CTEST_", "NINJA_", "MESON_", "BAZEL_", "CUDA_", "OMP_", "MKL_"),
    *("OPENBLAS_", "ROCM_", "TF_", "TORCH_", "MPL", "QT_", "SDL_", "WSL", "TERRAFORM_", "PLAYWRIGHT_", "CYPRESS_"),
)
"""Toolchains. What names or looks like a secret is left out all the same."""


def command_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a non-interactive command of a person or of ours, out of this process's `environ`."""
    passed = {
        name: value for name, value in environ.items() if not (_HIJACKS.match(name) or is_secret_variable(name, value))
    }
    return passed | _QUIET


def agent_environment(environ: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """The environment for an agent's command: what builds and tests commonly need, and what a person names.

    Args:
        environ: this process's.
        more: names of further variables, also with `*`; a secret is passed by its whole name only.
    """
    wanted = tuple(more)
    passed = {
        name: value
        for name, value in command_environment(environ).items()
        if name in _PASSED
        or name.startswith(_PASSED_BEGINNINGS)
        or name in _QUIET
        or any(fnmatchcase(name, pattern) for pattern in wanted)
    }
    return passed | {name: environ[name] for name in wanted if name in environ and not _HIJACKS.match(name)}


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable looks like a key or a password, by its name or its value."""
    return bool(
        is_secret_name(name) or _PROVIDERS.match(name) or _SECRET_VALUE.match(value) or _URL_WITH_PASSWORD.match(value)
    )


_ADDRESS = re.compile(r"_(?:BASE_URL|API_BASE|ENDPOINT|MODEL|REGION|API_VERSION)$")
"""Variables of providers that hold no key."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def named_variables(words: Iterable[str]) -> dict[str, str]:
    """The variables in words such as `NAME=VALUE`. Raises `ValueError`: a word is none, or would put a secret where it
    is kept and shown; the message says so without it.
    """
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not _NAME.fullmatch(name) or not _is_text(value):
            raise ValueError("A variable is written as NAME=VALUE.")
        if name.startswith("GSH_"):
            raise ValueError(f"{name} is a variable of gsh-tui itself.")
        if value and is_secret_variable("" if _ADDRESS.search(name) else name, value):
            raise ValueError(f"{name} looks like a secret, which would be kept in the record and shown in lists.")
        found[name] = value
    return found


def _is_text(value: str) -> bool:
    try:
        return "\0" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False
