# Turns a line into JSON and appends it to the spool. Sourced by start.bash.
#
# Owns every byte that leaves the shell; forks nothing. Results are in _gsh_reply.

# Microseconds since the epoch.
_gsh_now() {
    if [[ -n ${EPOCHREALTIME-} ]]; then
        _gsh_reply=${EPOCHREALTIME/[.,]/}
    else
        builtin printf -v _gsh_reply '%(%s)T000000' -1
    fi
}

# A text of at most about `$2` bytes as a JSON string; the number of bytes left out, in _gsh_cut.
_gsh_json() {
    builtin local LC_ALL=C 2>/dev/null
    builtin local _gsh_s="$1" _gsh_t _gsh_code _gsh_shown _gsh_byte=$'[\x80-\xbf]'
    _gsh_cut=0
    if ((${#_gsh_s} > $2)); then
        _gsh_s=${_gsh_s:0:$2}
        while [[ ${1:${#_gsh_s}:1} == $_gsh_byte && -n $_gsh_s ]]; do _gsh_s=${_gsh_s:0:${#_gsh_s}-1}; done
        _gsh_cut=$((${#1} - ${#_gsh_s}))
    fi
    if [[ $_gsh_s == *[$'\x80'-$'\xff']* ]]; then
        _gsh_t=${_gsh_s//[$'\xf1'-$'\xf3']$_gsh_byte$_gsh_byte$_gsh_byte/ }
        _gsh_t=${_gsh_t//$'\xf0'[$'\x90'-$'\xbf']$_gsh_byte$_gsh_byte/ }
        _gsh_t=${_gsh_t//$'\xf4'[$'\x80'-$'\x8f']$_gsh_byte$_gsh_byte/ }
        _gsh_t=${_gsh_t//[$'\xe1'-$'\xec\xee\xef']$_gsh_byte$_gsh_byte/ }
        _gsh_t=${_gsh_t//$'\xe0'[$'\xa0'-$'\xbf']$_gsh_byte/ }
        _gsh_t=${_gsh_t//$'\xed'[$'\x80'-$'\x9f']$_gsh_byte/ }
        _gsh_t=${_gsh_t//[$'\xc2'-$'\xdf']$_gsh_byte/ }
        [[ $_gsh_t != *[$'\x80'-$'\xff']* ]] || _gsh_mend
    fi
    _gsh_s=${_gsh_s//\\/\\\\}
    _gsh_s=${_gsh_s//\"/\\\"}
    if [[ $_gsh_s == *[$'\x01'-$'\x1f']* ]]; then
        _gsh_s=${_gsh_s//$'\n'/\\n}
        _gsh_s=${_gsh_s//$'\t'/\\t}
        for ((_gsh_code = 1; _gsh_code < 32; _gsh_code++)); do
            builtin printf -v _gsh_shown '\\x%02x' "$_gsh_code"
            builtin printf -v _gsh_t '%b' "$_gsh_shown"
            [[ $_gsh_s == *"$_gsh_t"* ]] || builtin continue
            builtin printf -v _gsh_shown '\\u%04x' "$_gsh_code"
            _gsh_s=${_gsh_s//"$_gsh_t"/"$_gsh_shown"}
        done
    fi
    _gsh_reply=\"$_gsh_s\"
}

# Replaces invalid UTF-8 in _gsh_s by U+FFFD; in a long text all non-ASCII, because bash is too slow to check each byte.
_gsh_mend() {
    builtin local _gsh_rest="$_gsh_s" _gsh_bad=$'\xef\xbf\xbd' _gsh_plain
    if ((${#_gsh_s} > 2000)); then
        _gsh_s=${_gsh_s//[$'\x80'-$'\xff']/$_gsh_bad}
        builtin return 0
    fi
    _gsh_s=''
    while [[ $_gsh_rest == *[$'\x80'-$'\xff']* ]]; do
        _gsh_plain=${_gsh_rest%%[$'\x80'-$'\xff']*}
        _gsh_rest=${_gsh_rest:${#_gsh_plain}}
        case $_gsh_rest in
            [$'\xf1'-$'\xf3']$_gsh_byte$_gsh_byte$_gsh_byte* | $'\xf0'[$'\x90'-$'\xbf']$_gsh_byte$_gsh_byte* \
                | $'\xf4'[$'\x80'-$'\x8f']$_gsh_byte$_gsh_byte*) _gsh_t=4 ;;
            [$'\xe1'-$'\xec\xee\xef']$_gsh_byte$_gsh_byte* | $'\xe0'[$'\xa0'-$'\xbf']$_gsh_byte* \
                | $'\xed'[$'\x80'-$'\x9f']$_gsh_byte*) _gsh_t=3 ;;
            [$'\xc2'-$'\xdf']$_gsh_byte*) _gsh_t=2 ;;
            *) _gsh_s+=$_gsh_plain$_gsh_bad _gsh_rest=${_gsh_rest:1}; builtin continue ;;
        esac
        _gsh_s+=$_gsh_plain${_gsh_rest:0:_gsh_t} _gsh_rest=${_gsh_rest:_gsh_t}
    done
    _gsh_s+=$_gsh_rest
}

# Appends a line to the spool: the type of the event and its fields. While the disk is full, the newest lines wait for
# the next one that can be written; one that was torn is written again behind its piece, and read from there.
_gsh_line() {
    [[ -n $_gsh_spool ]] || builtin return 0
    builtin local _gsh_text
    _gsh_now
    ((++_gsh_seq))
    builtin printf -v _gsh_text '{"v":2,"type":"%s","at":%s.%s,"shell":"%s"%s,"seq":%d}\n' "$1" "${_gsh_reply:0:-6}" \
        "${_gsh_reply: -6}" "$_gsh_shell" "${2:+,$2}" "$_gsh_seq"
    _gsh_unwritten+=$_gsh_text
    if builtin printf '%s' "$_gsh_unwritten" 2>/dev/null >>"$_gsh_spool"; then
        _gsh_unwritten=''
    else
        while ((${#_gsh_unwritten} > 200000)); do _gsh_unwritten=${_gsh_unwritten#*$'\n'}; done
    fi
    builtin return 0
}
