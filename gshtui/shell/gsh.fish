# The fish plugin of gsh-tui: it reports your commands to the workbench, and `gsh` asks an agent at the prompt.
#
# Load it from config.fish (`gsh-tui shell install fish` adds the line). It refuses scripts and fish before 3.2. The lines
# go into the spool, from where the window reads them. What begins with a space, what `[shell] ignore` names, and
# everything in private mode stays with you. Suggestions are fish's own.

# The program, on standard output.
function __gsh_find
    for program in "$GSH_TUI" (command -s gsh-tui) $__gsh_home/../../.venv/bin/gsh-tui $__gsh_home/../../../../../bin/gsh-tui
        if test -n "$program" -a -x "$program" -a ! -d "$program"
            echo $program
            return 0
        end
    end
    echo 'gsh: gsh-tui was not found; set GSH_TUI to its path.' >&2
    return 127
end

# A text of at most `$argv[2]` letters as a JSON string.
function __gsh_json
    set -l text (string sub -l $argv[2] -- "$argv[1]" | string collect)
    set text (string replace -a '\\' '\\\\' -- "$text" | string collect)
    set text (string replace -a '"' '\\"' -- "$text" | string collect)
    set text (string replace -a \n '\\n' -- "$text" | string collect)
    set text (string replace -a \t '\\t' -- "$text" | string collect)
    set text (string replace -ar '[\x00-\x1f\x7f]' ' ' -- "$text" | string collect)
    echo "\"$text\""
end

# Appends a line to the spool: the type of the event, and its fields.
function __gsh_line
    test -n "$__gsh_spool"; or return 0
    set -g __gsh_seq (math $__gsh_seq + 1)
    set -l fields ''
    test (count $argv) -lt 2; or set fields ",$argv[2]"
    # A system without parts of a second says only the second.
    set -l at (command date +%s.%N | string replace -r '\.%?N$' '')
    printf '{"v":2,"type":"%s","at":%s,"shell":"%s"%s,"seq":%d}\n' $argv[1] $at $__gsh_shell $fields $__gsh_seq 2>/dev/null >>$__gsh_spool
    return 0
end

# Whether a line is yours alone.
function __gsh_is_private
    test -n "$argv[1]"; or return 0
    string match -qr '^\s' -- "$argv[1]"; and return 0
    string match -qr '^gsh\s+run\s+--\s' -- "$argv[1]"; and return 0
    test -n "$fish_private_mode" -o -e $__gsh_state/paused; and return 0
    for pattern in $__gsh_ignored
        string match -q -- $pattern "$argv[1]"; and return 0
    end
    return 1
end

# The value of an option of the plugins, an item each.
function __gsh_option
    test -r $__gsh_state/options; or return 1
    string replace -f -r "^$argv[1]=" '' <$__gsh_state/options
end

# Once, before the first command: the file is private to you.
function __gsh_begin
    set -l data $XDG_DATA_HOME
    string match -q '/*' -- "$data"; or set data $HOME/.local/share
    set -g __gsh_shell $fish_pid-(command date +%s)-(random)(random)
    # Wider than it says is on the safe side: what fish has no pattern for stands for anything.
    set -g __gsh_ignored (__gsh_option ignore_plain | string replace -ar '\?|\[[^]]*\]' '*')
    if command sh -c 'umask 077 && mkdir -p "$1" && [ -O "$1" ] && [ ! -L "$1" ] && : >"$1/$2.jsonl"' sh $data/gsh/spool $__gsh_shell 2>/dev/null
        set -g __gsh_spool $data/gsh/spool/$__gsh_shell.jsonl
    end
    set -g __gsh_tty (__gsh_json (command tty 2>/dev/null | string collect) 200)
    set -l pane ''
    test -z "$TMUX"; or set pane $TMUX_PANE
    set -l server (string split -m1 , -- "$TMUX")[1]
    __gsh_line ShellStarted (string join '' '"pid":' $fish_pid ',"program":"fish","version":' (__gsh_json "$FISH_VERSION" 40) \
        ',"tty":' $__gsh_tty ',"pane":' (__gsh_json "$pane" 100) ',"socket":' (__gsh_json "$server" 1000) ',"host":' \
        (__gsh_json "$hostname" 300) ',"cwd":' (__gsh_json "$PWD" 4096) ',"parent":' (__gsh_json "$GSH_SHELL_ID" 100))
    set -gx GSH_SHELL_ID $__gsh_shell
