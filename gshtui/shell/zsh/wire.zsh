# How it is told: lines over the hub's socket, or into the spool file when there is no hub that takes them.
#
# Owns the connection, the lines that are not acknowledged yet, and the spool. Never waits longer than a few hundredths
# of a second, never forks (but where a module of zsh is missing), and writes only to what belongs to this user. A line
# is forgotten when a hub said that it is kept, or when it is in the spool. Sourced by start.zsh's stubs.

typeset -gi _gsh_fd=0 _gsh_seq=0 _gsh_first=1 _gsh_sent=0 _gsh_lost=0 _gsh_acks=0 _gsh_welcome=0 _gsh_busy=0
# The connections in a row that nobody answered.
typeset -gi _gsh_silent=0
typeset -g _gsh_hub= _gsh_refused= _gsh_heard=
typeset -gF _gsh_retry=0
typeset -ga _gsh_lines=()
typeset -gir _gsh_most_lines=500 _gsh_spool_limit=16777216
typeset -gi _gsh_piece=16384
[[ $OSTYPE == linux* ]] || _gsh_piece=2048

# Which modules there are; each alone may be missing.
_gsh_modules() {
    local name
    for name in datetime net/socket system zselect stat; do
        builtin zmodload -F zsh/$name 2>/dev/null  # loads it, whatever of it was switched off
        case $name in
            datetime) builtin zmodload -F zsh/datetime +p:EPOCHREALTIME 2>/dev/null ;;
            net/socket) builtin zmodload -F zsh/net/socket +b:zsocket 2>/dev/null ;;
            system) builtin zmodload -F zsh/system +b:sysopen +b:syswrite +b:sysread +b:zsystem 2>/dev/null ;;
            zselect) builtin zmodload -F zsh/zselect +b:zselect 2>/dev/null ;;
            stat) builtin zmodload -F zsh/stat +b:zstat 2>/dev/null ;;
        esac
        _gsh_has[${name:t}]=$(( $? == 0 ))
    done
}

# A line to be told: the type of the event and its fields.
_gsh_line() {
    local REPLY
    _gsh_now
    _gsh_lines+=("{\"v\":1,\"type\":\"$1\",\"at\":$REPLY,\"shell\":\"$_gsh_shell\"${2:+,$2},\"seq\":$(( ++_gsh_seq ))}")
}

