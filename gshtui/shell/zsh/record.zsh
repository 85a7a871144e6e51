# What gets reported: commands as they start and end, changes of folder, remarks, the shell's own start and end.
#
# Owns the hooks and the JSON. Nothing here forks, prints or changes `$?`. A leading space, a pattern of `[shell] ignore`
# or a pause keeps a command from being reported at all. Sourced by start.zsh's stubs before the first command.

typeset -gr _gsh_utf8=$'[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf][\x80-\xbf]|[\xf1-\xf3][\x80-\xbf][\x80-\xbf][\x80-\xbf]|\xf4[\x80-\x8f][\x80-\xbf][\x80-\xbf]'
# A byte that is not part of a character becomes U+FFFD.
typeset -gA _gsh_bad=(1 $'\xef\xbf\xbd')
typeset -ga _gsh_control=(
    '\u0000' '\u0001' '\u0002' '\u0003' '\u0004' '\u0005' '\u0006' '\u0007' '\b' '\t' '\n' '\u000b' '\f' '\r' '\u000e' '\u000f'
    '\u0010' '\u0011' '\u0012' '\u0013' '\u0014' '\u0015' '\u0016' '\u0017' '\u0018' '\u0019' '\u001a' '\u001b' '\u001c' '\u001d' '\u001e' '\u001f'
)
typeset -g _gsh_shell= _gsh_began= _gsh_noted=
# The part of every report that says where it runs, as JSON: made once, and again for the folder when that changes.
typeset -g _gsh_where= _gsh_here= _gsh_cwd=
typeset -gi _gsh_number=0 _gsh_cut=0
typeset -ga _gsh_moves=()

