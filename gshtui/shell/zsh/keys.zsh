# `gsh` at the prompt: the command, its keys and its completion. Sourced by start.zsh.
#
# Handles the person's input; starts nothing before there is any. GSH_TUI names the program; without it, the program is
# searched for. GSH_NAME renames the command if `gsh` is taken (set it before the plugin is loaded).

# The program, in REPLY.
_gsh_find() {
    local place
    for place in "${GSH_TUI-}" "${commands[gsh-tui]-}" ${_gsh_home:h:h}/.venv/bin/gsh-tui ${_gsh_home:h:h:h:h:h}/bin/gsh-tui; do
        [[ -n $place && -x $place && ! -d $place ]] && { REPLY=$place; return 0 }
    done
    builtin print -ru2 -- 'gsh: gsh-tui was not found; set GSH_TUI to its path.'
    return 127
}

_gsh_ask() {
    local REPLY
    _gsh_find || return
    command $REPLY gsh "$@"
}

# noglob: `gsh what is this?` is words, not a pattern. Quotes still count; the key sends any line unchanged.
_gsh_name() {
    local name=${GSH_NAME:-gsh}
    [[ $name == [a-zA-Z_][a-zA-Z0-9_-]# ]] || return 0
    functions[$name]='_gsh_ask "$@"'
    builtin alias -- $name="noglob $name"
}

# Sends the current input line.
_gsh_invoke() {
    if [[ -z ${BUFFER//[[:space:]]/} ]]; then
        builtin zle -M 'Type what you want to have done, then press this key again.'
        return 0
    fi
    # A line that already begins with the command does not get it twice.
    BUFFER="${GSH_NAME:-gsh} -- ${(qq)BUFFER#${GSH_NAME:-gsh} }"
    builtin zle accept-line
}

# Prints the agents above the prompt.
_gsh_list() {
    local REPLY
    builtin zle -I
    _gsh_find && command $REPLY agent ls </dev/null
    return 0
}

# Lets the person choose an agent; its id in REPLY. `$1`: the question; the rest: options of `shell menu`.
_gsh_choose() {
    local question=$1 found key signs=123456789abcdefghijklmnopqrstuvwxyz
    local -a rows shown
    local -i at
    shift
    _gsh_find 2>/dev/null || { builtin zle -M 'gsh-tui was not found; set GSH_TUI to its path.'; return 1 }
    found=$(command $REPLY shell menu "$@" </dev/null 2>/dev/null)
    rows=(${(f)found})
    REPLY=
    case $#rows in
        0) zle -M 'No agent is there. `gsh --background …` starts one.'; return 1 ;;
        1) REPLY=${rows[1]%%$'\t'*}; return 0 ;;
    esac
    if (( $+commands[fzf] )); then
        builtin zle -I
        found=$(builtin print -rl -- $rows | command fzf --height=40% --reverse --delimiter=$'\t' --with-nth=2 --prompt="$question ")
        REPLY=${found%%$'\t'*}
    else
        for (( at = 1; at <= $#rows && at <= $#signs; at++ )); do
            shown+=("$signs[at]  ${rows[at]#*$'\t'}")
        done
        builtin zle -R "$question" $shown
        builtin read -k 1 key
        builtin zle -R -c
        at=${signs[(i)${(b)key}]}
        (( at <= $#shown )) && REPLY=${rows[at]%%$'\t'*}
    fi
    [[ -n $REPLY ]]
}

_gsh_attach() {
    local REPLY
    if _gsh_choose 'Attach to:'; then
        BUFFER=" ${GSH_NAME:-gsh} attach $REPLY"
        builtin zle accept-line
    fi
    return 0
}

_gsh_cancel() {
    local REPLY agent
    if _gsh_choose 'Interrupt:' --busy; then
        agent=$REPLY
        builtin zle -I
        _gsh_find && command $REPLY agent interrupt $agent </dev/null
    fi
    return 0
}

_gsh_bind() {
    local id widget key map
    for id widget in invoke_llm _gsh_invoke attach_agent _gsh_attach list_agents _gsh_list cancel_agent _gsh_cancel; do
        case $id in
            invoke_llm) key='^G' ;;
            attach_agent) key='^X^A' ;;
            list_agents) key='^X^L' ;;
            cancel_agent) key='^X^C' ;;
        esac
        (( ! $+_gsh_option[$id] )) || key=$_gsh_option[$id]
        builtin zle -N $widget
        [[ -n $key ]] || continue
        for map in emacs viins vicmd; do
            builtin bindkey -M $map -- $key $widget 2>/dev/null
            # The terminal itself handles ctrl+c before us, so the plain letter works everywhere.
            [[ $key != *?'^C' ]] || builtin bindkey -M $map -- ${key%'^C'}c $widget 2>/dev/null
        done
    done
}

# Asks click for completions of `gsh-tui`, and of `gsh` as its synonym.
_gsh_complete() {
    local REPLY kind value help
    local -a plain described lines asked
    _gsh_find 2>/dev/null || return 1
    asked=($words)
    if [[ $asked[1] != gsh-tui ]]; then
        asked[1]=(gsh-tui gsh)
        lines=("${(@f)$(COMP_WORDS="${asked[*]}" COMP_CWORD=$CURRENT _GSH_TUI_COMPLETE=zsh_complete command $REPLY 2>/dev/null)}")
    else
        lines=("${(@f)$(COMP_WORDS="${asked[*]}" COMP_CWORD=$(( CURRENT - 1 )) _GSH_TUI_COMPLETE=zsh_complete command $REPLY 2>/dev/null)}")
    fi
    for kind value help in "${lines[@]}"; do
        case $kind in
            plain) [[ $help == _ ]] && plain+=("$value") || described+=("${value//:/\\:}:$help") ;;
            dir) _path_files -/ ;;
            file) _path_files -f ;;
        esac
    done
    (( ! $#described )) || _describe -V unsorted described -U
    (( ! $#plain )) || compadd -U -V unsorted -- "${plain[@]}"
}

_gsh_name
if [[ -o zle ]]; then
    _gsh_bind
    typeset -gU fpath
    fpath+=($_gsh_home/zsh/completions)
    if (( $+functions[compdef] )); then
        compdef _gsh_complete gsh-tui ${GSH_NAME:-gsh}
    fi
fi
