# Suggestions while a line is typed: your earlier commands that begin so, in grey behind the cursor.
#
# Asks the hub over its socket and shows the answer when it comes: no key waits for it, and nothing forks. Where no hub
# answers, zsh's own history is searched. With zsh-autosuggestions it is a strategy of that plugin, `gsh`, and draws
# nothing itself. Sourced by start.zsh before the first prompt, with multibyte characters as zsh counts them.

# The rest of the line that is shown, how it is highlighted, and what the hub has answered so far.
typeset -g _gsh_ghost= _gsh_ghost_mark= _gsh_heard_part=
# The connection to the hub, the number of the last question, and of the last answer.
typeset -gi _gsh_ask_fd=0 _gsh_asked=0 _gsh_answered=0
typeset -gF _gsh_asked_at=0
# Letters of a line that is still asked about, and bytes of an answer.
typeset -gir _gsh_ask_most=250 _gsh_answer_most=8000

# Whether there is something to suggest for this line at all.
_gsh_may_suggest() {
    [[ -n $1 && $1 != [[:space:]]* && $1 != '#'* && ${_gsh_option[suggestions]-} != no ]] || return 1
    (( $#1 <= _gsh_ask_most )) && [[ ! -e $_gsh_state/paused ]] || return 1
    local pattern
    for pattern in "${_gsh_ignored[@]}"; do
        [[ $1 != ${~pattern} ]] || return 1
    done
}

# The newest command of zsh's history that begins with `$1`, in REPLY.
_gsh_from_history() {
    local pattern="${(b)1}?*"
    REPLY=${history[(r)$pattern]}
    [[ -n $REPLY ]]
}

# A connection that asks, its descriptor in REPLY. A hub that did not answer lately is left alone, in all shells, each
# time twice as long: a stopped one would keep every connection in its queue, and a full queue blocks.
_gsh_open_question() {
    (( $+functions[_gsh_find_hub] )) || _gsh_load
    local silent=$_gsh_state/silent-hub
    local -a found
    if (( _gsh_has[stat] )) && builtin zstat -A found -- $silent 2>/dev/null; then
        (( found[10] + (1 << (found[8] < 9 ? found[8] : 9)) < EPOCHSECONDS || found[10] > EPOCHSECONDS )) || return 1
    fi
    _gsh_find_hub && (( _gsh_has[system] )) && builtin zsocket -- $REPLY 2>/dev/null
}

# Tells the other shells and the next questions that the hub was silent, or that it answers again.
_gsh_hub_was_silent() { builtin print -rn -- . >>$_gsh_state/silent-hub } 2>/dev/null
_gsh_hub_answered() {
    [[ ! -e $_gsh_state/silent-hub ]] || { builtin zmodload -F zsh/files b:zf_rm && builtin zf_rm -f -- $_gsh_state/silent-hub }
} 2>/dev/null

# The line that asks about `$1`, in REPLY; `$2`: its number.
_gsh_question() {
    local text cwd
    _gsh_json "$1"; text=$REPLY
    _gsh_json "${PWD[1,4000]}"; cwd=$REPLY
    _gsh_json "${_gsh_previous[1,1000]}"
    REPLY="{\"ask\":$2,\"text\":$text,\"cwd\":$cwd,\"previous\":$REPLY}"$'\n'
}
_gsh_ask_hello() { REPLY="{\"hello\":\"prompt\",\"agent\":\"\",\"pid\":${sysparams[pid]-$$}}"$'\n' }

# The answer number `$2` in what the hub has sent, in REPLY.
_gsh_answer_in() {
    local -a match mbegin mend
    [[ $1 == *"\"answer\":$2,\"text\":\""(#b)([^\"]#)\"* ]] || return 1
    REPLY=${${${${match[1]//\%0A/$'\n'}//\%5C/\\}//\%22/\"}//\%25/%}
}

# Shows `$1` behind the line.
_gsh_show_ghost() {
    [[ -z $_gsh_ghost_mark ]] || region_highlight=("${(@)region_highlight:#$_gsh_ghost_mark*}")
    POSTDISPLAY=$1 _gsh_ghost=$1 _gsh_ghost_mark=
    if [[ -n $1 ]]; then
        _gsh_ghost_mark="$#BUFFER $(( $#BUFFER + $#1 )) "
        region_highlight+=("$_gsh_ghost_mark${ZSH_AUTOSUGGEST_HIGHLIGHT_STYLE:-$_gsh_ghost_style}")
    fi
    _gsh_catch_interrupt
}

# ctrl+c ends a line without any hook, and leaves on the screen what was there: so we catch it for as long as a suggestion
# is shown, hide that, and have zsh go on as it does without us. A trap of the person's own stays, and the suggestion too.
_gsh_catch_interrupt() {
    builtin setopt local_options no_local_traps
    if [[ -z $_gsh_ghost ]]; then
        [[ ${functions[TRAPINT]-} != *_gsh_interrupted* ]] || builtin unfunction TRAPINT
    elif (( ! $+functions[TRAPINT] && _gsh_own_trap != 1 )); then
        (( _gsh_own_trap >= 0 )) || _gsh_find_trap
        (( _gsh_own_trap != 0 )) || TRAPINT() { _gsh_interrupted; return $(( 128 + $1 )) }
    fi
}

# Looks for a trap of the person's own, once a line. Only a file tells without a fork.
_gsh_find_trap() {
    local file=$_gsh_state/traps-${sysparams[pid]-$$} set=INT
    builtin zmodload -F zsh/files b:zf_rm b:zf_mkdir || return 0
    [[ -d $_gsh_state ]] || builtin zf_mkdir -p -m 700 -- $_gsh_state
    builtin trap >|$file && set=$(<$file)
    builtin zf_rm -f -- $file
    _gsh_own_trap=$(( ${#${(M)${(f)set}:#*INT}} > 0 ))
} 2>/dev/null
typeset -gi _gsh_own_trap=-1  # -1: not looked for yet

_gsh_interrupted() { ! zle || builtin zle _gsh_suggest_finish }

# Whether the cursor is where a suggestion belongs.
_gsh_at_end() { [[ $KEYMAP == vicmd ]] && (( CURSOR >= $#BUFFER - 1 )) || (( CURSOR == $#BUFFER )) }

# Before each redraw: the suggestion follows the line.
_gsh_suggest_redraw() {
    [[ -z $POSTDISPLAY || $POSTDISPLAY == $_gsh_ghost ]] || { _gsh_ghost= _gsh_ghost_mark=; return 0 }  # another plugin's
    if (( $+functions[_zsh_autosuggest_fetch_suggestion] )); then
        _gsh_suggest_finish
        _gsh_join_plugin
        add-zle-hook-widget -d line-pre-redraw _gsh_suggest_redraw
        return 0
    fi
    if [[ $CONTEXT != start || -n $PREBUFFER || $LASTWIDGET == *(history|line-or-|isearch)* ]] \
        || ! _gsh_at_end || ! _gsh_may_suggest "$BUFFER"; then
        [[ -z $POSTDISPLAY ]] || _gsh_show_ghost ''
        _gsh_ghost_line=$BUFFER
        return 0
    fi
    if [[ $BUFFER == $_gsh_ghost_line ]]; then
        # A plugin that colours the line may have thrown our colour away with its own.
        [[ -z $_gsh_ghost || -n ${(M)region_highlight:#$_gsh_ghost_mark*} ]] || _gsh_show_ghost "$_gsh_ghost"
        return 0
    fi
    local REPLY whole=$_gsh_ghost_line$_gsh_ghost
    _gsh_ghost_line=$BUFFER
    # What was the best for a part of the line is the best for more of it, if it still fits.
    if [[ -n $_gsh_ghost && $whole == $BUFFER?* ]]; then
        _gsh_show_ghost "${whole[$#BUFFER + 1,-1]}"
        return 0
    fi
    _gsh_show_ghost ''
    (( PENDING == 0 )) || { _gsh_ghost_line=; return 0 }  # more is being pasted
    if (( _gsh_asked == _gsh_answered )) && _gsh_ask_hub; then
        return 0
    fi
    # No hub, or one that is still at the last question: it gets this one all the same.
    (( ! _gsh_ask_fd )) || _gsh_ask_hub
    ! _gsh_from_history "$BUFFER" || _gsh_show_ghost "${REPLY[$#BUFFER + 1,-1]}"
}
typeset -g _gsh_ghost_line=

# Puts the question to the hub. Never waits.
_gsh_ask_hub() {
    local REPLY hello=
    local -a reply
    local -i wrote
    if (( ! _gsh_ask_fd )); then
        _gsh_open_question || return 1
        _gsh_ask_fd=$REPLY _gsh_answered=$_gsh_asked _gsh_heard_part=
        _gsh_ask_hello; hello=$REPLY
        builtin zle -F -w $_gsh_ask_fd _gsh_suggest_hear
    fi
    (( _gsh_asked != _gsh_answered )) || _gsh_asked_at=$EPOCHREALTIME
    _gsh_question "$BUFFER" $(( ++_gsh_asked ))
    builtin trap '' PIPE
    if ! { builtin zselect -t 0 -w $_gsh_ask_fd && builtin syswrite -o $_gsh_ask_fd -c wrote -- "$hello$REPLY" } 2>/dev/null; then
        _gsh_stop_asking
        return 1
    fi
}

# The hub has said something: a widget that zle calls for the descriptor `$1`, with `$2` if that is broken.
_gsh_suggest_hear() {
    local REPLY piece=
    if [[ -n ${2-} ]] || ! builtin sysread -i $1 piece 2>/dev/null || [[ $piece == *'"bye"'* ]]; then
        _gsh_stop_asking
        return 0
    fi
    _gsh_heard_part=${_gsh_heard_part[-_gsh_answer_most,-1]}$piece
    _gsh_answer_in "$_gsh_heard_part" $_gsh_asked || return 0
    _gsh_answered=$_gsh_asked _gsh_heard_part=
    _gsh_hub_answered
    [[ $BUFFER == $_gsh_ghost_line && -n $BUFFER ]] && _gsh_at_end || return 0
    [[ $REPLY == $BUFFER?* ]] || _gsh_from_history "$BUFFER" || { _gsh_show_ghost ''; builtin zle -R; return 0 }
    _gsh_show_ghost "${REPLY[$#BUFFER + 1,-1]}"
    builtin zle -R
}

# Ends the connection: the line is finished, or the hub is gone.
_gsh_stop_asking() {
    (( _gsh_ask_fd )) || return 0
    # Enter right behind a letter leaves no time for an answer; so only a question of some age counts, or one to a hub
    # that does not answer reports either.
    (( _gsh_asked == _gsh_answered || EPOCHREALTIME < _gsh_asked_at + 0.5 && _gsh_silent < 2 )) || _gsh_hub_was_silent
    builtin zle -F $_gsh_ask_fd
    builtin exec {_gsh_ask_fd}>&-
    _gsh_ask_fd=0 _gsh_answered=$_gsh_asked
}

_gsh_suggest_finish() {
    [[ -z $_gsh_ghost ]] || _gsh_show_ghost ''
    _gsh_ghost_line= _gsh_own_trap=-1
    _gsh_stop_asking
}

# Takes the suggestion, all of it or as far as the cursor goes: what the key does elsewhere it does here at the end of
# the line. `$1` is the key's widget.
_gsh_take_all() {
    if [[ -n $_gsh_ghost && $POSTDISPLAY == $_gsh_ghost ]] && _gsh_at_end; then
        BUFFER+=$_gsh_ghost
        _gsh_show_ghost ''
        CURSOR=$#BUFFER _gsh_ghost_line=$BUFFER
        [[ $KEYMAP != vicmd ]] || (( CURSOR-- ))
        return 0
    fi
    builtin zle _gsh-before-$1 -- "${@[2,-1]}"
}

_gsh_take_word() {
    if [[ -z $_gsh_ghost || $POSTDISPLAY != $_gsh_ghost ]] || ! _gsh_at_end; then
        builtin zle _gsh-before-$1 -- "${@[2,-1]}"
        return
    fi
    local typed=$BUFFER all=$BUFFER$_gsh_ghost
    local -i end status_of
    BUFFER=$all
    builtin zle _gsh-before-$1 -- "${@[2,-1]}"
    status_of=$? end=$CURSOR
    [[ $KEYMAP != vicmd ]] || (( end++ ))
    (( end >= $#typed )) || end=$#typed
    BUFFER=${all[1,end]} _gsh_ghost_line=${all[1,end]}
    _gsh_show_ghost "${all[end + 1,-1]}"
    return status_of
}

# Before completion: its list would stand behind the suggestion.
_gsh_hide() {
    [[ -z $_gsh_ghost ]] || _gsh_show_ghost ''
    _gsh_ghost_line=
    builtin zle _gsh-before-$1 -- "${@[2,-1]}"
}

# Has `$1` called instead of these widgets, with the widget's name: WIDGET is the key's, also where a widget calls another.
_gsh_wrap() {
    local widget
    for widget in "${@[2,-1]}"; do
        [[ -n ${widgets[$widget]-} && ${widgets[$widget]} != user:_gsh_* && $widget == [a-zA-Z_-]## ]] || continue
        eval "_gsh_on_$widget() { $1 $widget \"\$@\" }"
        builtin zle -A $widget _gsh-before-$widget && builtin zle -N $widget _gsh_on_$widget
    done
}

# With zsh-autosuggestions: its strategies begin with ours, unless it is among them already.
_gsh_join_plugin() {
    local -a now
    now=(${=ZSH_AUTOSUGGEST_STRATEGY})
    (( ${now[(Ie)gsh]} )) || typeset -g ZSH_AUTOSUGGEST_STRATEGY=(gsh $now)
    (( $+functions[_gsh_find_hub] )) || _gsh_load  # here, not in each process that the plugin forks
}

# That plugin calls this with the line so far and reads `suggestion`; usually in a process that it forks for the purpose,
# else while zle waits: so it gives the hub a few hundredths of a second.
_zsh_autosuggest_strategy_gsh() {
    local REPLY piece heard=
    local -a reply
    local -i fd wrote answered=0
    suggestion=
    _gsh_may_suggest "$1" && _gsh_open_question || return 0
    fd=$REPLY
    builtin trap '' PIPE
    _gsh_ask_hello; heard=$REPLY
    _gsh_question "$1" 1
    builtin syswrite -o $fd -c wrote -- "$heard$REPLY" 2>/dev/null
    heard=
    while builtin zselect -t 4 -r $fd && builtin sysread -i $fd piece 2>/dev/null; do
        heard+=$piece
        (( $#heard <= 2 * _gsh_answer_most )) || break
        if _gsh_answer_in "$heard" 1; then
            answered=1 suggestion=$REPLY
            break
        fi
    done
    builtin exec {fd}>&-
    if (( answered )); then _gsh_hub_answered; else _gsh_hub_was_silent; fi
}

() {
    builtin zmodload -F zsh/datetime p:EPOCHSECONDS p:EPOCHREALTIME 2>/dev/null
    builtin zmodload -F zsh/parameter p:history p:widgets p:functions 2>/dev/null
    builtin zmodload zsh/terminfo 2>/dev/null
    typeset -g _gsh_ghost_style=fg=8
    (( ${terminfo[colors]-0} >= 16 )) && [[ -z ${NO_COLOR-} ]] || _gsh_ghost_style=underline
    if (( $+functions[_zsh_autosuggest_fetch_suggestion] )); then
        _gsh_join_plugin
        return 0
    fi
    builtin autoload -Uz add-zle-hook-widget && autoload +X add-zle-hook-widget 2>/dev/null || return 0
    builtin zle -N _gsh_suggest_hear
    builtin zle -N _gsh_suggest_finish
    add-zle-hook-widget line-pre-redraw _gsh_suggest_redraw
    add-zle-hook-widget line-finish _gsh_suggest_finish
    _gsh_wrap _gsh_take_all forward-char vi-forward-char end-of-line vi-end-of-line vi-add-eol
    _gsh_wrap _gsh_take_word forward-word emacs-forward-word vi-forward-word vi-forward-word-end vi-forward-blank-word \
        vi-forward-blank-word-end
    # What the keys of completion do now.
    local map key
    for map in emacs viins; do
        for key in '^I' '^[[Z'; do
            _gsh_wrap _gsh_hide ${${(z)"$(builtin bindkey -M $map -- $key)"}[2]-}
        done
    done
}
