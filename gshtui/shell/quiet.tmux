# One shell in one terminal, as if there were no tmux: no keys, no status line, the terminal's own scrolling. It ends with
# its terminal. What an older tmux does not know is passed over.
set -g prefix None
set -g prefix2 None
unbind -a
unbind -a -T root
set -g status off
set -g mouse off
set -g destroy-unattached on
set -g history-limit 10000
set -s escape-time 0
set -g set-titles on
set -g set-titles-string "#T"
set -ga terminal-overrides ",*:smcup@:rmcup@"
set -gq default-terminal "tmux-256color"
set -gq focus-events on
set -gq set-clipboard on
set -gq allow-passthrough on
