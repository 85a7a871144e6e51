"""The key table: every key of the workbench, by id, in one place; `[keybindings]` in the configuration remaps by id.

A widget takes its `Binding`s from here by `bind`, so that help, footer, remapping and the clash check all read one
list. Keys that tmux (ctrl+b) or a shell's line editor owns are left alone where a person types.
"""

from __future__ import annotations

import msgspec
from textual.binding import Binding


class Key(msgspec.Struct, frozen=True):
    """One row of the table. `keys`: Textual's names, comma-separated. `label`: the footer's word."""

    keys: str
    label: str
    help: str
    group: str
    show: bool = False
    priority: bool = False


ANYWHERE, PANES, IN_PANE, LISTS, TURN = "Anywhere", "Panes", "In a side pane", "Lists and viewers", "Conversation"

TRANSCRIPT = "In the conversation"
AGENTS, DIFF = "In the list of agents", "In a tab of changes"
TERMINAL, TYPING = "In a terminal tab", "Typing into a terminal"

KEYS: dict[str, Key] = {
    "app.palette": Key("ctrl+p", "Palette", "Open the command palette", ANYWHERE, show=True, priority=True),
    "app.help": Key("f1", "Help", "Show the keys that work here", ANYWHERE, show=True),
    "app.help_here": Key("question_mark", "Help", "Show the keys that work here (where you are not typing)", ANYWHERE),
    "app.quit": Key("ctrl+q", "Quit", "Leave the workbench; agents in tmux go on", ANYWHERE, show=True, priority=True),
    "app.copy": Key(
        "ctrl+c,super+c", "Copy", "Copy what is selected; with nothing selected, interrupt", ANYWHERE, priority=True
    ),
    "app.back": Key("escape", "Back", "Go back to the input; from there, interrupt the turn", ANYWHERE),
    "app.suspend": Key(
        "ctrl+z", "Suspend", "Put the workbench to sleep (in the input: undo); `fg` brings it back", ANYWHERE
    ),
    "app.models": Key("f2", "Model", "Choose another model", ANYWHERE),
    "app.sessions": Key("f3", "Conversations", "Continue another conversation", ANYWHERE),
    "agents.spawn": Key("f8", "New agent", "Start another agent, in a terminal of its own", ANYWHERE),
    "diff.open": Key("f5", "Changes", "Show what a worktree holds against its base", ANYWHERE),
    "app.theme": Key("f4", "Theme", "Choose another theme", ANYWHERE),
    "session.continue": Key("alt+c", "Continue last", "Continue the last conversation of this folder", TURN),
    "panes.next": Key("f6", "Next pane", "Move to the next pane", PANES, show=True, priority=True),
    "panes.previous": Key("shift+f6", "Previous pane", "Move to the previous pane", PANES, priority=True),
    "panes.chat": Key("alt+1", "Chat", "Move to the input", PANES),
    "panes.agents": Key("alt+2", "Agents", "Show and move to the agents; again: hide them", PANES),
    "panes.shell": Key("alt+3", "Shell log", "Show and move to the shell log; again: hide it", PANES),
    "panes.context": Key("alt+4", "Context", "Show and move to the context; again: hide it", PANES),
    "panes.timeline": Key("alt+5", "Timeline", "Show and move to the timeline; again: hide it", PANES),
    "panes.sides": Key("alt+0", "Side panes", "Hide all side panes, or bring them back", PANES),
    "panes.left": Key("alt+left", "Left", "Move to the pane on the left", PANES),
    "panes.right": Key("alt+right", "Right", "Move to the pane on the right", PANES),
    "panes.up": Key("alt+up", "Up", "Move to the pane above", PANES),
    "panes.down": Key("alt+down", "Down", "Move to the pane below", PANES),
    "panes.zoom": Key("alt+z,f11", "Zoom", "Give the pane in front the whole screen, or take it back", PANES),
    "panes.narrower": Key("alt+shift+left", "Narrower", "Move the nearest edge to the left", PANES),
    "panes.wider": Key("alt+shift+right", "Wider", "Move the nearest edge to the right", PANES),
    "panes.reset": Key("alt+shift+z", "Reset layout", "All panes as they were at first", PANES),
    "tabs.next": Key("ctrl+pagedown", "Next tab", "Show the next tab", PANES, priority=True),
    "tabs.previous": Key("ctrl+pageup", "Previous tab", "Show the previous tab", PANES, priority=True),
    "terminal.shared": Key("f9", "Shared shell", "Open the shell that you and the agents share", PANES),
    "pane.zoom": Key("z", "Zoom", "Give this pane the whole screen, or take it back", IN_PANE, show=True),
    "pane.hide": Key("x", "Hide", "Hide this pane", IN_PANE, show=True),
    "pane.narrower": Key("less_than_sign", "Narrower", "Make this pane narrower", IN_PANE),
    "pane.wider": Key("greater_than_sign", "Wider", "Make this pane wider", IN_PANE),
    "pane.shorter": Key("minus", "Shorter", "Make this pane shorter", IN_PANE),
    "pane.taller": Key("plus", "Taller", "Make this pane taller", IN_PANE),
    "agents.up": Key("up,k", "Up", "The agent above", AGENTS),
    "agents.down": Key("down,j", "Down", "The agent below", AGENTS),
    "agents.open": Key("enter", "Open", "Open its terminal in a tab", AGENTS, show=True),
    "agents.menu": Key("space,full_stop", "Menu", "Show what can be done with it", AGENTS, show=True),
    "agents.attach": Key("a", "Full screen", "Give its terminal the whole screen", AGENTS),
    "agents.report": Key("r", "Report", "Show its report", AGENTS),
    "agents.message": Key("m", "Message", "Write to it", AGENTS, show=True),
    "agents.interrupt": Key("i", "Interrupt", "Stop what it is doing; it stays", AGENTS),
    "agents.changes": Key("d", "Changes", "Show what its worktree holds", AGENTS),
    "agents.rename": Key("n", "Rename", "Give it another name", AGENTS),
    "agents.copy": Key("c,y", "Copy command", "Copy the command that attaches to it", AGENTS),
    "agents.restart": Key("R", "Restart", "End what runs of it, and start it again", AGENTS),
    "agents.recover": Key("b", "Bring back", "Recover it with its conversation, once it was lost", AGENTS),
    "agents.kill": Key("delete,K", "Kill", "End it, once you have seen what is unsaved", AGENTS, show=True),
    "agents.undo": Key("u", "Undo kill", "Let a killed one go on, for a while", AGENTS),
    "agents.remove": Key("D", "Remove", "Take one that has ended off the list; its conversation is kept", AGENTS),
    "agents.all": Key("e", "All", "List also those of other folders and all that have ended", AGENTS),
    "diff.up": Key("up,k", "Up", "A line up", DIFF),
    "diff.down": Key("down,j", "Down", "A line down", DIFF),
    "diff.page_up": Key("pageup,ctrl+u", "Page up", "A screen up", DIFF),
    "diff.page_down": Key("pagedown,ctrl+d", "Page down", "A screen down", DIFF),
    "diff.home": Key("home,g", "Top", "To the first change", DIFF),
    "diff.end": Key("end,G", "End", "To the last change", DIFF),
    "diff.left": Key("left,h", "Left", "Towards the beginning of long lines", DIFF),
    "diff.right": Key("right,l", "Right", "Towards the end of long lines", DIFF),
    "diff.next_hunk": Key("n,space", "Next hunk", "The next change", DIFF, show=True),
    "diff.previous_hunk": Key("N", "Previous hunk", "The change before", DIFF),
    "diff.next_file": Key("right_square_bracket,f", "Next file", "The next file", DIFF, show=True),
    "diff.previous_file": Key("left_square_bracket,F", "Previous file", "The file before", DIFF),
    "diff.files": Key("tab", "Files", "Go to the list of files, or back", DIFF),
    "diff.copy": Key("y", "Copy", "Copy the selection, or else the change under the cursor", DIFF, show=True),
    "diff.copy_all": Key("Y", "Copy all", "Copy all of the changes", DIFF),
    "diff.reload": Key("r", "Reload", "Look again", DIFF, show=True),
    "diff.patch": Key("p", "Patch", "Write all of it to a patch file", DIFF),
    "diff.merge": Key("M", "Merge", "Merge it into its base, once you have confirmed", DIFF),
    "diff.close": Key("x", "Close", "Close the tab", DIFF, show=True),
    "confirm.yes": Key("y", "Yes", "Do it", "Questions", show=True),
    "confirm.no": Key("n,escape", "No", "Leave all as it is", "Questions", show=True),
    "form.submit": Key("ctrl+s", "Do it", "Take what is written, and close", "Forms", show=True),
    "form.close": Key("escape", "Close", "Close, and do nothing", "Forms", show=True),
    "list.choose": Key("enter", "Choose", "Take the highlighted entry", LISTS, show=True),
    "list.close": Key("escape", "Close", "Close without choosing", LISTS, show=True),
    "text.close": Key("escape,q", "Close", "Close the viewer", LISTS, show=True),
    "text.copy": Key("y", "Copy", "Copy all of the text", LISTS, show=True),
    "text.top": Key("g,home", "Top", "Go to the beginning", LISTS),
    "text.bottom": Key("G,end", "End", "Go to the end", LISTS),
    "prompt.submit": Key("enter", "Send", "Send what is written", "Input line", show=True),
    "prompt.newline": Key("shift+enter,alt+enter,ctrl+j", "Newline", "Begin a new line", "Input line"),
    "prompt.complete": Key("tab", "Complete", "Complete the word, or choose what is marked", "Input line"),
    "prompt.history": Key("ctrl+r", "History", "Search what was sent before", "Input line", show=True),
    "prompt.editor": Key("ctrl+e", "Editor", "Write in $VISUAL or $EDITOR", "Input line", show=True),
    "prompt.open_paste": Key("alt+o", "Open paste", "Show the folded text under the cursor", "Input line"),
    "prompt.word_right": Key("alt+f,ctrl+right", "Word right", "Go one word to the right", "Input line"),
    "prompt.word_left": Key("alt+b,ctrl+left", "Word left", "Go one word to the left", "Input line"),
    "prompt.delete_word_right": Key("alt+d,alt+delete", "Delete word", "Delete up to the word's end", "Input line"),
    "queue.focus": Key("alt+q", "Queue", "Go to the prompts that wait", "Input line"),
    "queue.up": Key("up,k", "Up", "The prompt before", "Waiting prompts"),
    "queue.down": Key("down,j", "Down", "The next prompt", "Waiting prompts"),
    "queue.edit": Key("enter,e", "Edit", "Change the prompt that waits", "Waiting prompts", show=True),
    "queue.withdraw": Key("delete,backspace,d", "Withdraw", "Take the prompt back", "Waiting prompts", show=True),
    "queue.back": Key("escape", "Back", "Back to the input line", "Waiting prompts", show=True),
    "approval.focus": Key("ctrl+g,alt+a", "Answer", "Go to the question that waits for you", "Approvals"),
    "approval.once": Key("1,y", "Allow once", "Allow this one call", "Approvals", show=True),
    "approval.session": Key("2", "Session", "Allow this exact call until the session ends", "Approvals", show=True),
    "approval.always": Key("3", "Always", "Always allow the pattern that is shown", "Approvals", show=True),
    "approval.deny": Key("4,n", "Deny", "Refuse this call", "Approvals", show=True),
    "approval.reason": Key("5", "Deny, why", "Refuse, with a reason that the agent reads", "Approvals", show=True),
    "approval.next": Key("right,right_square_bracket", "Next", "Show the next question", "Approvals"),
    "approval.previous": Key("left,left_square_bracket", "Previous", "Show the question before", "Approvals"),
    "approval.up": Key("up,k", "Up", "Scroll the question up", "Approvals"),
    "approval.down": Key("down,j", "Down", "Scroll the question down", "Approvals"),
    "approval.page_up": Key("pageup", "Page up", "Scroll the question up by a page", "Approvals"),
    "approval.page_down": Key("pagedown,space", "Page down", "Scroll the question down by a page", "Approvals"),
    "approval.back": Key("escape", "Back", "Leave the question waiting", "Approvals", show=True),
    "transcript.up": Key("up,k", "Up", "The block before", TRANSCRIPT),
    "transcript.down": Key("down,j", "Down", "The next block", TRANSCRIPT),
    "transcript.page_up": Key("pageup,ctrl+u", "Page up", "A screen towards the beginning", TRANSCRIPT),
    "transcript.page_down": Key("pagedown,ctrl+d", "Page down", "A screen towards the end", TRANSCRIPT),
    "transcript.home": Key("home,g", "Beginning", "To the oldest entry that is loaded", TRANSCRIPT),
    "transcript.end": Key("end,G", "End", "To the end, and stay there as more comes", TRANSCRIPT, show=True),
    "transcript.toggle": Key("enter,space", "Open", "Open or fold the call or thought", TRANSCRIPT, show=True),
    "transcript.open_all": Key("o", "Open all", "Open all calls and thoughts, or fold them", TRANSCRIPT, show=True),
    "transcript.copy": Key("y", "Copy", "Copy the selection, or the block under the cursor", TRANSCRIPT, show=True),
    "transcript.search": Key("slash", "Search", "Search in the conversation", TRANSCRIPT, show=True),
    "transcript.next": Key("n", "Next", "The next place that was found, further back", TRANSCRIPT),
    "transcript.previous": Key("N", "Previous", "The place found before", TRANSCRIPT),
    "transcript.search_close": Key("escape", "Close", "End the search", TRANSCRIPT),
    "transcript.search_next": Key("up", "Older", "The next place, further back", TRANSCRIPT),
    "transcript.search_previous": Key("down", "Newer", "The place found before", TRANSCRIPT),
    "terminal.type": Key("enter", "Type", "Type into the terminal: every key goes there", TERMINAL, show=True),
    "terminal.attach": Key("a", "Full screen", "Give it the whole screen, as `tmux attach` does", TERMINAL, show=True),
    "terminal.search": Key("slash", "Search", "Search on the screen and above it", TERMINAL, show=True),
    "terminal.copy": Key("y", "Copy", "Copy the selection, or else the screen", TERMINAL, show=True),
    "terminal.command": Key("c", "Copy command", "Copy the command that attaches to it", TERMINAL, show=True),
    "terminal.close": Key("x", "Close", "Close the tab; the agent goes on", TERMINAL, show=True),
    "terminal.next": Key("n", "Next", "The next place that was found, further back", TERMINAL),
    "terminal.previous": Key("N", "Previous", "The place found before", TERMINAL),
    "terminal.up": Key("up,k", "Up", "A line towards the past", TERMINAL),
    "terminal.down": Key("down,j", "Down", "A line towards now", TERMINAL),
    "terminal.page_up": Key("pageup,ctrl+u", "Page up", "A screen towards the past", TERMINAL),
    "terminal.page_down": Key("pagedown,ctrl+d", "Page down", "A screen towards now", TERMINAL),
    "terminal.home": Key("home,g", "Beginning", "To the oldest line that the terminal keeps", TERMINAL),
    "terminal.end": Key("end,G", "Now", "Back to what the terminal shows now", TERMINAL),
    "terminal.back": Key("escape", "Now", "End the search or selection, and go back to now", TERMINAL),
    "terminal.leave": Key(
        "ctrl+right_square_bracket,f12", "Stop typing", "Take the keys back", TYPING, show=True, priority=True
    ),
}


def bind(id: str, action: str) -> Binding:
    """The `Binding` of a row of the table for this action.

    Raises:
        KeyError: no such row.
    """
    key = KEYS[id]
    return Binding(key.keys, action, key.label, show=key.show, priority=key.priority, id=id, tooltip=key.help)
