# Turns a line into JSON and appends it to the spool. Sourced by gsh.bash.
#
# Owns every byte that leaves the shell; forks nothing.

# Microseconds since the epoch, in REPLY.
_gsh_now() {
    if [[ -n ${EPOCHREALTIME-} ]]; then
        REPLY=${EPOCHREALTIME/[.,]/}
    else
        printf -v REPLY '%(%s)T000000' -1
    fi
}

# A text of at most about `$2` bytes as a JSON string, in REPLY; the number of bytes left out, in _gsh_cut.
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

# Replaces invalid UTF-8 in `s` by U+FFFD; in a long text all non-ASCII, because bash is too slow to check each byte.
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

# Appends a line to the spool: the type of the event and its fields. While the disk is full, the newest lines wait for
# the next one that can be written; one that was torn is written again behind its piece, and read from there.
_gsh_line() {
    [[ -n $_gsh_spool ]] || return 0
    local REPLY line
    _gsh_now
    ((++_gsh_seq))
    printf -v line '{"v":2,"type":"%s","at":%s.%s,"shell":"%s"%s,"seq":%d}\n' "$1" "${REPLY:0:-6}" "${REPLY: -6}" "$_gsh_shell" \
        "${2:+,$2}" "$_gsh_seq"
    _gsh_unwritten+=$line
    if printf '%s' "$_gsh_unwritten" 2>/dev/null >>"$_gsh_spool"; then
        _gsh_unwritten=''
    else
        while ((${#_gsh_unwritten} > 200000)); do _gsh_unwritten=${_gsh_unwritten#*$'\n'}; done
    fi
    return 0
}