# Tells what is not told yet, one way or the other.
_gsh_send() {
    local REPLY
    local -a reply
    trap '' PIPE
    (( ! _gsh_fd )) || _gsh_hear
    (( _gsh_fd )) || _gsh_connect || { _gsh_spool; return 0 }
    local -i from=$(( _gsh_sent - _gsh_first + 2 )) wrote=0
    (( from >= 1 )) || from=1
    local text="$_gsh_hello${(pj:\n:)_gsh_lines[from,-1]}"$'\n'
    if (( _gsh_has[system] && $#text <= _gsh_piece )); then  # as nearly always: one piece
        builtin zselect -t $(( _gsh_busy ? 0 : 1 )) -w $_gsh_fd && builtin syswrite -o $_gsh_fd -c wrote -- "$text" \
            && { (( wrote == $#text )) || _gsh_write "${text[wrote + 1,-1]}" }
    else
        _gsh_write "$text"
    fi
    if (( $? == 0 )); then
        _gsh_busy=0
        _gsh_sent=$_gsh_seq
        _gsh_hello=
        (( $#_gsh_lines <= _gsh_most_lines )) || _gsh_spool
    else
        _gsh_hangup
        _gsh_busy=1  # a line may be torn: this hub gets nothing more until it has read what it has
        _gsh_spool
    fi
}

# Forgets the lines up to this number.
_gsh_forget() {
    local -i count=$(( $1 - _gsh_first + 1 ))
    (( count > 0 )) || return 0
    _gsh_lines=("${(@)_gsh_lines[count + 1,-1]}")
    _gsh_first=$(( $1 + 1 ))
    (( _gsh_sent >= $1 )) || _gsh_sent=$1
}

# Where the hub listens, in REPLY.
_gsh_socket() {
    local runtime=${XDG_RUNTIME_DIR-} temporary=${TMPDIR-}
    REPLY=${GSH_GENERAL__SOCKET_PATH:-${_gsh_option[socket]-}}
    [[ $REPLY != /* ]] || return 0
    if [[ $runtime == /* && -d $runtime ]]; then
        REPLY=${runtime%/}/gsh/gsh.sock
    else
        [[ $temporary == /* ]] || temporary=/tmp
        REPLY=${temporary%/}/gsh-$UID/gsh.sock
    fi
}

_gsh_connect() {
    (( _gsh_has[socket] && _gsh_has[zselect] )) || return 1
    local REPLY place hub=
    local -a found
    _gsh_socket; place=$REPLY
    if (( _gsh_has[stat] )); then
        # A folder of ours, where nobody else could put a socket; then a socket of ours. Neither may be a link.
        builtin zstat -L -A found -- ${place:h} && (( (found[3] & 8#170022) == 8#40000 && found[5] == EUID )) || return 1
        builtin zstat -L -A found -- $place && (( (found[3] & 8#170000) == 8#140000 && found[5] == EUID )) || return 1
        hub="$found[1]:$found[2]:$found[11]"  # device, inode, time of change: another one for another hub
    else
        [[ -S $place && -O $place && ! -L $place && -O ${place:h} && ! -L ${place:h} ]] || return 1
    fi
    _gsh_now
    (( REPLY >= _gsh_retry )) || [[ $hub != $_gsh_refused ]] || return 1
    local -F now=$REPLY
    if ! builtin zsocket -- $place; then
        _gsh_refused=$hub _gsh_retry=$(( now + 1 ))
        return 1
    fi
    _gsh_fd=$REPLY _gsh_welcome=0 _gsh_heard=
    # Whatever is not acknowledged is told again: it may have been lost with the connection, or with a hub that had this
    # one's inode. Usually that is the beginning of one command, and a hub knows a line that it has heard by its number.
    _gsh_sent=$(( _gsh_first - 1 )) _gsh_hub=$hub
    _gsh_hello="{\"hello\":\"shell\",\"agent\":\"\",\"pid\":$$,\"shell\":\"$_gsh_shell\"}"$'\n'
}
typeset -g _gsh_hello=

# Hears what the hub said: what it keeps, or that it is gone. Never waits.
_gsh_hear() {
    (( _gsh_fd && _gsh_has[system] )) || return 0
    local piece
    local -a match mbegin mend
    while builtin zselect -t 0 -r $_gsh_fd; do
        if ! builtin sysread -i $_gsh_fd piece; then
            (( _gsh_welcome )) || _gsh_silent=20  # it would not have us
            _gsh_hangup
            break
        fi
        _gsh_heard=${_gsh_heard[-64,-1]}$piece
        [[ $_gsh_heard != *'"welcome"'* ]] || _gsh_welcome=1 _gsh_silent=0
        if [[ $_gsh_heard == *'"ack":'(#b)([0-9](#c1,15))* ]]; then
            _gsh_acks=1
            (( match[1] > _gsh_seq )) || _gsh_forget $match[1]
        fi
    done
}

_gsh_hangup() {
    (( _gsh_fd )) || return 0
    exec {_gsh_fd}>&-
    _gsh_fd=0 _gsh_hello=
    if (( ! _gsh_welcome && ++_gsh_silent >= 20 )); then
        # It is stopped, or no hub at all. Its queue of connections must not be filled: then connecting would wait.
        local REPLY
        _gsh_now
        _gsh_refused=$_gsh_hub _gsh_retry=$(( REPLY + (_gsh_silent < 30 ? 1 << (_gsh_silent - 18) : 3600) ))
        _gsh_hub=
    fi
}

# Before a command runs: a moment for a hub that has to answer still, then the connection is closed.
_gsh_part() {
    local -a reply
    if (( _gsh_fd && (! _gsh_welcome && _gsh_silent || $#_gsh_lines > 50 && _gsh_acks) )); then
        builtin zselect -t 1 -r $_gsh_fd && _gsh_hear
    fi
    _gsh_hangup
}

# Writes in pieces that fit: a hub that does not read costs a hundredth of a second, once.
_gsh_write() {
    local rest=$1
    local -i wrote
    while [[ -n $rest ]]; do
        builtin zselect -t $(( _gsh_busy ? 0 : 1 )) -w $_gsh_fd || return 1
        if (( _gsh_has[system] )); then
            builtin syswrite -o $_gsh_fd -c wrote -- "${rest[1,_gsh_piece]}" || return 1
        else
            builtin print -rn -u $_gsh_fd -- "${rest[1,_gsh_piece]}" || return 1
            wrote=$_gsh_piece
        fi
        rest=${rest[wrote + 1,-1]}
    done
    _gsh_busy=0
}

# The folder of the spool, ours alone, in REPLY.
_gsh_spool_folder() {
    local data=${${(M)XDG_DATA_HOME:#/*}:-$HOME/.local/share} part
    local -a missing
    REPLY=$data/gsh/spool
    if [[ ! -d $REPLY ]]; then
        part=$data
        while [[ ! -e $part && $part == /*/* ]]; do part=${part:h}; done
        [[ -O $part && -w $part ]] || return 1  # somebody else's home: sudo, su
        if builtin zmodload -F zsh/files b:zf_mkdir 2>/dev/null; then
            # One by one: `-p -m` gives its mode to the last one only.
            missing=() part=$REPLY
            while [[ ! -d $part ]]; do missing=($part $missing) part=${part:h}; done
            for part in $missing; do
                builtin zf_mkdir -m 700 -- $part 2>/dev/null || [[ -d $part ]] || return 1
            done
        else
            (umask 077 && command mkdir -p -- $REPLY) || return 1
        fi
    fi
    [[ -O $REPLY && ! -L $REPLY && -w $REPLY ]]
}

# Puts all lines that no hub said it keeps into the spool. What cannot be put there waits, the newest of it.
_gsh_spool() {
    local REPLY text
    (( $#_gsh_lines )) || return 0
    if _gsh_spool_folder; then
        text=${(pj:\n:)_gsh_lines}$'\n'
        if (( _gsh_has[system] )); then
            _gsh_append $REPLY/$_gsh_shell.jsonl "$text" && { _gsh_forget $_gsh_seq; return 0 }
        else
            (umask 077 && builtin print -rn -- "$text" >>$REPLY/$_gsh_shell.jsonl) && { _gsh_forget $_gsh_seq; return 0 }
        fi
    fi
    local -i over=$(( $#_gsh_lines - _gsh_most_lines ))
    (( over <= 0 )) || { (( _gsh_lost += over )); _gsh_forget $(( _gsh_first + over - 1 )) }
    return 1
}

# One append under the lock that a hub takes when it empties the file.
_gsh_append() {
    local -i file lock wrote attempt failed
    local -a mine there
    for attempt in 1 2 3; do
        builtin sysopen -w -a -m 600 -o creat,cloexec,nofollow,nonblock -u file -- $1 || return 1
        if ! builtin zsystem flock -t 0 -f lock -- $1; then
            exec {file}>&-
            return 1
        fi
        failed=0
        if (( _gsh_has[stat] )); then
            builtin zstat -A mine -f $file && builtin zstat -A there -- $1 || failed=1
            if (( ! failed )) && [[ $mine[2] != $there[2] ]]; then  # it was moved away meanwhile
                exec {file}>&-
                builtin zsystem flock -u $lock
                continue
            fi
            (( failed || mine[8] + $#2 <= _gsh_spool_limit )) || failed=1
        fi
        if (( ! failed )); then
            builtin syswrite -o $file -c wrote -- "$2" && (( wrote == $#2 )) || failed=1
        fi
        exec {file}>&-
        builtin zsystem flock -u $lock
        return $failed
    done
    return 1
}

# The shell ends: a hub has a moment to say that it keeps everything, the spool gets what it does not.
_gsh_leave() {
    local -i attempt
    local -a reply
    _gsh_send
    for attempt in 1 2 3; do
        (( _gsh_fd && $#_gsh_lines )) || break
        builtin zselect -t 2 -r $_gsh_fd || break
        _gsh_hear
    done
    for attempt in 1 2 3 4 5; do
        (( $#_gsh_lines )) || break
        _gsh_spool && break
        (( ! _gsh_has[zselect] )) || builtin zselect -t 1
    done
    _gsh_hangup
}
