# `gsh` at the prompt: the command, its keys and its completion. Sourced by start.bash.
#
# Handles the person's input; starts nothing before there is any. GSH_TUI names the program; without it, the program is
# searched for. GSH_NAME renames the command if `gsh` is taken (set it before the plugin is loaded).

# The program, in _gsh_reply.
_gsh_find() {
    for _gsh_reply in "${GSH_TUI-}" "$(builtin type -P gsh-tui)" "$_gsh_home/../../.venv/bin/gsh-tui" \
        "$_gsh_home/../../../../../bin/gsh-tui"; do
        [[ -z $_gsh_reply || ! -x $_gsh_reply || -d $_gsh_reply ]] || builtin return 0
    done
    builtin printf 'gsh: gsh-tui was not found; set GSH_TUI to its path.\n' >&2
    builtin return 127
}
_gsh_ask() {
    [[ ${_gsh_flags-f} == *f* ]] || builtin set +f
    _gsh_find || builtin return
    builtin command "$_gsh_reply" gsh "$@"
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
    builtin local _gsh_program _gsh_row='' PS3="$1 "
    builtin local -a _gsh_rows
    _gsh_find || builtin return
    _gsh_program=$_gsh_reply
    builtin mapfile -t _gsh_rows < <(builtin command "$_gsh_program" shell menu ${3+"$3"} </dev/null)
    case ${#_gsh_rows[@]} in
        0) builtin printf '%s\n' 'No agent is there. `gsh --background …` starts one.'; builtin return 1 ;;
        1) _gsh_row=${_gsh_rows[0]} ;;
        *)
            if builtin type -P fzf >/dev/null; then
                _gsh_row=$(builtin printf '%s\n' "${_gsh_rows[@]}" | builtin command fzf --height=40% --reverse --delimiter=$'\t' --with-nth=2 --prompt="$PS3")
            else
                select _gsh_row in "${_gsh_rows[@]#*$'\t'}"; do builtin break; done
                [[ -z $_gsh_row ]] || _gsh_row=${_gsh_rows[REPLY - 1]}
            fi
            ;;
    esac
    [[ -z $_gsh_row ]] || builtin command "$_gsh_program" agent "$2" "${_gsh_row%%$'\t'*}"
}

_gsh_bind() {
    builtin local _gsh_id _gsh_do _gsh_key _gsh_map _gsh_place=0
    while IFS=' ' builtin read -r _gsh_id _gsh_do _gsh_key; do
        ((++_gsh_place))
        [[ -z ${_gsh_option[$_gsh_id]+x} ]] || _gsh_key=${_gsh_option[$_gsh_id]}
        [[ -n $_gsh_key && -z ${_gsh_key//[A-Za-z^]/} && $_gsh_key != *^ && $_gsh_key != *^^* ]] || builtin continue
        # The terminal itself handles ctrl+c before us, so use the plain letter.
        [[ $_gsh_key != *?^C ]] || _gsh_key=${_gsh_key%^C}c
        _gsh_key=${_gsh_key//^/\\C-}
        for _gsh_map in emacs vi-insert; do
            builtin bind -m "$_gsh_map" -x "\"\\e[gsh$_gsh_place~\": $_gsh_do" 2>/dev/null
            builtin bind -m "$_gsh_map" "\"$_gsh_key\": \"\\e[gsh$_gsh_place~\\C-m\"" 2>/dev/null
        done
    done <<'KEYS'
invoke_llm _gsh_invoke ^G
attach_agent _gsh_write_attach ^X^A
list_agents _gsh_write_list ^X^L
cancel_agent _gsh_write_cancel ^X^C
KEYS
}

_gsh_complete() {
    builtin local _gsh_kind _gsh_value _gsh_at="$COMP_CWORD"
    builtin local -a _gsh_words
    _gsh_words=("${COMP_WORDS[@]}")
    _gsh_find 2>/dev/null || builtin return
    if [[ ${_gsh_words[0]##*/} != gsh-tui ]]; then
        _gsh_words=(gsh-tui gsh "${_gsh_words[@]:1}")
        ((++_gsh_at))
    fi
    COMPREPLY=()
    while IFS=, builtin read -r _gsh_kind _gsh_value; do
        case $_gsh_kind in
            plain) COMPREPLY+=("$_gsh_value") ;;
            dir) builtin compopt -o dirnames ;;
            file) builtin compopt -o default ;;
        esac
    done < <(IFS=' ' && COMP_WORDS="${_gsh_words[*]}" COMP_CWORD=$_gsh_at _GSH_TUI_COMPLETE=bash_complete builtin command "$_gsh_reply" 2>/dev/null)
}

# Sets up the keys, the command and its completion once the options are read.
_gsh_offer() {
    builtin local -
    builtin set +aefkuxET
    if [[ ${GSH_NAME:-gsh} == [a-zA-Z_]* && -z ${GSH_NAME//[a-zA-Z0-9_-]/} ]]; then
        # Words with ? and * stay words, as in `gsh what is this?`; quotes still count, and the key sends any line.
        builtin alias "${GSH_NAME:-gsh}=_gsh_flags=\$-; builtin set -f; _gsh_ask"
        builtin complete -F _gsh_complete "${GSH_NAME:-gsh}" gsh-tui
    fi
    [[ ! -o emacs && ! -o vi ]] || _gsh_bind
}