end

function __gsh_started --on-event fish_preexec
    set -q __gsh_shell; or __gsh_begin
    set -g __gsh_number (math $__gsh_number + 1)
    set -g __gsh_open ''
    __gsh_is_private "$argv[1]"; and return 0
    set -g __gsh_open 1
    set -g __gsh_folder "$PWD"
    set -l cut ''
    set -l length (string length -- "$argv[1]" | string join '')
    test (count (string split \n -- "$argv[1]")) -gt 1; and set length (string length -- (string replace -a \n ' ' -- "$argv[1]"))
    test $length -le 12000; or set cut ",\"cut\":"(math $length - 12000)
    set -l pane ''
    test -z "$TMUX"; or set pane ",\"pane\":"(__gsh_json "$TMUX_PANE" 100)
    __gsh_line ShellCommandStarted (string join '' '"number":' $__gsh_number ',"command":' (__gsh_json "$argv[1]" 12000) \
        ',"cwd":' (__gsh_json "$PWD" 4096) ',"pid":' $fish_pid ',"tty":' $__gsh_tty $pane $cut)
end

function __gsh_ended --on-event fish_postexec
    set -l codes $status $pipestatus
    set -l code $codes[1]
    set -l took "$CMD_DURATION"
    if test -n "$__gsh_open"
        set -g __gsh_open ''
        __gsh_line ShellCommandFinished (string join '' '"number":' $__gsh_number ',"exit":' $code ',"pipestatus":[' \
            (string join , -- $codes[2..-1]) '],"duration":' (math "0$took / 1000") ',"cwd":' (__gsh_json "$PWD" 4096))
        if test "$PWD" != "$__gsh_folder"
            __gsh_line ShellFolderChanged (string join '' '"old":' (__gsh_json "$__gsh_folder" 4096) ',"new":' \
                (__gsh_json "$PWD" 4096))
        end
    end
    # Messages for this shell: an agent that was started here has ended.
    set -l notices $__gsh_state/notice-$__gsh_shell
    if test -s $notices -a -O $notices -a ! -L $notices; and not contains no (__gsh_option notices)
        string replace -ar '[[:cntrl:]]' '' <$notices
        printf '' >$notices
    end
    return $code
end

function __gsh_left --on-event fish_exit
    set -q __gsh_shell; and __gsh_line ShellEnded
end

# The key: the line as it is typed, whatever is in it.
function __gsh_invoke
    set -l typed (commandline | string collect)
    test -n "$(string trim -- "$typed")"; or return
    set typed (string replace -r '^gsh\s+(--\s+)?' '' -- "$typed" | string collect)
    commandline -r -- "gsh -- "(string escape -- "$typed")
    commandline -f execute
end

if status is-interactive; and string match -qr '^(3\.([2-9]|\d\d)|[4-9])' -- "$FISH_VERSION"; and not functions -q gsh
    set -g __gsh_home (status dirname)
    set -g __gsh_number 0
    set -g __gsh_seq 0
    set -g __gsh_state $XDG_STATE_HOME
    string match -q '/*' -- "$__gsh_state"; or set -g __gsh_state $HOME/.local/state
    set -g __gsh_state $__gsh_state/gsh/shell
    function gsh --description 'Ask an agent'
        set -l program (__gsh_find); or return
        command $program gsh $argv
    end
    set -gx GSH_SHELL_STATE "$fish_pid loaded"
    set -l key (__gsh_option invoke_llm | string match -r '^\^[A-Za-z]$' | string lower)
    __gsh_option invoke_llm >/dev/null; or set key '^g'
    if test -n "$key"
        for mode in default insert
            bind -M $mode (printf '\\'(printf '%03o' (math (printf '%d' "'"(string sub -s 2 -- $key)) - 96))) __gsh_invoke 2>/dev/null
        end
    end
end