# A text as a JSON string, in REPLY.
_gsh_json() {
    local s=$1 MATCH MBEGIN MEND
    if [[ $s == *[^' '!\#-\[\]-\~]* ]]; then
        [[ $s != *[$'\x80'-$'\xff']* ]] || s=${s//(#m)(${~_gsh_utf8}|[$'\x80'-$'\xff'])/${_gsh_bad[$#MATCH]-$MATCH}}
        s=${${s//\\/\\\\}//\"/\\\"}
        [[ $s != *[$'\x00'-$'\x1f']* ]] || s=${s//(#m)[$'\x00'-$'\x1f']/${_gsh_control[#MATCH + 1]}}
    fi
    REPLY="\"$s\""
}

# A text as a JSON string of at most about `$2` bytes, in REPLY; the number of bytes left out, in _gsh_cut.
_gsh_bounded() {
    local -i size=$#1 most=$(( $2 / 2 ))
    _gsh_cut=0
    if (( size <= most )); then
        _gsh_json "$1"
        (( $#REPLY > $2 )) || return 0
    fi
    local s=${1[1,most]}
    _gsh_trimmed "$s"
    s=$REPLY
    _gsh_json "$s"
    if (( $#REPLY > $2 )); then  # hardly anything but control characters
        _gsh_trimmed "${s[1,$2 / 6]}"
        s=$REPLY
        _gsh_json "$s"
    fi
    _gsh_cut=$(( size - $#s ))
}

# A text without an incomplete character at its end, in REPLY.
_gsh_trimmed() {
    REPLY=$1
    [[ $1 == *[$'\xc0'-$'\xff'][$'\x80'-$'\xbf'](#c0,3) ]] || return 0
    local tail=${(M)1%[$'\xc0'-$'\xff'][$'\x80'-$'\xbf'](#c0,3)}
    [[ $tail == (${~_gsh_utf8}) ]] || REPLY=${1%$tail}
}

# The time in seconds, in REPLY.
_gsh_now() {
    if (( _gsh_has[datetime] )); then REPLY=${EPOCHREALTIME/,/.}; else REPLY=${(%):-%D{%s.%6.}}; fi
}

# The folder as JSON, in _gsh_cwd.
_gsh_locate() {
    local REPLY
    _gsh_bounded "$PWD" 12000
    _gsh_here=$PWD _gsh_cwd=$REPLY
}

# Once, before the first line: modules, the shell's identity, and its first report.
_gsh_begin() {
    local REPLY tty pane server host parent
    _gsh_modules
    _gsh_now
    _gsh_shell=$$-${REPLY/./}-$(( [##36] RANDOM * 32768 + RANDOM ))
    _gsh_json "$TTY"; tty=$REPLY
    _gsh_json "${TMUX:+$TMUX_PANE}"; pane=$REPLY
    _gsh_json "${TMUX%%,*}"; server=$REPLY
    _gsh_json "$HOST"; host=$REPLY
    _gsh_locate
    _gsh_where=",\"pid\":$$,\"tty\":$tty"
    [[ -z ${TMUX-} ]] || _gsh_where+=",\"pane\":$pane"
    _gsh_json "${${GSH_SHELL_ID-}[1,100]}"; parent=$REPLY
    builtin export GSH_SHELL_ID=$_gsh_shell
    _gsh_line ShellStarted "\"pid\":$$,\"version\":\"$ZSH_VERSION\",\"tty\":$tty,\"pane\":$pane,\"socket\":$server,\"host\":$host,\"cwd\":$_gsh_cwd,\"parent\":$parent"
}

# Whether a command may be reported.
_gsh_kept() {
    [[ $1 != [[:space:]]* && ! -e $_gsh_state/paused ]] || return 1
    local pattern
    local -a stamp
    if (( _gsh_has[stat] )); then  # the options may have been rewritten
        builtin zstat -A stamp +mtime -- $_gsh_state/options 2>/dev/null
        [[ ${stamp[1]-} == $_gsh_option_stamp ]] || { _gsh_option_stamp=${stamp[1]-}; _gsh_read_options }
    fi
    for pattern in "${_gsh_ignored[@]}"; do
        [[ $1 != ${~pattern} ]] || return 1
    done
    # `gsh run -- …` is recorded by gsh itself, with its output.
    [[ $1 != gsh[[:space:]]##run[[:space:]]##--[[:space:]]* ]]
}

# Every function call costs some hundredths of a millisecond, so the usual case is written out here.
_gsh_preexec() {
    local -a ended=($? "${pipestatus[@]}")
    builtin trap - DEBUG
    (( ZSH_SUBSHELL == 0 )) || return 0
    local typed=${${1:-$3}%$'\n'} REPLY command more=  # $1 is empty when history is off
    local -i cut=0
    # Somebody has thrown our other hook away: this is the first moment that tells the status, but not when that was.
    (( ! _gsh_open )) || { _gsh_began= ; _gsh_finish "$ended[@]" }
    _gsh_open=0 _gsh_private=0 _gsh_previous=
    (( ${precmd_functions[(Ie)_gsh_precmd]} && ${zshexit_functions[(Ie)_gsh_zshexit]} )) || _gsh_hook
    if [[ $typed == '#'* ]]; then  # comments are off, so zsh looks for a command of this name
        [[ $_gsh_noted == $typed ]] || _gsh_remark "$typed"
        _gsh_noted=
        _gsh_hangup
        return 0
    fi
    if ! _gsh_kept "$typed"; then
        (( ++_gsh_number ))  # so that what it prints is taken for nobody's
        _gsh_private=1
        _gsh_hangup
        return 0
    fi
    if (( $#typed < 4000 )) && [[ $typed != *[^' '!\#-\[\]-\~]* ]]; then
        command="\"$typed\""
    else
        _gsh_bounded "$typed" 28000; command=$REPLY cut=$_gsh_cut
        (( ! cut )) || more=",\"cut\":$cut"
    fi
    if [[ $3 != $typed ]] && (( ! cut && $#3 < 6000 )) && [[ ${3//[[:space:];\\]/} != ${typed//[[:space:];\\]/} ]]; then
        _gsh_bounded "$3" 12000; more+=",\"expanded\":$REPLY"
    fi
    [[ $PWD == $_gsh_here ]] || _gsh_locate
    REPLY=${${EPOCHREALTIME-}/,/.}
    [[ -n $REPLY ]] || _gsh_now
    _gsh_lines+=("{\"v\":2,\"type\":\"ShellCommandStarted\",\"at\":$REPLY,\"shell\":\"$_gsh_shell\",\"number\":$(( ++_gsh_number )),\"command\":$command,\"cwd\":$_gsh_cwd$_gsh_where$more,\"seq\":$(( ++_gsh_seq ))}")
    _gsh_previous=$typed
    _gsh_send 2>/dev/null
    # zsh cannot keep its children from inheriting the descriptor, so it is closed while a command runs.
    if (( _gsh_fd )); then
        (( _gsh_welcome && $#_gsh_lines <= 50 )) || _gsh_part 2>/dev/null
        (( ! _gsh_fd )) || _gsh_hangup
    fi
    _gsh_open=1 _gsh_began=${${EPOCHREALTIME-}/,/.}
    [[ -n $_gsh_began ]] || { _gsh_now; _gsh_began=$REPLY }
}

# Prints messages for this shell: an agent started here has ended. Moves the file away first, so that each appears once.
_gsh_notices() {
    local file=$_gsh_state/notice-$_gsh_shell words
    [[ -O $file && ! -L $file && ${_gsh_option[notices]-} != no ]] || return 0
    builtin zmodload -F zsh/files b:zf_mv b:zf_rm && builtin zf_mv -f -- $file $file.shown || return 0
    words=$(<$file.shown)
    builtin zf_rm -f -- $file.shown
    builtin print -r -- "${words//[^[:print:]$'\n'$'\x80'-$'\xff']/}"
}

_gsh_precmd() {
    local -a ended=($? "${pipestatus[@]}")
    builtin trap - DEBUG
    [[ ! -e $_gsh_state/notice-$_gsh_shell ]] || (( ZSH_SUBSHELL )) || _gsh_notices 2>/dev/null
    (( _gsh_open && ZSH_SUBSHELL == 0 )) || { _gsh_private=0; return 0 }
    _gsh_finish "$ended[@]"
    (( ! $#_gsh_moves )) || _gsh_tell_moves
    (( ${preexec_functions[(Ie)_gsh_preexec]} )) || _gsh_hook
    _gsh_send 2>/dev/null
    return 0
}

# Notes that the command has ended, with its status and those of its pipeline.
_gsh_finish() {
    local REPLY=${${EPOCHREALTIME-}/,/.}
    local -F 6 took
    _gsh_open=0
    [[ -n $REPLY ]] || _gsh_now
    took=$(( REPLY - ${_gsh_began:-$REPLY} ))
    (( took >= 0 )) || took=0  # the clock was set back
    [[ $PWD == $_gsh_here ]] || _gsh_locate
    _gsh_lines+=("{\"v\":2,\"type\":\"ShellCommandFinished\",\"at\":$REPLY,\"shell\":\"$_gsh_shell\",\"number\":$_gsh_number,\"exit\":$1,\"pipestatus\":[${(j:,:)@[2,65]}],\"duration\":${took/,/.},\"cwd\":$_gsh_cwd,\"seq\":$(( ++_gsh_seq ))}")
}

# Kept until the command has ended: a loop over folders must not report every step.
_gsh_chpwd() {
    (( ZSH_SUBSHELL == 0 && ! _gsh_private )) && [[ ! -e $_gsh_state/paused ]] || return 0
    _gsh_moves+=("$OLDPWD" "$PWD")
    (( $#_gsh_moves <= 32 )) || builtin shift 2 _gsh_moves
    return 0
}

_gsh_tell_moves() {
    local REPLY old new
    for old new in "${_gsh_moves[@]}"; do
        [[ $old != $new ]] || continue
        _gsh_bounded "$old" 12000; old=$REPLY
        _gsh_bounded "$new" 12000
        _gsh_line ShellFolderChanged "\"old\":$old,\"new\":$REPLY"
    done
    _gsh_moves=()
}

# A line that is only a remark runs nothing, so zsh calls no preexec for it.
_gsh_zshaddhistory() {
    builtin trap - DEBUG
    (( ${preexec_functions[(Ie)_gsh_preexec]} )) || _gsh_hook
    _gsh_noted=
    [[ $1 == '#'* ]] && (( ZSH_SUBSHELL == 0 )) || return 0
    _gsh_noted=${1%$'\n'}
    _gsh_remark "$1"
    return 0
}

_gsh_remark() {
    local REPLY text=${${1##\###[[:space:]]#}%%[[:space:]]##}
    (( ++_gsh_number ))  # its line is on the screen
    [[ -n $text && ! -e $_gsh_state/paused ]] || return 0
    _gsh_bounded "$text" 28000; text=$REPLY
    _gsh_bounded "$PWD" 12000
    _gsh_line ShellNoted "\"text\":$text,\"cwd\":$REPLY"
    _gsh_send 2>/dev/null
    return 0
}

_gsh_zshexit() {
    (( ZSH_SUBSHELL == 0 )) || return 0
    _gsh_tell_moves
    _gsh_line ShellEnded
    _gsh_leave 2>/dev/null
    return 0
}
