# Where the plugin hears of commands: PROMPT_COMMAND and the DEBUG trap, or the lists of bash-preexec. Sourced by start.bash.
#
# Hooks never change a status or `$_`, print, or end the shell, whatever options and traps you have: what runs outside
# a function of ours is an `&&` list, which neither `set -e` nor an ERR trap sees, its traces are thrown away, and no
# RETURN trap is inherited. A hook that somebody has replaced is put back.

# The texts that stand in PROMPT_COMMAND and in the traps. Naming the file of the redirection marks what runs as ours before
# any of it does, since your own DEBUG trap is not called for it.
_gsh_nowhere=(/dev/null)
_gsh_before='{ _gsh_statuses=("$?" "${PIPESTATUS[@]}"); _gsh_trace=${-//[!T]}; builtin set +T; _gsh_first && :; case $_gsh_doubt in 1) _gsh_traps=$(builtin trap -p DEBUG EXIT); _gsh_hook_traps && : ;; esac; case $_gsh_trace in T) builtin set -T ;; esac; _gsh_ours=; } 2>"${_gsh_nowhere[(_gsh_ours=1)-1]}"'
_gsh_after='{ _gsh_armed=1 _gsh_ours=; } 2>"${_gsh_nowhere[(_gsh_ours=1)-1]}"'
# It does something at the first command of a line, at the first one of a prompt, and when PROMPT_COMMAND is not ours any more.
_gsh_trap='{ case ${_gsh_armed-0}:${HISTCMD-}:${PROMPT_COMMAND[*]-} in 0:${_gsh_runs-}:*_gsh_first*) ;; *) case ${_gsh_ours-}$BASH_COMMAND in 1* | _gsh_*) ;; *) _gsh_word=$_; case $- in *T*) builtin set +T; _gsh_debug && :; builtin set -T ;; *) _gsh_debug && : ;; esac; : "$_gsh_word" ;; esac ;; esac; } 2>/dev/null'
# Around your own DEBUG trap, which comes first so that it sees everything as without us; its status says whether a command is run.
_gsh_trap_head='case ${_gsh_ours-}$BASH_COMMAND in 1* | _gsh_*) ;; *)'
_gsh_trap_tail='{ _gsh_answer=$? _gsh_yours=$_; } 2>/dev/null
'$_gsh_trap'
{ case $_gsh_answer in 0) : "$_gsh_yours" ;; *) case $- in *T*) : "$_gsh_yours"; (builtin exit "$_gsh_answer") 2>"${_gsh_nowhere[(_gsh_ours=1)-1]}" && : ;; *) _gsh_return "$_gsh_answer" "$_gsh_yours" && : ;; esac ;; esac; } 2>/dev/null ;; esac'
# Gives the next command the status in _gsh_statuses: by a subshell where a RETURN trap would hear of a function.
_gsh_restore='{ case $- in *T*) _gsh_ours=; (builtin exit "$_gsh_statuses") 2>"${_gsh_nowhere[(_gsh_ours=1)-1]}" && : ;; *) _gsh_return "$_gsh_statuses" && : ;; esac; } 2>"${_gsh_nowhere[(_gsh_ours=1)-1]}"'
_gsh_leave='{ _gsh_statuses=("$?"); case $- in *T*) builtin set +T; _gsh_left && :; builtin set -T ;; *) _gsh_left && : ;; esac; _gsh_ours=; } 2>"${_gsh_nowhere[(_gsh_ours=1)-1]}"'
# From 5.1 on PROMPT_COMMAND is a list, each of whose texts sees the statuses of the command.
_gsh_lists=$((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501))

# Tells `gsh-tui shell status`, which this shell runs, how the plugin does.
_gsh_state_is() { builtin export GSH_SHELL_STATE="$$ $1"; }
_gsh_return() { _gsh_ours=; builtin return "$1"; }  # its last argument becomes `$_`

