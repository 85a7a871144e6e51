"""Written by `python -m tests.kit.shell_forms` from the declarations of the commands: their forms in the shell.

A test compares it with the declarations.
"""

from __future__ import annotations

from gshtui.cli.command_form import CommandForm, FormValue, GroupForm

# fmt: off
# ruff: noqa: E501

GROUPS = (
    GroupForm('agent', summary='Agents: list, start, show, attach, send, wait, kill …', help='Agents: list, start, show, attach, send, wait, interrupt, restart, rename, kill, recover.\n\nAgents outlive the window. All of this works while a window is open and without one. An ID may be written without its leading zeros; a name does, too.', synonyms=(('list', 'ls'), ('rm', 'remove'), ('delete', 'remove'))),
)
COMMANDS = (
    CommandForm('agent attach', 'gshtui.fleet.agent_calls', 'AttachAgent',
        FormValue('agent', 'id', 'agent', required=True),
        help="Show an agent full-screen in this terminal; detach with tmux's keys (ctrl+b d).\n\nWith --json it is only said what to run."),
    CommandForm('agent interrupt', 'gshtui.fleet.agent_calls', 'InterruptAgent',
        FormValue('agent', 'id', 'agent', required=True),
        help='Stop what an agent is doing; it stays.'),
    CommandForm('agent kill', 'gshtui.fleet.agent_calls', 'KillAgent',
        FormValue('agent', 'id', 'agent', required=True),
        help='End an agent for good. In a terminal it asks first and says what is unsaved.\n\nWithout a terminal to ask in, an agent that has something to lose is not ended: exit code 4. In a window a kill can\nbe undone for a while.', yes='Do not ask, also when something is unsaved.'),
    CommandForm('agent ls', 'gshtui.fleet.agent_calls', 'ListAgents',
        FormValue('everywhere', '--all', 'flag', help='Of every folder.'),
        help="List this folder's agents with status, its source and its age."),
    CommandForm('agent recover', 'gshtui.fleet.agent_calls', 'RecoverAgents',
        FormValue('agent', 'id', 'agent', required=True),
        help='Bring a lost agent back with its conversation; `all` brings back every one of this folder, one at a time.'),
    CommandForm('agent remove', 'gshtui.fleet.agent_calls', 'RemoveAgent',
        FormValue('agent', 'id', 'agent', required=True),
        help='Take an agent that has ended off the list; its conversation is kept.'),
    CommandForm('agent rename', 'gshtui.fleet.agent_calls', 'RenameAgent',
        FormValue('agent', 'id', 'agent', required=True),
        FormValue('name', 'name', required=True),
        help='Give an agent another name.'),
    CommandForm('agent restart', 'gshtui.fleet.agent_calls', 'RestartAgent',
        FormValue('agent', 'id', 'agent', required=True),
        help="End an agent's program and start it again, with its conversation where the program can.", yes='Do not ask, also in a terminal.'),
    CommandForm('agent seen', 'gshtui.fleet.agent_calls', 'MarkAgentRead',
        FormValue('agent', 'id', 'agent', required=True),
        help="Mark an agent's report as read."),
    CommandForm('agent send', 'gshtui.fleet.agent_calls', 'SendToAgent',
        FormValue('agent', 'id', 'agent', required=True),
        FormValue('text', 'text', many=-1, required=True, piped=True),
        FormValue('now', '--now', 'flag', help='Also while it is busy; otherwise it gets the words when it rests.'),
        help='Give an agent a message. TEXT - is standard input.'),
    CommandForm('agent show', 'gshtui.fleet.agent_calls', 'ShowAgent',
        FormValue('agent', 'id', 'agent', required=True),
        help="Print an agent's report; while it has none, what its terminal shows.\n\nAn agent of a window is found by its name or by its conversation's ID."),
    CommandForm('agent spawn', 'gshtui.fleet.spawn_command', 'SpawnAgent',
        FormValue('prompt', 'prompt', many=-1, piped=True),
        FormValue('name', '--name', help='A word to know it by; made unique.', metavar='N'),
        FormValue('persona', '--persona', 'persona', help='explore (reads only), test, build, or one of yours.', metavar='P'),
        FormValue('model', '--model', 'model', help="Model; default: the configuration's.", metavar='M'),
        FormValue('provider', '--provider', 'provider', help='Provider, where the model alone does not say it.', metavar='P'),
        FormValue('tools', '--tool', help='The only tools that it may use; may be repeated.', metavar='T', each=True),
        FormValue('max_iterations', '--max-iterations', 'int', help='Model requests a turn.', low=(0, False), high=(10000, False)),
        FormValue('budget_usd', '--budget', 'float', help='US dollars that it may spend.', metavar='USD', low=(0, False), high=(1000000.0, False)),
        FormValue('background', '--background', 'flag', help='It ends when its task is done; `agent show ID` prints the report.'),
        FormValue('worktree', '--worktree', help='Make a git worktree of this branch, and work there.', metavar='BRANCH'),
        FormValue('cli', '--cli', 'profile', help="Anyone's program instead of one of ours: claude, bash …", metavar='COMMAND'),
        FormValue('profile', '--profile', 'profile', help='Profile of that program; default: by its name.', metavar='P'),
        FormValue('cwd', '--cwd', 'folder', help='Folder to start in; default: this one.', metavar='FOLDER'),
        help='Start an agent in a terminal of its own and print its ID.\n\nPROMPT is what it is to do; - is standard input. Without PROMPT it waits for words.', summary='Start an agent and print its ID.'),
    CommandForm('agent wait', 'gshtui.fleet.agent_calls', 'WaitForAgent',
        FormValue('agent', 'id', 'agent', required=True),
        FormValue('statuses', '--status', help='Wait for this status, or several with commas.', metavar='S', each=True),
        FormValue('timeout', '--timeout', 'float', help='Seconds at most.', low=(0, False), high=(1000000.0, False), default=600.0),
        help='Wait until an agent rests or has ended. Ends with 124 when the time is up.'),
)
