"""`gsh-tui completion`: the script that teaches a shell to complete our words. click writes and answers it."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from gshtui.cli.options import json_option

VARIABLE = "_GSH_TUI_COMPLETE"
"""How the shell's script asks; click derives the same name from the program's."""


@click.command()
@click.argument("shell", type=click.Choice(["zsh", "bash", "fish"]))
@json_option
def completion(shell: str, as_json: bool) -> int:
    """Print the completion script of a shell.

    \b
    To install it:
      zsh   gsh-tui completion zsh > "${fpath[1]}/_gsh-tui"       (then start a new shell)
            or in ~/.zshrc, behind compinit: eval "$(gsh-tui completion zsh)"
      bash  in ~/.bashrc: eval "$(gsh-tui completion bash)"       (bash 4.4 or newer)
      fish  gsh-tui completion fish > ~/.config/fish/completions/gsh-tui.fish
    """
    from gshtui.cli.root import root
    from gshtui.headless.streams import result, result_json

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click has no completion for {shell}.")
    script = kind(root, {}, "gsh-tui", VARIABLE).source()
    if as_json:
        result_json({"shell": shell, "script": script})
    else:
        result(script)
    return 0
