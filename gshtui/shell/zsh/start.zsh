# Everything that exists from the first prompt on: the options, the hooks as stubs, the keys. Sourced by gsh.plugin.zsh.
#
# Everything here is parsed under `emulate -R zsh`, and zsh restores those options whenever the functions run.

typeset -g _gsh_state=${${(M)XDG_STATE_HOME:#/*}:-$HOME/.local/state}/gsh/shell
typeset -gA _gsh_option _gsh_has
typeset -ga _gsh_ignored
typeset -g _gsh_option_stamp=
typeset -gi _gsh_open=0 _gsh_private=0
# The command that ran last, if it was reported.
typeset -g _gsh_previous=

# Reads the options that `gsh-tui` wrote for us: lines of name=value. `$(<file)` does not fork.
_gsh_read_options() {
    local line
    _gsh_option=() _gsh_ignored=()
    [[ -O $_gsh_state/options && ! -L $_gsh_state/options ]] || return 0
    for line in "${(f)$(<$_gsh_state/options)}"; do
        case $line in
            ignore=*) _gsh_ignored+=("${line#*=}") ;;
            [a-z_]##=*) _gsh_option[${line%%=*}]=${line#*=} ;;
        esac
    done
}

# Loads the rest once there is something to report. It redefines these hooks.
_gsh_load() {
    builtin trap - DEBUG  # yours is not for this
    builtin source $_gsh_home/zsh/wire.zsh
    builtin source $_gsh_home/zsh/record.zsh
    _gsh_begin
}
_gsh_preexec() { builtin trap - DEBUG; _gsh_load; _gsh_preexec "$@" }
_gsh_zshaddhistory() { builtin trap - DEBUG; [[ $1 != '#'* ]] || { _gsh_load; _gsh_zshaddhistory "$@" }; return 0 }
_gsh_precmd() { : }
_gsh_chpwd() { : }
_gsh_zshexit() { : }

# Puts our hooks in place, each once: the hook that stops the clock goes first, the one that starts it last.
_gsh_hook() {
    typeset -ga precmd_functions preexec_functions chpwd_functions zshexit_functions zshaddhistory_functions
    precmd_functions=(_gsh_precmd ${precmd_functions:#_gsh_precmd})
    preexec_functions=(${preexec_functions:#_gsh_preexec} _gsh_preexec)
    chpwd_functions=(${chpwd_functions:#_gsh_chpwd} _gsh_chpwd)
    zshexit_functions=(${zshexit_functions:#_gsh_zshexit} _gsh_zshexit)
    zshaddhistory_functions=(${zshaddhistory_functions:#_gsh_zshaddhistory} _gsh_zshaddhistory)
}

# Once, when every plugin has been loaded and before the first prompt.
_gsh_suggest_start() {
    builtin trap - DEBUG
    precmd_functions=(${precmd_functions:#_gsh_suggest_start})
    [[ -o zle && ${_gsh_option[suggestions]-} != no && $TERM != dumb ]] || return 0
    builtin emulate -R zsh -o no_aliases -o extended_glob -o no_xtrace -o local_traps \
        -c 'builtin source $_gsh_home/zsh/suggest.zsh'
}

_gsh_read_options
_gsh_hook
precmd_functions+=(_gsh_suggest_start)
builtin source $_gsh_home/zsh/keys.zsh
# Tells `gsh-tui shell status`, which this shell runs, that the plugin is here.
builtin export GSH_SHELL_STATE="$$ loaded"
