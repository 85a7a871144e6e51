# The zsh plugin of gsh-tui: it reports your commands to the workbench, and `gsh` asks an agent at the prompt.
#
# Load it from ~/.zshrc (`gsh-tui shell install` adds the line) or by any plugin manager. It only defines a few
# functions; the rest is read when the first command runs. It refuses scripts, zsh before 5.0, and users who do not
# own the files. Nothing below depends on your own options, aliases or arrays.

if [[ -o interactive && $ZSH_VERSION != [0-4].* ]]; then
    'builtin' 'typeset' '-g' _gsh_home="${${(%):-%x}:A:h}"
    # Where its line says so: on in a quiet tmux, off whose pane outputs are read. Without one, on as it is.
    if [[ -n ${GSH_IN_TMUX-} && -z ${TMUX-} && -n ${TERM-} && ${TERM-} != dumb ]] &&
        [[ -t 0 && -t 1 && -n ${commands[tmux]-} ]]; then
        if 'command' tmux -L gsh-shell-$$ -f "$_gsh_home/quiet.tmux" \
            new-session "exec zsh${${options[login]:#off}:+ -l}"; then
            'command' rm -f -- "${TMUX_TMPDIR:-/tmp}/tmux-$UID/gsh-shell-$$"
            'builtin' 'exit'
        fi
    fi
    'builtin' 'emulate' '-R' 'zsh' '-o' 'no_aliases' '-o' 'extended_glob' '-o' 'no_multibyte' '-o' 'no_xtrace' \
        '-o' 'local_traps' '-c' 'builtin source "$_gsh_home/zsh/start.zsh"'
fi
