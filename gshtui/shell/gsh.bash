# The bash plugin of gsh-tui: it reports your commands to the workbench, and `gsh` asks an agent at the prompt.
#
# Load it from ~/.bashrc (`gsh-tui shell install bash` adds the line). It refuses scripts, restricted shells and bash
# before 4.4. bash cannot use a Unix socket, so the lines go into the spool, without a fork, and the window reads them
# from there. Your own traps, aliases, options and variables do not reach it, and keep working.

if [[ $- == *i* ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    _gsh_home=${BASH_SOURCE[0]%/*} _gsh_aliases=:$BASHOPTS:
    [[ $_gsh_home == /* ]] || _gsh_home=$PWD/$_gsh_home
    # Where its line says so: on in a quiet tmux, off whose pane outputs are read. Without one, on as it is.
    if [[ -n ${GSH_IN_TMUX-} && -z ${TMUX-} && -t 0 && -t 1 && ${TERM:-dumb} != dumb ]] &&
        'builtin' 'type' '-P' tmux >/dev/null; then
        if 'builtin' 'command' tmux -L gsh-shell-$$ -f "$_gsh_home/quiet.tmux" new-session 'exec bash'; then
            'builtin' 'command' rm -f -- "${TMUX_TMPDIR:-/tmp}/tmux-$UID/gsh-shell-$$"
            'builtin' 'exit'
        fi
    fi
    'builtin' 'shopt' '-u' 'expand_aliases'  # what is read now is ours
    'builtin' 'source' "$_gsh_home/bash/start.bash" || \:
    [[ $_gsh_aliases != *:expand_aliases:* ]] || 'builtin' 'shopt' '-s' 'expand_aliases'
fi
