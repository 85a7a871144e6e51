# What gets reported about a shell: its start, commands, folders, remarks, its end. Sourced by start.bash.
#
# Called by the hooks, which have put bash's own options in place. Results are in _gsh_reply.

# Once, before the first line. Starts processes: a subshell that creates the file, private to you, and `tty`.
_gsh_begin() {
    builtin local _gsh_data _gsh_part _gsh_host _gsh_pane _gsh_server _gsh_cwd _gsh_parent
    _gsh_data=${XDG_DATA_HOME-}
    [[ $_gsh_data == /* ]] || _gsh_data=${HOME:-~}/.local/share
    _gsh_now
    _gsh_shell=$$-$_gsh_reply-$RANDOM$RANDOM
    _gsh_read_options
    _gsh_part=$_gsh_data
    while [[ ! -e $_gsh_part && $_gsh_part == /*/* ]]; do _gsh_part=${_gsh_part%/*}; done
    # somebody else's home: sudo, su
    [[ -O $_gsh_part && -w $_gsh_part ]] || { _gsh_state_is folder; builtin return 0; }
    _gsh_data+=/gsh/spool
    (builtin umask 077 && { [[ -d $_gsh_data ]] || builtin command mkdir -p "$_gsh_data"; } \
        && [[ -O $_gsh_data && ! -L $_gsh_data ]] && : >|"$_gsh_data/$_gsh_shell.jsonl" \
        && : >|"$_gsh_data/.$_gsh_shell.line") 2>/dev/null || { _gsh_state_is folder; builtin return 0; }
    _gsh_spool=$_gsh_data/$_gsh_shell.jsonl _gsh_last=$_gsh_data/.$_gsh_shell.line
    _gsh_json "${HOSTNAME-}" 300; _gsh_host=$_gsh_reply
    _gsh_json "${TMUX:+${TMUX_PANE-}}" 100; _gsh_pane=$_gsh_reply
    _gsh_json "${TMUX%%,*}" 1000; _gsh_server=$_gsh_reply
    _gsh_json "${PWD-}" 4096; _gsh_cwd=$_gsh_reply
    _gsh_json "${GSH_SHELL_ID-}" 100; _gsh_parent=$_gsh_reply
    _gsh_tty=$(builtin command tty 2>/dev/null); _gsh_json "$_gsh_tty" 200; _gsh_tty=$_gsh_reply
    builtin export GSH_SHELL_ID="$_gsh_shell"
    _gsh_line ShellStarted "\"pid\":$$,\"program\":\"bash\",\"version\":\"${BASH_VERSION%%(*}\",\"tty\":$_gsh_tty,\"pane\":$_gsh_pane,\"socket\":$_gsh_server,\"host\":$_gsh_host,\"cwd\":$_gsh_cwd,\"parent\":$_gsh_parent"
}

# The number of the last line in the history, 0 if there is none; that line, in _gsh_entry.
_gsh_last_event() {
    builtin local LC_ALL=C HISTTIMEFORMAT='' 2>/dev/null
    _gsh_reply=0 _gsh_entry=''
    [[ -n $_gsh_last ]] || builtin return 0
    builtin local _gsh_event
    _gsh_listed history 1
    _gsh_entry=${_gsh_reply#"${_gsh_reply%%[! ]*}"}
    _gsh_event=${_gsh_entry%%[!0-9]*}
    if [[ -n ${HISTTIMEFORMAT-} ]]; then  # it is read-only, so the time stands before the line
        _gsh_listed fc -l "$_gsh_event" "$_gsh_event"
        _gsh_entry=${_gsh_reply##*"$_gsh_event"$'\t'?}
    else
        _gsh_entry=${_gsh_entry#"$_gsh_event"[* ]} _gsh_entry=${_gsh_entry# }
    fi
    _gsh_reply=${_gsh_event:-0}
}
# The typed line; empty if it is not in the history.
_gsh_typed() {
    _gsh_fresh=''
    _gsh_last_event
    if ((_gsh_reply == 0)); then
        _gsh_reply=''
    elif ((_gsh_reply != _gsh_history)); then
        _gsh_history=$_gsh_reply _gsh_fresh=1 _gsh_reply=$_gsh_entry
    elif [[ ${HISTCONTROL-} == *ignore[bs]* ]] && { [[ ${HISTCONTROL-} != *dups* && ${HISTCONTROL-} != *both* ]] || ! _gsh_begins "$1"; }; then
        _gsh_reply=''  # a line that the history may not have, as it begins with a space
    elif ((_gsh_number)); then
        _gsh_reply=$_gsh_entry  # the same line again, which the history holds once
    else
        _gsh_reply=''
    fi
}
# Whether the line in _gsh_entry begins with this command, which bash says without aliases and superfluous spaces.
_gsh_begins() {
    builtin local _gsh_squeezed="$_gsh_entry" _gsh_first_word="${_gsh_entry%%[[:space:]]*}"
    while [[ $_gsh_squeezed == *'  '* ]]; do _gsh_squeezed=${_gsh_squeezed//  / }; done
    [[ $_gsh_squeezed != "$1"* ]] || builtin return 0
    [[ -n $_gsh_first_word && -z ${_gsh_first_word//[A-Za-z0-9_-]/} && -n ${BASH_ALIASES[$_gsh_first_word]-} ]] || builtin return 1
    [[ "${BASH_ALIASES[$_gsh_first_word]}${_gsh_squeezed#"$_gsh_first_word"}" == "$1"* ]]
}
# What a builtin says. It is read from a file of ours, so that nothing forks.
_gsh_listed() {
    _gsh_reply=''
    builtin "$@" 2>/dev/null >|"$_gsh_last"
    IFS= builtin read -r -d '' _gsh_reply <"$_gsh_last"
    : >|"$_gsh_last"
    # On a full disk there is no other way than a fork.
    [[ -n $_gsh_reply ]] || ((${HISTCMD-1} <= 1)) || _gsh_reply=$(builtin "$@" 2>/dev/null)
    _gsh_reply=${_gsh_reply%$'\n'}
}

_gsh_kept() {
    builtin local _gsh_pattern
    [[ -n $1 && $1 != [[:space:]]* && ! -e $_gsh_state/paused && $1 != gsh[[:space:]]*run[[:space:]]*--[[:space:]]* ]] \
        || builtin return 1
    for _gsh_pattern in ${_gsh_ignored[@]+"${_gsh_ignored[@]}"}; do
        # shellcheck disable=SC2053  # it is a pattern
        [[ $1 != $_gsh_pattern ]] || builtin return 1
    done
}

# A command is about to run.
_gsh_started() {
    [[ -n $_gsh_shell ]] || _gsh_begin
    _gsh_open=''
    _gsh_typed "$1"
    _gsh_report "$_gsh_reply"
}

# Reports that this line begins.
_gsh_report() {
    builtin local _gsh_command _gsh_more=''
    ((++_gsh_number))  # also for one that nobody may know, so that what it printed is taken for nobody's
    _gsh_kept "$1" || builtin return 0
    _gsh_json "$1" 16000; _gsh_command=$_gsh_reply
    ((${#_gsh_command} <= 40000)) || { _gsh_json "$1" 5000; _gsh_command=$_gsh_reply; }
    ((_gsh_cut == 0)) || _gsh_more=",\"cut\":$_gsh_cut"
    _gsh_json "${PWD-}" 4096
    _gsh_folder=${PWD-} _gsh_open=1
    _gsh_line ShellCommandStarted "\"number\":$_gsh_number,\"command\":$_gsh_command,\"cwd\":$_gsh_reply,\"pid\":$$,\"tty\":$_gsh_tty${TMUX:+,\"pane\":\"${TMUX_PANE//[^%0-9]/}\"}$_gsh_more"
    _gsh_now; _gsh_began=$_gsh_reply
}

# The prompt is about to appear. The arguments: the status of the last command, and those of its pipeline.
_gsh_ended() {
    builtin local _gsh_took _gsh_cwd _gsh_status="$1" _gsh_pipes
    builtin shift
    builtin printf -v _gsh_pipes ',%s' "$@"
    if [[ -z $_gsh_open ]]; then
        [[ -n $_gsh_shell ]] || ((${HISTCMD-1} - 1 <= _gsh_history)) || _gsh_begin
        [[ -n $_gsh_shell ]] || builtin return 0
        _gsh_typed ''
        [[ -n $_gsh_fresh ]] || { _gsh_number+=_gsh_armed; builtin return 0; }
        # bash announces no command that is a subshell, defines a function, or cannot be read. Nor any after somebody
        # else has set the trap.
        ((!_gsh_armed)) || _gsh_doubt=1
        [[ $_gsh_reply == '#'* ]] || _gsh_report "$_gsh_reply"
    fi
    if [[ -n $_gsh_open ]]; then
        _gsh_open=''
        _gsh_now
        _gsh_took=$((${_gsh_over:-$_gsh_reply} - _gsh_began)) _gsh_over=''
        ((_gsh_took >= 0)) || _gsh_took=0  # the clock was set back
        builtin printf -v _gsh_took '%d.%06d' "$((_gsh_took / 1000000))" "$((_gsh_took % 1000000))"
        _gsh_json "${PWD-}" 4096; _gsh_cwd=$_gsh_reply
        _gsh_line ShellCommandFinished "\"number\":$_gsh_number,\"exit\":$_gsh_status,\"pipestatus\":[${_gsh_pipes:1}],\"duration\":$_gsh_took,\"cwd\":$_gsh_cwd"
        if [[ ${PWD-} != "$_gsh_folder" ]]; then
            _gsh_json "$_gsh_folder" 4096
            _gsh_line ShellFolderChanged "\"old\":$_gsh_reply,\"new\":$_gsh_cwd"
        fi
        builtin return 0
    fi
    [[ $_gsh_reply == '#'* && ! -e $_gsh_state/paused ]] || builtin return 0
    _gsh_took=${_gsh_reply#"${_gsh_reply%%[!#]*}"}
    _gsh_json "${_gsh_took#"${_gsh_took%%[![:space:]]*}"}" 16000; _gsh_took=$_gsh_reply
    _gsh_json "${PWD-}" 4096
    _gsh_line ShellNoted "\"text\":$_gsh_took,\"cwd\":$_gsh_reply"
}

# Prints messages for this shell: an agent started here has ended.
_gsh_notices() {
    builtin local _gsh_text _gsh_file="$_gsh_state/notice-$_gsh_shell"
    [[ -O $_gsh_file && ! -L $_gsh_file && ${_gsh_option[notices]-} != no ]] || builtin return 0
    while IFS= builtin read -r _gsh_text; do builtin printf '%s\n' "${_gsh_text//[[:cntrl:]]/}"; done <"$_gsh_file"
    : >|"$_gsh_file"
}
