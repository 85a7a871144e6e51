# The bash plugin of gsh-tui: what you run is told to the workbench, and `gsh` asks an agent at the prompt.
#
# Load it from ~/.bashrc (`gsh-tui shell install bash` adds the line), behind bash-preexec if you use that: then its
# hooks are used. It refuses scripts and bash before 4.4. bash cannot speak to a Unix socket, so the lines go into the
# spool, without a fork, and the window takes them in from there. A trap of yours on DEBUG or EXIT goes on.

if [[ $- == *i* ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) && [[ -z ${_gsh_home-} ]]; then

_gsh_home=${BASH_SOURCE[0]%/*}
[[ $_gsh_home == /* ]] || _gsh_home=$PWD/$_gsh_home
_gsh_state=$HOME/.local/state/gsh/shell
[[ ${XDG_STATE_HOME-} != /* ]] || _gsh_state=$XDG_STATE_HOME/gsh/shell
_gsh_shell='' _gsh_spool='' _gsh_armed='' _gsh_open='' _gsh_last='' _gsh_folder=$PWD
_gsh_number=0 _gsh_seq=0 _gsh_history=-1
_gsh_ignored=()
declare -A _gsh_option=()

_gsh_read_options() {
    local line
    _gsh_ignored=()
    [[ -O $_gsh_state/options && ! -L $_gsh_state/options ]] || return 0
    while IFS= read -r line; do
        case $line in
            ignore_plain=*) _gsh_ignored+=("${line#*=}") ;;
            *=*) _gsh_option[${line%%=*}]=${line#*=} ;;
        esac
    done <"$_gsh_state/options"
}

# Microseconds since the epoch, in REPLY.
_gsh_now() {
    if [[ -n ${EPOCHREALTIME-} ]]; then
        REPLY=${EPOCHREALTIME/[.,]/}
    else
        printf -v REPLY '%(%s)T000000' -1
    fi
}

# A text of at most about `$2` bytes as a JSON string, in REPLY; the bytes that were left out, in _gsh_cut.
_gsh_json() {
    local LC_ALL=C s=$1 t code shown byte=$'[\x80-\xbf]'
    _gsh_cut=0
    if ((${#s} > $2)); then
        s=${s:0:$2}
        while [[ ${1:${#s}:1} == $byte && -n $s ]]; do s=${s:0:${#s}-1}; done
        _gsh_cut=$((${#1} - ${#s}))
    fi
    if [[ $s == *[$'\x80'-$'\xff']* ]]; then
        t=${s//[$'\xf1'-$'\xf3']$byte$byte$byte/ }
        t=${t//$'\xf0'[$'\x90'-$'\xbf']$byte$byte/ }
        t=${t//$'\xf4'[$'\x80'-$'\x8f']$byte$byte/ }
        t=${t//[$'\xe1'-$'\xec\xee\xef']$byte$byte/ }
        t=${t//$'\xe0'[$'\xa0'-$'\xbf']$byte/ }
        t=${t//$'\xed'[$'\x80'-$'\x9f']$byte/ }
        t=${t//[$'\xc2'-$'\xdf']$byte/ }
        [[ $t != *[$'\x80'-$'\xff']* ]] || _gsh_mended
    fi
    s=${s//\\/\\\\}
    s=${s//\"/\\\"}
    if [[ $s == *[$'\x01'-$'\x1f']* ]]; then
        s=${s//$'\n'/\\n}
        s=${s//$'\t'/\\t}
        for ((code = 1; code < 32; code++)); do
            printf -v shown '\\x%02x' $code
            printf -v t '%b' "$shown"
            [[ $s != *"$t"* ]] || { printf -v shown '\\u%04x' $code; s=${s//"$t"/"$shown"}; }
        done
    fi
    REPLY=\"$s\"
}

# What is no UTF-8 in `s` becomes U+FFFD; in a long text whatever is not ASCII does: bash is too slow to tell byte from byte.
_gsh_mended() {
    local LC_ALL=C rest=$s bad=$'\xef\xbf\xbd' plain
    if ((${#s} > 2000)); then
        s=${s//[$'\x80'-$'\xff']/$bad}
        return
    fi
    s=''
    while [[ $rest == *[$'\x80'-$'\xff']* ]]; do
        plain=${rest%%[$'\x80'-$'\xff']*}
        rest=${rest:${#plain}}
        case $rest in
            [$'\xf1'-$'\xf3']$byte$byte$byte* | $'\xf0'[$'\x90'-$'\xbf']$byte$byte* | $'\xf4'[$'\x80'-$'\x8f']$byte$byte*) t=4 ;;
            [$'\xe1'-$'\xec\xee\xef']$byte$byte* | $'\xe0'[$'\xa0'-$'\xbf']$byte* | $'\xed'[$'\x80'-$'\x9f']$byte*) t=3 ;;
            [$'\xc2'-$'\xdf']$byte*) t=2 ;;
            *) s+=$plain$bad rest=${rest:1}; continue ;;
        esac
        s+=$plain${rest:0:t} rest=${rest:t}
    done
    s+=$rest
}

# A line into the spool: the type of the event and its fields.
_gsh_line() {
    [[ -n $_gsh_spool ]] || return 0
    local REPLY
    _gsh_now
    ((++_gsh_seq))
    printf '{"v":1,"type":"%s","at":%s.%s,"shell":"%s"%s,"seq":%d}\n' "$1" "${REPLY:0:-6}" "${REPLY: -6}" "$_gsh_shell" \
        "${2:+,$2}" "$_gsh_seq" >>"$_gsh_spool" 2>/dev/null
    return 0
}

# Once, before the first line. This alone starts something: a subshell that makes the file, for you alone.
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

# The line that was typed, in REPLY; empty when it is not in the history. No fork: by way of a file of ours.
_gsh_typed() {
    local LC_ALL=C entry pattern='^ *([0-9]+)[* ] ?(.*)$' number
    REPLY='' _gsh_fresh=''
    [[ -n $_gsh_last ]] || return 0
    HISTTIMEFORMAT='' builtin history 1 >"$_gsh_last" 2>/dev/null || return 0
    IFS= read -r -d '' entry <"$_gsh_last"
    : >"$_gsh_last"
    [[ ${entry%$'\n'} =~ $pattern ]] || return 0
    number=${BASH_REMATCH[1]}
    if [[ $number != "$_gsh_history" ]]; then
        _gsh_history=$number _gsh_fresh=1 REPLY=${BASH_REMATCH[2]}
    elif [[ ${HISTCONTROL-} != *ignorespace* && ${HISTCONTROL-} != *ignoreboth* || ${BASH_REMATCH[2]} == "${1%% *}"* ]]; then
        REPLY=${BASH_REMATCH[2]}  # the same line once more, which the history holds once
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
    local REPLY typed command cut=''
    [[ -n $_gsh_shell ]] || _gsh_begin
    _gsh_open=''
    _gsh_typed "$1"; typed=$REPLY
    _gsh_kept "$typed" || return 0
    ((++_gsh_number))
    _gsh_json "$typed" 16000; command=$REPLY
    ((${#command} <= 40000)) || { _gsh_json "$typed" 5000; command=$REPLY; }
    ((_gsh_cut == 0)) || cut=",\"cut\":$_gsh_cut"
    _gsh_json "$PWD" 4096
    _gsh_folder=$PWD _gsh_open=1
    _gsh_line ShellCommandStarted "\"number\":$_gsh_number,\"command\":$command,\"cwd\":$REPLY,\"pid\":$$,\"tty\":$_gsh_tty${TMUX:+,\"pane\":\"${TMUX_PANE//[^%0-9]/}\"}$cut"
    _gsh_now; _gsh_began=$REPLY
}

# The prompt is about to be shown. `$1`: the status of the last command; the rest: those of its pipeline.
_gsh_ended() {
    local REPLY took cwd status=$1 IFS=,
    shift
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
    [[ -n $_gsh_shell ]] || return 0
    _gsh_typed ''
    [[ -n $_gsh_fresh && $REPLY == '#'* && ! -e $_gsh_state/paused ]] || return 0
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

# The hooks. `$?`, the pipeline's statuses and `$_` are as they would be without us.
_gsh_debug() {
    [[ -n $_gsh_armed && $BASH_SUBSHELL == 0 && $BASH_COMMAND != _gsh_first* && -z ${COMP_LINE+x}${READLINE_LINE+x} ]] || return 0
    _gsh_armed=''
    _gsh_started "$BASH_COMMAND" 2>/dev/null
    return 0
}
_gsh_first() {
    _gsh_armed=''
    [[ ! -s $_gsh_state/notice-$_gsh_shell ]] || _gsh_notices 2>/dev/null
    _gsh_ended "$@" 2>/dev/null
    return "$1"
}

# Words for this shell: an agent that was started here has ended.
_gsh_notices() {
    local line file=$_gsh_state/notice-$_gsh_shell
    [[ -O $file && ! -L $file && ${_gsh_option[notices]-} != no ]] || return 0
    while IFS= read -r line; do printf '%s\n' "${line//[[:cntrl:]]/}"; done <"$file"
    : >|"$file"
}

_gsh_hook() {
    if [[ -n ${bash_preexec_imported-}${__bp_imported-} ]]; then
        _gsh_bp_preexec() { _gsh_started "$1" 2>/dev/null; return 0; }
        _gsh_bp_precmd() { _gsh_first "$?" "${BP_PIPESTATUS[@]:-0}"; return 0; }
        preexec_functions+=(_gsh_bp_preexec)
        precmd_functions=(_gsh_bp_precmd ${precmd_functions[@]+"${precmd_functions[@]}"})
    else
        local yours
        yours=$(trap -p DEBUG)
        yours=${yours#"trap -- '"}
        yours=${yours%"' DEBUG"}
        yours=${yours//"'\\''"/"'"}
        trap -- "_gsh_debug \"\$_\"${yours:+; $yours}" DEBUG
        # The first word of all must not change a status, and the last one lets the next command be seen.
        local first='_gsh_first "$?" "${PIPESTATUS[@]}"' last="_gsh_armed=1"
        if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
            PROMPT_COMMAND=("$first" "${PROMPT_COMMAND[@]}" "$last")
        else
            PROMPT_COMMAND="$first${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}"$'\n'"$last"
        fi
    fi
    local ending
    ending=$(trap -p EXIT)
    ending=${ending#"trap -- '"}
    ending=${ending%"' EXIT"}
    ending=${ending//"'\\''"/"'"}
    trap -- "_gsh_left${ending:+; $ending}" EXIT
}

# The program, in REPLY.
_gsh_find() {
    local place
    for place in "${GSH_TUI-}" "$(type -P gsh-tui)" "$_gsh_home/../../.venv/bin/gsh-tui" "$_gsh_home/../../../../../bin/gsh-tui"; do
        [[ -n $place && -x $place && ! -d $place ]] && { REPLY=$place; return 0; }
    done
    printf 'gsh: gsh-tui was not found; set GSH_TUI to its path.\n' >&2
    return 127
}
_gsh_ask() {
    [[ ${_gsh_flags-f} == *f* ]] || set +f
    local REPLY
    _gsh_find || return
    command "$REPLY" gsh "$@"
}

# The keys: a function of readline's writes the line, and the enter behind it runs that.
_gsh_invoke() { [[ -z ${READLINE_LINE//[[:space:]]/} ]] || READLINE_LINE="${GSH_NAME:-gsh} -- ${READLINE_LINE@Q}" READLINE_POINT=0; }
_gsh_write_list() { READLINE_LINE=" ${GSH_NAME:-gsh} agents" READLINE_POINT=0; }
_gsh_write_attach() { READLINE_LINE=" _gsh_chosen Attach: attach" READLINE_POINT=0; }
_gsh_write_cancel() { READLINE_LINE=" _gsh_chosen Interrupt: interrupt --busy" READLINE_POINT=0; }

# Asks for one of the agents and does with it what `$2` says.
_gsh_chosen() {
    local REPLY program rows row action=$2 PS3="$1 "
    _gsh_find || return
    program=$REPLY
    mapfile -t rows < <(command "$program" shell menu ${3+"$3"} </dev/null)
    case ${#rows[@]} in
        0) printf '%s\n' 'No agent is there. `gsh --background …` starts one.'; return 1 ;;
        1) row=${rows[0]} ;;
        *)
            if type -P fzf >/dev/null; then
                row=$(printf '%s\n' "${rows[@]}" | command fzf --height=40% --reverse --delimiter=$'\t' --with-nth=2 --prompt="$PS3")
            else
                select row in "${rows[@]#*$'\t'}"; do break; done
                [[ -z $row ]] || row=${rows[REPLY - 1]}
            fi
            ;;
    esac
    [[ -z $row ]] || command "$program" agent "$action" "${row%%$'\t'*}"
}

_gsh_bind() {
    local id do key map number=0
    while read -r id do key; do
        ((++number))
        [[ -z ${_gsh_option[$id]+x} ]] || key=${_gsh_option[$id]}
        [[ $key =~ ^(\^?[A-Za-z])+$ ]] || continue
        # ctrl+c is the terminal's own key, which comes before ours: the plain letter does it.
        [[ $key != *?^C ]] || key=${key%^C}c
        key=${key//^/\\C-}
        for map in emacs vi-insert; do
            bind -m $map -x "\"\\e[gsh$number~\": $do" 2>/dev/null
            bind -m $map "\"$key\": \"\\e[gsh$number~\\C-m\"" 2>/dev/null
        done
    done <<'KEYS'
invoke_llm _gsh_invoke ^G
attach_agent _gsh_write_attach ^X^A
list_agents _gsh_write_list ^X^L
cancel_agent _gsh_write_cancel ^X^C
KEYS
}

_gsh_complete() {
    local REPLY kind value words=("${COMP_WORDS[@]}") at=$COMP_CWORD
    _gsh_find 2>/dev/null || return
    if [[ ${words[0]##*/} != gsh-tui ]]; then
        words=(gsh-tui gsh "${words[@]:1}")
        ((++at))
    fi
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
        esac
    done < <(COMP_WORDS="${words[*]}" COMP_CWORD=$at _GSH_TUI_COMPLETE=bash_complete command "$REPLY" 2>/dev/null)
}

_gsh_read_options
_gsh_hook
if [[ ${GSH_NAME:-gsh} =~ ^[a-zA-Z_][a-zA-Z0-9_-]*$ ]]; then
    # Words with ? and * are words, as in `gsh what is this?`; a quote is still a quote, and the key sends any line as it is.
    alias "${GSH_NAME:-gsh}=_gsh_flags=\$-; set -f; _gsh_ask"
    complete -F _gsh_complete "${GSH_NAME:-gsh}" gsh-tui
fi
[[ ! -o emacs && ! -o vi ]] || _gsh_bind
fi
