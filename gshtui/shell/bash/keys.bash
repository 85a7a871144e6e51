# `gsh` at the prompt: the command, its keys and its completion. Sourced by gsh.bash.
#
# Handles the person's input; starts nothing before there is any. GSH_TUI names the program; without it, the program is
# searched for. GSH_NAME renames the command if `gsh` is taken (set it before the plugin is loaded).

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

# The keys: a readline function writes the line, and the enter after it runs the line.
_gsh_invoke() { [[ -z ${READLINE_LINE//[[:space:]]/} ]] || _gsh_send "${READLINE_LINE#"${GSH_NAME:-gsh} "}"; }
# A line that already begins with the command does not get it twice.
_gsh_send() { READLINE_LINE="${GSH_NAME:-gsh} -- ${1@Q}" READLINE_POINT=0; }
_gsh_write_list() { READLINE_LINE=" ${GSH_NAME:-gsh} agents" READLINE_POINT=0; }
_gsh_write_attach() { READLINE_LINE=" _gsh_chosen Attach: attach" READLINE_POINT=0; }
_gsh_write_cancel() { READLINE_LINE=" _gsh_chosen Interrupt: interrupt --busy" READLINE_POINT=0; }

# Lets the person choose an agent, then does what `$2` says with it.
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
        # The terminal itself handles ctrl+c before us, so use the plain letter.
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

# Sets up the keys, the command and its completion once the options are read.
_gsh_offer() {
    if [[ ${GSH_NAME:-gsh} =~ ^[a-zA-Z_][a-zA-Z0-9_-]*$ ]]; then
        # Words with ? and * stay words, as in `gsh what is this?`; quotes still count, and the key sends any line.
        alias "${GSH_NAME:-gsh}=_gsh_flags=\$-; set -f; _gsh_ask"
        complete -F _gsh_complete "${GSH_NAME:-gsh}" gsh-tui
    fi
    [[ ! -o emacs && ! -o vi ]] || _gsh_bind
}
