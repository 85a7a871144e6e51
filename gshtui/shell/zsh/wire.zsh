# How reports are sent: as lines into the spool file, and then over the hub's socket if a hub listens.
#
# Owns the connection, the unacknowledged lines, and the spool. Never waits longer than a few hundredths of a second,
# never forks (unless a zsh module is missing), and writes only to files of this user. A line is forgotten once a hub
# has acknowledged it, or once it is in the spool and no hub listens. The hub removes from the spool only what it has
# stored, so a hub that is killed loses nothing. Sourced by start.zsh's stubs.

typeset -gi _gsh_fd=0 _gsh_seq=0 _gsh_first=1 _gsh_sent=0 _gsh_lost=0 _gsh_acks=0 _gsh_welcome=0 _gsh_busy=0
# The number of the last line that is in the spool.
typeset -gi _gsh_spooled=0
typeset -g _gsh_folder=
# The number of connections in a row that nobody answered.
typeset -gi _gsh_silent=0
typeset -g _gsh_hub= _gsh_refused= _gsh_heard=
typeset -gF _gsh_retry=0
typeset -ga _gsh_lines=()
typeset -gir _gsh_most_lines=500 _gsh_spool_limit=16777216
typeset -gi _gsh_piece=16384
[[ $OSTYPE == linux* ]] || _gsh_piece=2048

# Which modules exist; any of them may be missing.
_gsh_modules() {
    local name
    for name in datetime net/socket system zselect stat; do
        builtin zmodload -F zsh/$name 2>/dev/null  # loads it, even if parts of it are disabled
        case $name in
            datetime) builtin zmodload -F zsh/datetime +p:EPOCHREALTIME 2>/dev/null ;;
            net/socket) builtin zmodload -F zsh/net/socket +b:zsocket 2>/dev/null ;;
            system) builtin zmodload -F zsh/system +b:sysopen +b:syswrite +b:sysread +b:zsystem +p:sysparams 2>/dev/null ;;
            zselect) builtin zmodload -F zsh/zselect +b:zselect 2>/dev/null ;;
            stat) builtin zmodload -F zsh/stat +b:zstat 2>/dev/null ;;
        esac
        _gsh_has[${name:t}]=$(( $? == 0 ))
    done
}

# Queues a line to send: the type of the event and its fields.
_gsh_line() {
    local REPLY
    _gsh_now
    _gsh_lines+=("{\"v\":2,\"type\":\"$1\",\"at\":$REPLY,\"shell\":\"$_gsh_shell\"${2:+,$2},\"seq\":$(( ++_gsh_seq ))}")
}

