"""The one thing that the shared zsh has beyond a person's own configuration: a key that puts a half-typed line aside.

zsh gives the line back by itself at its next prompt. Owns the start-up file that binds the key, in our own folder; the
person's files are read as always and never written. Called by `shared`.
"""

from __future__ import annotations

from gshtui.settings import paths
from gshtui.system import private_files

ASIDE = "\x1b[27;99;103~"
"""The key: a sequence that no keyboard sends."""
MARK = "GSH_SHARED_SHELL"
"""Variable by which a shell with the key is known."""
VERSION = "1"

_STARTUP = f"""\
# Written by gsh-tui for its shared shell. It reads your own configuration, and binds one key that no keyboard has.
if [[ -n ${{GSH_ZDOTDIR-}} ]]; then
  ZDOTDIR=$GSH_ZDOTDIR
else
  unset ZDOTDIR
fi
unset GSH_ZDOTDIR
if [[ -r ${{ZDOTDIR:-$HOME}}/.zshenv ]]; then
  source "${{ZDOTDIR:-$HOME}}/.zshenv"
fi
if [[ -o interactive ]]; then
  gsh-put-aside() {{
    zle push-input
    [[ $KEYMAP == vicmd ]] && zle -K viins
    return 0
  }}
  gsh-bind() {{
    emulate -L zsh
    zle -N gsh-put-aside
    local keymap
    for keymap in emacs viins vicmd; do
      bindkey -M $keymap '{ASIDE.replace(chr(27), "^[")}' gsh-put-aside
    done
    precmd_functions=(${{precmd_functions:#gsh-bind}})
  }}
  gsh-bind
  precmd_functions+=(gsh-bind)
fi
"""


def environment(environ: dict[str, str]) -> dict[str, str]:
    """Variables for a zsh that is to have the key; none when the file cannot be written, and it starts without.

    Args:
        environ: what the shell gets otherwise.
    """
    try:
        folder = paths.state_dir() / "zsh"
        private_files.make_folder(folder)
        private_files.write_whole(folder / ".zshenv", _STARTUP.encode())
    except OSError:
        return {}
    theirs = environ.get("ZDOTDIR", "")
    return {"ZDOTDIR": str(folder), MARK: VERSION, **({"GSH_ZDOTDIR": theirs} if theirs else {})}
