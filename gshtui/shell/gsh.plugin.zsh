# The zsh plugin of gsh-tui: it reports your commands to the workbench, and `gsh` asks an agent at the prompt.
#
# Load it from ~/.zshrc (`gsh-tui shell install` adds the line) or by any plugin manager. It only defines a few
# functions; the rest is read when the first command runs. It refuses scripts, zsh before 5.0, and users who do not
# own the files. Nothing below depends on your own options, aliases or arrays.

if [[ -o interactive && $ZSH_VERSION != [0-4].* ]]; then
    'builtin' 'typeset' '-g' _gsh_home="${${(%):-%x}:A:h}"
    'builtin' 'emulate' '-R' 'zsh' '-o' 'no_aliases' '-o' 'extended_glob' '-o' 'no_multibyte' '-o' 'no_xtrace' \
        '-o' 'local_traps' '-c' 'builtin source "$_gsh_home/zsh/start.zsh"'
fi