# Sends the pending lines, one way or the other.
_gsh_send() {
    local REPLY
    local -a reply
    builtin trap '' PIPE
    (( ! _gsh_fd )) || _gsh_hear
    (( ! _gsh_has[system] )) || _gsh_spool  # without this module it forks: then only where no hub listens
    (( _gsh_fd )) || _gsh_connect || { _gsh_keep; return 0 }
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
        (( $#_gsh_lines <= _gsh_most_lines )) || _gsh_keep
    else
        _gsh_hangup
        _gsh_busy=1  # a line may be torn: this hub gets no more until it has read everything so far
        _gsh_keep
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

# The path of the hub's socket, in REPLY.
_gsh_socket() {
    local runtime=${XDG_RUNTIME_DIR-} temporary=${TMPDIR-}
    REPLY=${GSH_GENERAL__SOCKET_PATH:-${_gsh_option[socket]-}}
    [[ $REPLY != /* ]] || return 0
    if [[ $runtime == /* && -d $runtime && -O $runtime ]]; then  # after su it is another user's
        REPLY=${runtime%/}/gsh/gsh.sock
    else
        [[ $temporary == /* ]] || temporary=/tmp
        REPLY=${temporary%/}/gsh-$UID/gsh.sock
    fi
}

# The path of the socket in REPLY, if it is our own hub's; in _gsh_found what tells this hub from others, if that is known.
_gsh_find_hub() {
    (( _gsh_has[socket] && _gsh_has[zselect] )) || return 1
    local -a found
    _gsh_found=
    _gsh_socket
    if (( _gsh_has[stat] )); then
        # A folder of ours, in which nobody else can put a socket; then a socket of ours. Neither may be a link.
        builtin zstat -L -A found -- ${REPLY:h} 2>/dev/null && (( (found[3] & 8#170022) == 8#40000 && found[5] == EUID )) || return 1
        builtin zstat -L -A found -- $REPLY 2>/dev/null && (( (found[3] & 8#170000) == 8#140000 && found[5] == EUID )) || return 1
        _gsh_found="$found[1]:$found[2]:$found[11]"  # device, inode, time of change: different for each hub
    else
        [[ -S $REPLY && -O $REPLY && ! -L $REPLY && -O ${REPLY:h} && ! -L ${REPLY:h} ]] || return 1
    fi
}
typeset -g _gsh_found=

_gsh_connect() {
    local REPLY place hub
    _gsh_find_hub || return 1
    place=$REPLY hub=$_gsh_found
    _gsh_now
    (( REPLY >= _gsh_retry )) || [[ $hub != $_gsh_refused ]] || return 1
    local -F now=$REPLY
    if ! builtin zsocket -- $place; then
        _gsh_refused=$hub _gsh_retry=$(( now + 1 ))
        return 1
    fi
    _gsh_fd=$REPLY _gsh_welcome=0 _gsh_heard=
    # Unacknowledged lines are sent again: they may have been lost with the connection, or with an earlier hub that had
    # this inode. Usually that is the start of one command, and a hub recognises a repeated line by its number.
    _gsh_sent=$(( _gsh_first - 1 )) _gsh_hub=$hub
    _gsh_hello="{\"hello\":\"shell\",\"agent\":\"\",\"pid\":$$,\"shell\":\"$_gsh_shell\"}"$'\n'
}
typeset -g _gsh_hello=

# Reads the hub's answers: what it has kept, or that it is gone. Never waits.
_gsh_hear() {
    (( _gsh_fd && _gsh_has[system] )) || return 0
    local piece
    local -a match mbegin mend
    while builtin zselect -t 0 -r $_gsh_fd; do
        if ! builtin sysread -i $_gsh_fd piece; then
            (( _gsh_welcome )) || _gsh_silent=20  # it refused us
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
    builtin exec {_gsh_fd}>&-
    _gsh_fd=0 _gsh_hello=
    if (( ! _gsh_welcome && ++_gsh_silent >= 20 )); then
        # It is stopped, or not a hub at all. Do not fill its queue of connections: connecting would then block.
        local REPLY
        _gsh_now
        _gsh_refused=$_gsh_hub _gsh_retry=$(( REPLY + (_gsh_silent < 30 ? 1 << (_gsh_silent - 18) : 3600) ))
        _gsh_hub=
    fi
}

# Before a command runs: gives a hub a moment for its pending answer, then closes the connection.
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

# The folder of the spool, accessible only to us, in REPLY.
_gsh_spool_folder() {
    local data=${${(M)XDG_DATA_HOME:#/*}:-$HOME/.local/share} part
    local -a missing
    REPLY=$data/gsh/spool
    if [[ ! -d $REPLY ]]; then
        part=$data
        while [[ ! -e $part && $part == /*/* ]]; do part=${part:h}; done
        [[ -O $part && -w $part ]] || return 1  # somebody else's home: sudo, su
        if builtin zmodload -F zsh/files b:zf_mkdir 2>/dev/null; then
            # One by one: `-p -m` sets the mode of the last one only.
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

# Appends the lines that are not in the spool yet.
_gsh_spool() {
    local -i from=$(( _gsh_spooled - _gsh_first + 2 ))
    (( from >= 1 )) || from=1
    (( from <= $#_gsh_lines )) || return 0
    local REPLY=$_gsh_folder text
    # Its checks cost as much as the append: once it was right it only has to be there.
    [[ -n $REPLY && -d $REPLY ]] || { _gsh_spool_folder || return 1; _gsh_folder=$REPLY }
    text=${(pj:\n:)_gsh_lines[from,-1]}$'\n'
    if (( _gsh_has[system] )); then
        _gsh_append $REPLY/$_gsh_shell.jsonl "$text" || return 1
    else
        (umask 077 && builtin print -rn -- "$text" >>$REPLY/$_gsh_shell.jsonl) || return 1
    fi
    _gsh_spooled=$_gsh_seq
}

# Forgets the lines that the spool has, since no hub listens. If it cannot take them, the newest of them wait.
_gsh_keep() {
    _gsh_spool && { _gsh_forget $_gsh_seq; return 0 }
    local -i over=$(( $#_gsh_lines - _gsh_most_lines ))
    (( over <= 0 )) || { (( _gsh_lost += over )); _gsh_forget $(( _gsh_first + over - 1 )) }
    return 1
}

# One append, under the lock that a reader takes while it empties the file. If a reader has the lock, the text is
# appended all the same, as bash does it, and counts as not written: it is appended again with the next lines.
_gsh_append() {
    local -i file lock wrote attempt failed
    local -a info
    for attempt in 1 2 3; do
        builtin sysopen -w -a -m 600 -o creat,cloexec,nofollow,nonblock -u file -- $1 || return 1
        failed=0 lock=0
        builtin zsystem flock -t 0 -f lock -- $1 || failed=1
        if (( _gsh_has[stat] )); then
            builtin zstat -A info -f $file || failed=1
            if (( info[4] == 0 )); then  # it was removed in the meantime
                builtin exec {file}>&-
                (( ! lock )) || builtin zsystem flock -u $lock
                continue
            fi
            if (( info[8] + $#2 > _gsh_spool_limit )); then
                builtin exec {file}>&-
                (( ! lock )) || builtin zsystem flock -u $lock
                return 1
            fi
        fi
        builtin syswrite -o $file -c wrote -- "$2" && (( wrote == $#2 )) || failed=1
        builtin exec {file}>&-
        (( ! lock )) || builtin zsystem flock -u $lock
        return $failed
    done
    return 1
}

# The shell ends: what is neither in the spool nor kept by a hub by now has a moment.
_gsh_leave() {
    local -i attempt
    local -a reply
    _gsh_send
    for attempt in 1 2 3; do
        (( _gsh_fd && $#_gsh_lines && _gsh_spooled < _gsh_seq )) || break
        builtin zselect -t 2 -r $_gsh_fd || break
        _gsh_hear
    done
    for attempt in 1 2 3 4 5; do
        (( $#_gsh_lines && _gsh_spooled < _gsh_seq )) || break
        _gsh_spool && break
        (( ! _gsh_has[zselect] )) || builtin zselect -t 1
    done
    _gsh_hangup
}