# At each prompt.
_gsh_first() {
    builtin local -
    builtin set +aefkuxET
    [[ $- != *r* ]] || builtin return 0
    _gsh_lines=${BASH_LINENO[0]}
    ((_gsh_history >= 0)) || _gsh_history=$((${HISTCMD-1} - 1))  # what is in it is from an earlier shell
    [[ ! -s $_gsh_state/notice-$_gsh_shell ]] || _gsh_notices
    _gsh_ended "${_gsh_statuses[@]}"
    _gsh_armed=0
    if _gsh_by_preexec; then _gsh_join_preexec; else _gsh_hook_prompt; fi
    builtin return 0
}
_gsh_by_preexec() { [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; }

# Before a command.
_gsh_debug() {
    _gsh_statuses=("$?" "${PIPESTATUS[@]}")
    builtin local _gsh_command="$BASH_COMMAND" _gsh_entry _gsh_armed_before="$_gsh_armed"
    builtin local -
    builtin set +aefkuxET
    [[ $- != *r* && $BASH_SUBSHELL == 0 && -z ${COMP_LINE+x}${READLINE_LINE+x} ]] || builtin return 0
    # Lines are counted on from prompt to prompt. A trap, also that of the shell's end, begins at 1, and nobody typed it.
    ((BASH_VERSINFO[0] < 5 || BASH_LINENO[0] != 1 || _gsh_lines < 1 || _gsh_number < 1)) || builtin return 0
    if [[ ${PROMPT_COMMAND[*]-} != *_gsh_first* ]] && ! _gsh_by_preexec; then
        _gsh_hook_prompt || builtin return 0
        _gsh_armed_before=1
    fi
    # While a command runs, HISTCMD is its own number; at a prompt it is the next one's.
    _gsh_runs=${HISTCMD-}
    ((_gsh_armed_before)) || { _gsh_now; _gsh_over=$_gsh_reply; builtin return 0; }
    [[ -n $_gsh_shell ]] || _gsh_begin
    _gsh_last_event
    if ((${HISTCMD-1} > _gsh_reply)); then
        ((_gsh_history >= 0)) || _gsh_history=$_gsh_reply
        [[ -z $_gsh_open ]] || _gsh_ended "${_gsh_statuses[@]}"
        _gsh_armed=1
        builtin return 0
    fi
    _gsh_armed=0
    ((_gsh_history >= 0)) || _gsh_history=$((_gsh_reply - 1))
    if [[ -n $_gsh_open ]] && ((_gsh_history != _gsh_reply)); then
        # Its end was not heard at its prompt: this is the first moment that tells its status, but not when it was.
        _gsh_over=$_gsh_began
        _gsh_ended "${_gsh_statuses[@]}"
    fi
    if [[ ! -o history || ${HISTSIZE-} == 0 ]]; then
        _gsh_state_is history
    elif [[ ${GSH_SHELL_STATE-} == *history ]]; then
        _gsh_state_is loaded
    fi
    _gsh_started "$_gsh_command"
    [[ $_gsh_entry != *trap* ]] || _gsh_doubt=1
    _gsh_over=''
    builtin return 0
}

_gsh_left() {
    builtin local -
    builtin set +aefkuxET
    [[ -n $_gsh_shell && $BASH_SUBSHELL == 0 && $- != *r* ]] || builtin return 0
    _gsh_line ShellEnded
    (builtin command rm -f -- "$_gsh_last") 2>/dev/null
    builtin return 0
}

# Puts our texts into PROMPT_COMMAND, unless they are where they belong. Fails if that cannot be.
_gsh_hook_prompt() {
    builtin local _gsh_at
    if [[ ${PROMPT_COMMAND@a} == *r* ]]; then
        [[ ${PROMPT_COMMAND[*]-} != *_gsh_first* ]] || builtin return 0
        _gsh_state_is readonly
        builtin return 1
    fi
    if ((_gsh_lists)); then
        # Behind yours: then what you set is the first text, and all of them are as you wrote them.
        [[ ${#PROMPT_COMMAND[@]} == 0 || ${PROMPT_COMMAND[-1]} != "$_gsh_before; $_gsh_after" ]] || builtin return 0
        for _gsh_at in "${!PROMPT_COMMAND[@]}"; do
            _gsh_strip "${PROMPT_COMMAND[_gsh_at]}"
            PROMPT_COMMAND[_gsh_at]=$_gsh_reply
        done
        if ((${#PROMPT_COMMAND[@]} == 0)); then PROMPT_COMMAND=''; fi
        PROMPT_COMMAND+=("$_gsh_before; $_gsh_after")
    else
        [[ ${PROMPT_COMMAND-} != "$_gsh_before"*$'\n'"$_gsh_after" ]] || builtin return 0
        _gsh_strip "${PROMPT_COMMAND-}"
        [[ -z $_gsh_reply ]] || _gsh_reply=$'\n'$_gsh_restore$'\n'$_gsh_reply
        PROMPT_COMMAND=$_gsh_before$_gsh_reply$'\n'$_gsh_after
    fi
    builtin return 0
}
# What of a text in PROMPT_COMMAND is not ours, in _gsh_reply.
_gsh_strip() {
    _gsh_reply=${1//"$_gsh_before"/:}
    _gsh_reply=${_gsh_reply//"$_gsh_after"/:}
    _gsh_reply=${_gsh_reply//"$_gsh_restore"/:}
    while [[ $_gsh_reply == :$'\n'* ]]; do _gsh_reply=${_gsh_reply#:$'\n'}; done
    while [[ $_gsh_reply == *$'\n': ]]; do _gsh_reply=${_gsh_reply%$'\n':}; done
    [[ $_gsh_reply != : && $_gsh_reply != ': ; :' && $_gsh_reply != ':; :' ]] || _gsh_reply=''
}

# The command of a trap, in _gsh_reply, from the output of `trap -p`; empty where there is none.
_gsh_trapped() {
    _gsh_reply=''
    [[ $1 == *"trap -- '"*"' $2" ]] || builtin return 0
    _gsh_reply=${1#*"trap -- '"}
    _gsh_reply=${_gsh_reply%"' $2"}
    _gsh_reply=${_gsh_reply//"'\\''"/"'"}
}

# Puts our texts into the traps; _gsh_traps has them as `trap -p DEBUG EXIT` says them. Only a prompt can tell: a file that
# is sourced sees no DEBUG trap.
_gsh_hook_traps() {
    builtin local -
    builtin set +aefkuxET
    builtin local _gsh_debugs="$_gsh_traps" _gsh_exits=''
    [[ $- != *r* ]] || builtin return 0
    _gsh_doubt=''
    if [[ $_gsh_traps == "trap -- '"*"' DEBUG"$'\n'"trap -- '"*"' EXIT" ]]; then
        _gsh_debugs=${_gsh_traps%$'\n'"trap -- '"*} _gsh_exits=${_gsh_traps#"$_gsh_debugs"$'\n'}
    elif [[ $_gsh_traps == *"' EXIT" ]]; then
        _gsh_debugs='' _gsh_exits=$_gsh_traps
    fi
    _gsh_trapped "$_gsh_exits" EXIT
    [[ $_gsh_reply == *_gsh_left* ]] || builtin trap -- "$_gsh_leave${_gsh_reply:+; $_gsh_restore; $_gsh_reply}" EXIT
    ! _gsh_by_preexec || builtin return 0
    _gsh_trapped "$_gsh_debugs" DEBUG
    if [[ -z $_gsh_reply ]]; then
        builtin trap -- "$_gsh_trap" DEBUG
    elif [[ $_gsh_reply != *_gsh_debug* ]]; then
        builtin trap -- "$_gsh_trap_head"$'\n'"$_gsh_reply"$'\n'"$_gsh_trap_tail" DEBUG
    fi
    builtin return 0
}

# With bash-preexec, which calls these lists: its hooks are used, and ours go.
_gsh_join_preexec() {
    builtin local _gsh_at
    [[ ${precmd_functions[*]-} != *_gsh_bp_precmd* ]] || builtin return 0
    preexec_functions+=(_gsh_bp_preexec)
    precmd_functions=(_gsh_bp_precmd ${precmd_functions[@]+"${precmd_functions[@]}"})
    for _gsh_at in "${!PROMPT_COMMAND[@]}"; do
        _gsh_strip "${PROMPT_COMMAND[_gsh_at]}"
        if [[ -n $_gsh_reply || $_gsh_at == 0 ]]; then PROMPT_COMMAND[_gsh_at]=$_gsh_reply; else builtin unset "PROMPT_COMMAND[$_gsh_at]"; fi
    done
}
_gsh_bp_preexec() {
    builtin local -
    builtin set +aefkuxET
    _gsh_over=''
    _gsh_started "$1" 2>/dev/null
    builtin return 0
}
_gsh_bp_precmd() {
    _gsh_statuses=("$?" "${BP_PIPESTATUS[@]:-0}")
    builtin local -
    builtin set +aefkuxET
    _gsh_first 2>/dev/null
    builtin return 0
}

_gsh_hook() {
    builtin local -
    builtin set +aefkuxET
    if builtin shopt -q restricted_shell || [[ $- == *r* ]]; then
        _gsh_state_is restricted
        builtin return 0
    fi
    _gsh_state_is loaded
    if _gsh_by_preexec; then _gsh_join_preexec; else _gsh_hook_prompt; fi
    _gsh_doubt=1
    builtin return 0
}
