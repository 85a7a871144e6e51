# Loads the parts of the plugin, each function under bash's own options, whatever yours are. Sourced by gsh.bash.
#
# Names of ours begin with _gsh_, also inside functions: yours may be read-only. Every builtin is called as one: yours
# may be functions.

_gsh_load() {
    builtin local -
    builtin set +aefkux -B
    builtin local _gsh_part
    for _gsh_part in wire record hooks keys; do builtin source "$_gsh_home/bash/$_gsh_part.bash"; done
    builtin declare -gA _gsh_option
    builtin declare -ga _gsh_ignored _gsh_statuses
    _gsh_option=() _gsh_ignored=() _gsh_statuses=(0 0)
    builtin declare -gi _gsh_seq=0 _gsh_number=0 _gsh_history=-1 _gsh_cut=0 _gsh_lines=0
    builtin declare -g _gsh_shell='' _gsh_spool='' _gsh_last='' _gsh_open='' _gsh_unwritten='' _gsh_folder="${PWD-}" \
        _gsh_reply='' _gsh_fresh='' _gsh_tty='' _gsh_began=0 _gsh_ours='' _gsh_armed=0 _gsh_doubt=1 _gsh_word='' _gsh_over='' _gsh_runs=''
    _gsh_state=${XDG_STATE_HOME-}
    [[ $_gsh_state == /* ]] || _gsh_state=${HOME:-~}/.local/state
    _gsh_state+=/gsh/shell
    _gsh_read_options
}

_gsh_read_options() {
    builtin local _gsh_text
    _gsh_ignored=()
    [[ -O $_gsh_state/options && ! -L $_gsh_state/options ]] || builtin return 0
    while IFS= builtin read -r _gsh_text; do
        case $_gsh_text in
            ignore_plain=*) _gsh_ignored+=("${_gsh_text#*=}") ;;
            *=*) _gsh_option[${_gsh_text%%=*}]=${_gsh_text#*=} ;;
        esac
    done <"$_gsh_state/options"
}

# A start-up file that is read again may have set the hooks anew.
if builtin declare -F _gsh_first >/dev/null; then
    _gsh_hook
else
    _gsh_load
    _gsh_hook
    _gsh_offer
fi
