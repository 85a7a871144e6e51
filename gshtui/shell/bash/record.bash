# What gets reported about a shell: its start, commands, folders, remarks, its end. Sourced by gsh.bash.
#
# Owns the hooks; they never change a status, print, or end the shell.

# Once, before the first line. Only this starts a process: a subshell that creates the file, private to you.
_gsh_begin() {
    local REPLY data=$HOME/.local/share part tty host pane server cwd parent
    [[ ${XDG_DATA_HOME-} != /* ]] || data=$XDG_DATA_HOME
    _gsh_now
    _gsh_shell=$$-$REPLY-$RANDOM$RANDOM
    _gsh_read_options
    part=$data
    while [[ ! -e $part && $part == /*/* ]]; do part=${part%/*}; done
    [[ -O $part && -w $part ]] || return 0  # somebody else's home: sudo, su
    data=$data/gsh/spool
    (umask 077 && { [[ -d $data ]] || command mkdir -p "$data"; } && [[ -O $data && ! -L $data ]] \
        && : >"$data/$_gsh_shell.jsonl" && : >"$data/.$_gsh_shell.line") 2>/dev/null || return 0
    _gsh_spool=$data/$_gsh_shell.jsonl _gsh_last=$data/.$_gsh_shell.line
    _gsh_json "$HOSTNAME" 300; host=$REPLY
    _gsh_json "${TMUX:+${TMUX_PANE-}}" 100; pane=$REPLY
    _gsh_json "${TMUX%%,*}" 1000; server=$REPLY
    _gsh_json "$PWD" 4096; cwd=$REPLY
    _gsh_json "${GSH_SHELL_ID-}" 100; parent=$REPLY
    tty=$(tty 2>/dev/null); _gsh_json "$tty" 200; _gsh_tty=$REPLY
    export GSH_SHELL_ID=$_gsh_shell
    _gsh_line ShellStarted "\"pid\":$$,\"program\":\"bash\",\"version\":\"${BASH_VERSION%%(*}\",\"tty\":$_gsh_tty,\"pane\":$pane,\"socket\":$server,\"host\":$host,\"cwd\":$cwd,\"parent\":$parent"
}

# The typed line, in REPLY; empty if it is not in the history. Uses a file of ours, so that nothing forks.
_gsh_typed() {
    local LC_ALL=C entry pattern='^ *([0-9]+)[* ] ?(.*)$' number
    REPLY='' _gsh_fresh=''
    [[ -n $_gsh_last ]] || return 0
    HISTTIMEFORMAT='' builtin history 1 2>/dev/null >"$_gsh_last"
    IFS= read -r -d '' entry <"$_gsh_last"
    : >"$_gsh_last"
    # On a full disk there is no other way than a fork.
    [[ -n $entry ]] || ((HISTCMD <= 1)) || entry=$(HISTTIMEFORMAT='' builtin history 1 2>/dev/null)
    [[ ${entry%$'\n'} =~ $pattern ]] || return 0
    number=${BASH_REMATCH[1]}
    if [[ $number != "$_gsh_history" ]]; then
        _gsh_history=$number _gsh_fresh=1 REPLY=${BASH_REMATCH[2]}
    elif [[ ${BASH_REMATCH[2]} == "${1%% *}"* || $_gsh_number != 0 && ${HISTCONTROL-} != *ignorespace* && ${HISTCONTROL-} != *ignoreboth* ]]; then
        REPLY=${BASH_REMATCH[2]}  # the same line again, which the history holds once
    fi
}

_gsh_kept() {
    local pattern
    [[ -n $1 && $1 != [[:space:]]* && ! -e $_gsh_state/paused && $1 != gsh[[:space:]]*run[[:space:]]*--[[:space:]]* ]] || return 1
    for pattern in ${_gsh_ignored[@]+"${_gsh_ignored[@]}"}; do
        # shellcheck disable=SC2053  # it is a pattern
        [[ $1 != $pattern ]] || return 1
    done
}

# A command is about to run.
_gsh_started() {
    local REPLY
    [[ -n $_gsh_shell ]] || _gsh_begin
    _gsh_open=''
    _gsh_typed "$1"
    _gsh_report "$REPLY"
}

# Reports that this line begins.
_gsh_report() {
    local REPLY command cut=''
    _gsh_kept "$1" || return 0
    ((++_gsh_number))
    _gsh_json "$1" 16000; command=$REPLY
    ((${#command} <= 40000)) || { _gsh_json "$1" 5000; command=$REPLY; }
    ((_gsh_cut == 0)) || cut=",\"cut\":$_gsh_cut"
    _gsh_json "$PWD" 4096
    _gsh_folder=$PWD _gsh_open=1
    _gsh_line ShellCommandStarted "\"number\":$_gsh_number,\"command\":$command,\"cwd\":$REPLY,\"pid\":$$,\"tty\":$_gsh_tty${TMUX:+,\"pane\":\"${TMUX_PANE//[^%0-9]/}\"}$cut"
    _gsh_now; _gsh_began=$REPLY
}

# The prompt is about to appear. `$1`: the status of the last command; the rest: those of its pipeline.
_gsh_ended() {
    local REPLY took cwd status=$1 IFS=,
    shift
    if [[ -z $_gsh_open ]]; then
        [[ -n $_gsh_shell ]] || ((HISTCMD - 1 <= _gsh_history)) || _gsh_begin
        [[ -n $_gsh_shell ]] || return 0
        _gsh_typed ''
        [[ -n $_gsh_fresh ]] || return 0
        # bash announces no command that is a subshell, defines a function, or cannot be read.
        [[ $REPLY == '#'* ]] || _gsh_report "$REPLY"
    fi
    if [[ -n $_gsh_open ]]; then
        _gsh_open=''
        _gsh_now
        took=$((REPLY - _gsh_began))
        ((took >= 0)) || took=0  # the clock was set back
        printf -v took '%d.%06d' $((took / 1000000)) $((took % 1000000))
        _gsh_json "$PWD" 4096; cwd=$REPLY
        _gsh_line ShellCommandFinished "\"number\":$_gsh_number,\"exit\":$status,\"pipestatus\":[$*],\"duration\":$took,\"cwd\":$cwd"
        if [[ $PWD != "$_gsh_folder" ]]; then
            _gsh_json "$_gsh_folder" 4096
            _gsh_line ShellFolderChanged "\"old\":$REPLY,\"new\":$cwd"
        fi
        return 0
    fi
    [[ $REPLY == '#'* && ! -e $_gsh_state/paused ]] || return 0
    took=${REPLY#"${REPLY%%[!#]*}"}
    _gsh_json "${took#"${took%%[![:space:]]*}"}" 16000; took=$REPLY
    _gsh_json "$PWD" 4096
    _gsh_line ShellNoted "\"text\":$took,\"cwd\":$REPLY"
}

_gsh_left() {
    [[ -n $_gsh_shell ]] || return 0
    _gsh_line ShellEnded
    (command rm -f -- "$_gsh_last") 2>/dev/null
    return 0
}

# The hooks. `$?`, the pipeline's statuses and `$_` stay as they would be without us.
_gsh_debug() {
    [[ -n $_gsh_armed && $BASH_SUBSHELL == 0 && $BASH_COMMAND != _gsh_first* && -z ${COMP_LINE+x}${READLINE_LINE+x} ]] || return 0
    # Lines are counted on from prompt to prompt. A trap, also that of the shell's end, begins at 1, and nobody typed it.
    ((BASH_VERSINFO[0] < 5 || BASH_LINENO[0] != 1 || _gsh_lines < 1 || _gsh_number < 1)) || return 0
    _gsh_armed=''
    _gsh_started "$BASH_COMMAND" 2>/dev/null
    return 0
}
_gsh_first() {
    _gsh_armed='' _gsh_lines=${BASH_LINENO[0]}
    ((_gsh_history >= 0)) || _gsh_history=$((HISTCMD - 1))  # what is in it is from an earlier shell
    [[ ! -s $_gsh_state/notice-$_gsh_shell ]] || _gsh_notices 2>/dev/null
    _gsh_ended "$@" 2>/dev/null
    return "$1"
}

# Prints messages for this shell: an agent started here has ended.
_gsh_notices() {
    local line file=$_gsh_state/notice-$_gsh_shell
    [[ -O $file && ! -L $file && ${_gsh_option[notices]-} != no ]] || return 0
    while IFS= read -r line; do printf '%s\n' "${line//[[:cntrl:]]/}"; done <"$file"
    : >|"$file"
}

# The command of a trap, in REPLY, from the output of `trap -p`.
_gsh_trapped() {
    REPLY=${1#"trap -- '"}
    REPLY=${REPLY%"' $2"}
    REPLY=${REPLY//"'\\''"/"'"}
}

_gsh_hook() {
    if [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; then
        _gsh_bp_preexec() { _gsh_started "$1" 2>/dev/null; return 0; }
        _gsh_bp_precmd() { _gsh_first "$?" "${BP_PIPESTATUS[@]:-0}"; return 0; }
        preexec_functions+=(_gsh_bp_preexec)
        precmd_functions=(_gsh_bp_precmd ${precmd_functions[@]+"${precmd_functions[@]}"})
    else
        local REPLY
        _gsh_trapped "$(trap -p DEBUG)" DEBUG
        trap -- "_gsh_debug \"\$_\"${REPLY:+; $REPLY}" DEBUG
        # The first word must not change a status, and the last one makes the next command visible.
        local first='_gsh_first "$?" "${PIPESTATUS[@]}"' last="_gsh_armed=1"
        # Before 5.1 only the first element of a list is run.
        if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)) && [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
            PROMPT_COMMAND=("$first" "${PROMPT_COMMAND[@]}" "$last")
        else
            PROMPT_COMMAND="$first${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}"$'\n'"$last"
        fi
    fi
    local REPLY
    _gsh_trapped "$(trap -p EXIT)" EXIT
    trap -- "_gsh_left${REPLY:+; $REPLY}" EXIT
}
