# The bash plugin of gsh-tui: it reports your commands to the workbench, and `gsh` asks an agent at the prompt.
#
# Load it from ~/.bashrc (`gsh-tui shell install bash` adds the line), after bash-preexec if you use that: then it
# uses those hooks. It refuses scripts and bash before 4.4. bash cannot use a Unix socket, so the lines go into the
# spool, without a fork, and the window reads them from there. Your own traps on DEBUG and EXIT keep working.

if [[ $- == *i* ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) && [[ -z ${_gsh_home-} ]]; then

_gsh_home=${BASH_SOURCE[0]%/*}
[[ $_gsh_home == /* ]] || _gsh_home=$PWD/$_gsh_home
_gsh_state=$HOME/.local/state/gsh/shell
[[ ${XDG_STATE_HOME-} != /* ]] || _gsh_state=$XDG_STATE_HOME/gsh/shell
_gsh_shell='' _gsh_spool='' _gsh_armed='' _gsh_open='' _gsh_last='' _gsh_unwritten='' _gsh_folder=$PWD
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

for _gsh_part in wire record keys; do builtin source "$_gsh_home/bash/$_gsh_part.bash"; done
unset _gsh_part
_gsh_read_options
_gsh_hook
_gsh_offer
fi
