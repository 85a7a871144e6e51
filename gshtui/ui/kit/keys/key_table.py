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
    group: str = ""
    """Empty: that of the first part of its id."""
    show: bool = False
    priority: bool = False
    row: bool = False
    """It acts on a row of the pane, and is in the row's menu."""
    action: str = ""
    """What the palette calls it, verb and noun, where the footer's word is not that."""

    @property
    def name(self) -> str:
        """Verb and noun, in two or three words."""
        return self.action or self.label


def hint_word(label: str) -> str:
    """A label as it stands behind its key: every line of hints writes it small."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


ANYWHERE = "Anywhere"
PANES = "Panes"
IN_PANE = "In a side pane"
LISTS = "Lists and viewers"
TURN = "Conversation"
TRANSCRIPT = "In the conversation"
SHELL = "In the shell log"
DIFF = "In a changes tab"
TYPING = "Typing into a terminal"
INPUT = "Input line"

_GROUPS = {
    "app": ANYWHERE,
    "panes": PANES,
    "tabs": PANES,
    "pane": IN_PANE,
    "sessions": LISTS,
    "list": LISTS,
    "text": LISTS,
    "agents": "In the agents list",
    "diff": DIFF,
    "context": "In the context pane",
    "timeline": "In the timeline",
    "inspector": "In the inspector",
    "receipt": "In a receipt",
    "summary": "Waiting summary",
    "terminal": "In a terminal tab",
    "shell": SHELL,
    "servers": "In the MCP servers tab",
    "run": "In the tab of a workflow's run",
    "replay": "In a replay",
    "settings": "In the settings",
    "prompt": INPUT,
    "chat": INPUT,
    "queue": "Queued prompts",
    "transcript": TRANSCRIPT,
    "conversation": TRANSCRIPT,
    "confirm": "Questions",
    "form": "Forms",
    "approval": "Approvals",
}
"""The groups of the first parts of ids."""
_KEYS = {
    "app.palette": Key("ctrl+p", "Palette", "Open the command palette", show=True, priority=True),
    "app.help": Key("f1", "Help", "Show the keys that work here", show=True, action="Show help"),
    "app.help_here": Key(
        "question_mark", "Help", "Show the keys that work here (in an empty input: the most useful ones)"
    ),
    "app.quit": Key(
        "ctrl+q",
        "Quit",
        "Quit; agents in tmux keep running",
        show=True,
        priority=True,
        action="Quit workbench",
    ),
    "app.copy": Key(
        "ctrl+c,super+c", "Copy", "Copy what is selected, else clear the input, else interrupt", priority=True
    ),
    "app.back": Key("escape", "Back", "Go back to the input; from there, interrupt the turn"),
    "app.suspend": Key("ctrl+z", "Suspend", "Suspend until `fg` (input: undo)", action="Suspend workbench"),
    "app.models": Key("f2", "Change model", "Choose another model"),
    "model.effort": Key("alt+t", "Change effort", "Change how hard the model thinks", TURN),
    "app.sessions": Key("f3", "Open conversation", "Continue another conversation"),
    "sessions.folders": Key(
        "tab", "Next list", "List the conversations of all folders, the archived ones, or this folder's"
    ),
    "spawn.form": Key("tab", "Options", "Set the new agent's task, worktree, mode and more", LISTS),
    "sessions.branch": Key("shift+tab", "Next branch", "List the conversations of the next branch only"),
    "sessions.rename": Key("ctrl+r", "Rename", "Rename the marked conversation"),
    "sessions.archive": Key("ctrl+t", "Archive", "Archive the marked conversation, or take it back"),
    "sessions.remove": Key("ctrl+d", "Remove", "Remove the marked conversation", priority=True),
    "app.calls": Key("alt+k", "Open call", "Join a room of agents and people"),
    "app.servers": Key("alt+m", "MCP servers", "Start, stop and add MCP servers", action="Show MCP servers"),
    "app.workflows": Key("alt+x", "Workflows", "Follow a workflow, or start one", action="Show workflows"),
    "agents.spawn": Key("f8", "New agent", "Start ours, Claude Code or another", ANYWHERE, action="Start agent"),
    "mode.next": Key(
        "shift+tab", "Change mode", "Change how much the agent may do before it asks: plan, ask, edit, auto", TURN
    ),
    "agents.waiting": Key(
        "alt+w",
        "Next waiting agent",
        "Go to the next agent that waits",
        ANYWHERE,
        priority=True,
        action="Show waiting agent",
    ),
    "diff.open": Key("f5", "Show changes", "Review changed files", ANYWHERE),
    "context.inspect": Key("f7", "Inspect context", "Read what the model is sent", ANYWHERE, priority=True),
    "python.variables": Key(
        "alt+v",
        "Python variables",
        "List the agent's Python variables",
        ANYWHERE,
        action="Show Python variables",
    ),
    "app.setup": Key("alt+i", "Set up", "Connect a model, choose a theme", action="Open setup"),
    "app.notices": Key("alt+h", "Notices", "Show the notices of this window", action="Show notices"),
    "app.theme": Key("f4", "Change theme", "Choose another theme"),
    "app.settings": Key("alt+g", "Settings", "Open settings", action="Change settings"),
    "session.continue": Key(
        "alt+c",
        "Continue last",
        "Go on where you left off here",
        TURN,
        action="Continue last conversation",
    ),
    "panes.next": Key("f6", "Next pane", "Move to the next pane", show=True, priority=True),
    "panes.previous": Key("shift+f6", "Previous pane", "Move to the previous pane", priority=True),
    "panes.chat": Key("alt+1", "Go to chat", "Move to the input"),
    "panes.agents": Key("alt+2", "Agents pane", "Move to the agents, or back", action="Show agents pane"),
    "panes.shell": Key("alt+3", "Shell log pane", "Move to the shell log, or back", action="Show shell log"),
    "panes.context": Key("alt+4", "Context pane", "Move to the context, or back", action="Show context pane"),
    "panes.timeline": Key("alt+5", "Timeline pane", "Move to the timeline, or back", action="Show timeline pane"),
    "panes.sides": Key("alt+0", "Toggle side panes", "Hide or show all side panes"),
    "panes.left": Key("alt+left", "Left", "Move to the pane on the left"),
    "panes.right": Key("alt+right", "Right", "Move to the pane on the right"),
    "panes.up": Key("alt+up", "Up", "Move to the pane above, or from the input to the conversation"),
    "panes.down": Key("alt+down", "Down", "Move to the pane below, or from the conversation to the input"),
    "panes.zoom": Key("alt+z,f11", "Zoom pane", "Show this pane alone, or all again"),
    "panes.narrower": Key("alt+shift+left", "Narrow pane", "Move the nearest edge to the left"),
    "panes.wider": Key("alt+shift+right", "Widen pane", "Move the nearest edge to the right"),
    "panes.reset": Key("alt+shift+z", "Reset layout", "Reset the pane layout"),
    "tabs.next": Key("ctrl+pagedown", "Next tab", "Show the next tab", priority=True),
    "tabs.previous": Key("ctrl+pageup", "Previous tab", "Show the previous tab", priority=True),
    "terminal.shared": Key("f9", "Open shared shell", "Open the shell shared with agents", PANES),
    "pane.zoom": Key("z", "Zoom", "Zoom this pane to the whole screen, or back", show=True),
    "pane.hide": Key("x", "Hide", "Hide this pane", show=True),
    "pane.narrower": Key("less_than_sign", "Narrower", "Make this pane narrower"),
    "pane.wider": Key("greater_than_sign", "Wider", "Make this pane wider"),
    "pane.shorter": Key("minus", "Shorter", "Make this pane shorter"),
    "pane.taller": Key("plus", "Taller", "Make this pane taller"),
    "agents.up": Key("up,k", "Up", "Previous agent"),
    "agents.down": Key("down,j", "Down", "Next agent"),
    "agents.home": Key("home", "First", "Go to the first agent"),
    "agents.end": Key("end,G", "Last", "Go to the last agent"),
    "agents.open": Key(
        "enter", "Open", "Open it in a tab: conversation or terminal", show=True, row=True, action="Open agent"
    ),
    "agents.menu": Key("space,full_stop", "Menu", "Show the available actions", show=True),
    "agents.attach": Key(
        "a", "Attach full screen", "Show its terminal full screen", row=True, action="Attach to agent"
    ),
    "agents.report": Key("r", "Show report", "Show its report", row=True, action="Show agent's report"),
    "agents.message": Key("m", "Message", "Send it a message", show=True, row=True, action="Message agent"),
    "agents.context": Key("v", "Inspect agent", "Show exactly what is sent to its model", row=True),
    "agents.interrupt": Key("i", "Interrupt agent", "Interrupt what it is doing; the agent stays", show=True, row=True),
    "agents.changes": Key("d", "Show agent's changes", "Show the changes in its worktree", row=True),
    "agents.rename": Key("n", "Rename agent", "Rename it", row=True),
    "agents.options": Key(
        "o",
        "Program's options",
        "Choose its program's mode, model and others",
        row=True,
        action="Change program's options",
    ),
    "agents.copy": Key(
        "c,y", "Copy command", "Copy the command to attach to it", row=True, action="Copy attach command"
    ),
    "agents.fork": Key("f", "Fork agent", "Start a copy of it with its conversation and its files", row=True),
    "agents.restart": Key("R", "Restart agent", "Stop its process and start it again", row=True),
    "agents.recover": Key("b", "Recover agent", "Recover a lost agent with its conversation", row=True),
    "agents.kill": Key(
        "delete,K", "Kill", "End its program, after showing what is unsaved", show=True, row=True, action="Kill agent"
    ),
    "agents.undo": Key("u", "Undo kill", "Undo the kill, while its process still runs", row=True),
    "agents.finish": Key(
        "F", "Finish worktree", "Merge its worktree's branch, and remove both, after showing what happens", row=True
    ),
    "agents.archive": Key("A", "Archive agent", "Archive", row=True),
    "agents.unarchive": Key("U", "Unarchive agent", "Put it back into the list", row=True),
    "agents.remove": Key(
        "D", "Remove agent", "Remove an ended agent from the list; its conversation is kept", row=True
    ),
    "agents.filter": Key("slash", "Filter agents", "List only agents with these words, or waiting, idle …"),
    "agents.group": Key("g", "Group by folder", "Toggle grouping by folder", action="Group agents"),
    "agents.all": Key("e", "List all agents", "Also list agents of other folders and all that have ended"),
    "shell.up": Key("up,k", "Up", "Previous row"),
    "shell.down": Key("down,j", "Down", "Next row"),
    "shell.page_up": Key("pageup,ctrl+u", "Page up", "Scroll back one screen"),
    "shell.page_down": Key("pagedown,ctrl+d", "Page down", "Scroll forward one screen"),
    "shell.home": Key("home,g", "Oldest", "Go to the oldest row"),
    "shell.end": Key("end,G", "Newest", "Go to the newest row and follow new ones"),
    "shell.filter": Key(
        "slash", "Filter", "Show only rows that contain these words", show=True, action="Filter shell log"
    ),
    "shell.failed": Key(
        "f", "Failed", "Show only failed commands, or all again", show=True, action="Show failed commands"
    ),
    "shell.folder": Key(
        "d", "Only this folder", "Show only this folder's commands, or all again", action="Show folder's commands"
    ),
    "shell.terminal": Key(
        "t",
        "Only this terminal",
        "Show only commands from this terminal, or all again",
        action="Show terminal's commands",
    ),
    "shell.back": Key("escape", "All", "Clear the filters"),
    "shell.menu": Key("space,full_stop", "Menu", "Show the available actions"),
    "shell.open": Key("enter", "Open", "Show its output and its details", show=True, row=True, action="Open command"),
    "shell.copy": Key("y", "Copy", "Copy the command", show=True, row=True, action="Copy command"),
    "shell.copy_output": Key("Y", "Copy output", "Copy its output", row=True),
    "shell.again": Key(
        "r", "Run again", "Copy it to the input line, to run it again", show=True, row=True, action="Run command again"
    ),
    "shell.ask": Key(
        "a",
        "Ask",
        "Add it with its output to the prompt, to ask about it",
        show=True,
        row=True,
        action="Ask about command",
    ),
    "shell.pin": Key("p", "Pin output", "Pin it with its output in the agent's context", row=True),
    "shell.note": Key("n", "Add note", "Add a note to the log", row=True),
    "diff.up": Key("up,k", "Up", "Up one line"),
    "diff.down": Key("down,j", "Down", "Down one line"),
    "diff.mark_up": Key("shift+up,K", "Mark up", "Mark one line more above, for a comment"),
    "diff.mark_down": Key("shift+down,J", "Mark down", "Mark one line more below, for a comment"),
    "diff.page_up": Key("pageup,ctrl+u", "Page up", "Up one screen"),
    "diff.page_down": Key("pagedown,ctrl+d", "Page down", "Down one screen"),
    "diff.home": Key("home,g", "Top", "Go to the first change"),
    "diff.end": Key("end,G", "End", "Go to the last change"),
    "diff.left": Key("left,h", "Left", "Scroll left in long lines"),
    "diff.right": Key("right,l", "Right", "Scroll right in long lines"),
    "diff.next_hunk": Key("n,space", "Next hunk", "Next change", show=True),
    "diff.previous_hunk": Key("N", "Previous hunk", "Previous change"),
    "diff.next_file": Key("right_square_bracket,f", "Next file", "Next file", show=True),
    "diff.previous_file": Key("left_square_bracket,F", "Previous file", "Previous file"),
    "diff.files": Key("tab", "Files", "Move to the list of files, or back"),
    "diff.columns": Key("s", "Columns", "Old and new side by side, or below one another"),
    "diff.copy": Key("y", "Copy", "Copy the selection, or the change under the cursor", show=True),
    "diff.copy_all": Key("Y", "Copy all", "Copy all changes"),
    "diff.comment": Key("c", "Comment", "Comment on the line or the marked lines, or change the comment", show=True),
    "diff.uncomment": Key("delete", "Remove comment", "Remove the comment on the line"),
    "diff.send": Key("S", "Send", "Send all comments to the agent, as one message", show=True),
    "diff.stage": Key("a", "Stage", "Stage the change under the cursor", show=True, row=True),
    "diff.discard": Key("d", "Discard", "Discard the change under the cursor, after you confirm", row=True),
    "diff.edit": Key("e", "Edit", "Edit the lines of the change under the cursor"),
    "diff.reload": Key("r", "Reload", "Reload"),
    "diff.patch": Key("p", "Patch", "Write all changes to a patch file", row=True),
    "diff.merge": Key("M", "Merge", "Merge it into its base, after you confirm", row=True),
    "diff.close": Key("x", "Close", "Close the tab", show=True),
    "servers.menu": Key("space,full_stop", "Menu", "Show the available actions", show=True),
    "servers.doctor": Key("d", "Check", "Start it, and say what works and what does not", show=True, row=True),
    "servers.accept": Key("A", "Accept", "Let a folder's server run, or offer its changed tools", show=True, row=True),
    "servers.restart": Key("R", "Restart", "End it and start it again", show=True, row=True),
    "servers.enable": Key("e", "Switch on", "Give agents its tools again", row=True),
    "servers.disable": Key("o", "Switch off", "Take its tools from agents without removing it", row=True),
    "servers.remove": Key("D", "Remove", "Remove it from your configuration", row=True),
    "servers.add": Key("a", "Add", "Add a server to your configuration", show=True),
    "servers.import": Key("i", "Import", "Add the servers that other programs have configured", show=True),
    "servers.details": Key("tab", "Details", "Move to what is said of it, or back"),
    "servers.reload": Key("r", "Reload", "Reload"),
    "servers.close": Key("x", "Close", "Close the tab; servers keep running", show=True),
    "run.menu": Key("space,full_stop", "Menu", "Show the available actions"),
    "run.cancel": Key("c", "Cancel", "End the run, with everything that its steps started", show=True, row=True),
    "run.resume": Key("r", "Resume", "Go on with the run where it stopped", show=True, row=True),
    "run.details": Key("tab", "Output", "Move to the step's output, or back", show=True),
    "run.copy": Key("y", "Copy", "Copy the selection, or the step's output", show=True),
    "run.close": Key("x", "Close", "Close the tab; the run goes on", show=True),
    "context.up": Key("up,k", "Up", "Previous section"),
    "context.down": Key("down,j", "Down", "Next section"),
    "context.open": Key(
        "enter,space", "Inspect", "Open the section in the inspector", show=True, action="Inspect section"
    ),
    "context.menu": Key("full_stop", "Menu", "Show the available actions"),
    "context.compact": Key(
        "c", "Compact", "Preview a compaction, apply or not", show=True, row=True, action="Compact context"
    ),
    "context.prune": Key("p", "Prune", "Preview pruning, apply or not", show=True, row=True, action="Prune context"),
    "context.clear": Key(
        "C", "Start over", "Preview starting over, apply or not", row=True, action="Start context over"
    ),
    "context.tune": Key("t", "Set thresholds", "Set when and how context is cut", row=True),
    "context.what_if": Key("w", "What if", "Show the context with another model", row=True, action="Try another model"),
    "timeline.left": Key("left,h", "Earlier", "Previous request"),
    "timeline.right": Key("right,l", "Later", "Next request"),
    "timeline.page_left": Key("pageup", "Page back", "Back one screen"),
    "timeline.page_right": Key("pagedown", "Page forward", "Forward one screen"),
    "timeline.home": Key("home,g", "Beginning", "Go to the first request"),
    "timeline.end": Key("end,G", "Now", "Go to the newest request and follow new ones"),
    "timeline.closer": Key("plus,equals_sign", "Zoom in", "Wider marks", action="Zoom timeline in"),
    "timeline.farther": Key("minus", "Zoom out", "Narrower marks", action="Zoom timeline out"),
    "timeline.next_cut": Key("n", "Next cut", "Go to the next cut, undo or error", action="Show next cut"),
    "timeline.previous_cut": Key(
        "N", "Previous cut", "Go to the previous cut, undo or error", action="Show previous cut"
    ),
    "timeline.open": Key(
        "enter,space", "Open", "Open the receipt of a cut, or the request", show=True, action="Open cut"
    ),
    "timeline.menu": Key("full_stop", "Menu", "Show the available actions"),
    "timeline.inspect": Key(
        "i", "Inspect", "Show what this request sent", show=True, row=True, action="Inspect request"
    ),
    "timeline.diff": Key(
        "d", "Compare", "Compare this request with the previous one", row=True, action="Compare requests"
    ),
    "timeline.undo": Key("u", "Undo", "Undo the cut before this request", show=True, row=True, action="Undo cut"),
    "inspector.up": Key("up,k", "Up", "Up one line"),
    "inspector.down": Key("down,j", "Down", "Down one line"),
    "inspector.page_up": Key("pageup,ctrl+u", "Page up", "Up one screen"),
    "inspector.page_down": Key("pagedown,ctrl+d", "Page down", "Down one screen"),
    "inspector.home": Key("home,g", "Top", "Go to the first line"),
    "inspector.end": Key("end,G", "End", "Go to the last line"),
    "inspector.open": Key("enter,space", "Open", "Open or fold the item under the cursor", show=True),
    "inspector.menu": Key("full_stop", "Menu", "Show the available actions"),
    "inspector.fold": Key("left,h", "Fold", "Fold it, or go to its parent"),
    "inspector.unfold": Key("right,l", "Unfold", "Open it"),
    "inspector.open_all": Key("o", "Open all", "Open all sections, or fold all"),
    "inspector.request": Key("r", "As sent", "Show the exact bytes of the request, or the sections", show=True),
    "inspector.search": Key("slash", "Search", "Search everything", show=True),
    "inspector.next": Key("n", "Next", "Next match"),
    "inspector.previous": Key("N", "Previous", "Previous match"),
    "inspector.copy": Key("y", "Copy", "Copy the selection, or the block under the cursor", show=True),
    "inspector.copy_all": Key("Y", "Copy all", "Copy the whole request as it is sent"),
    "inspector.pin": Key("p", "Pin", "Pin this block so it is never cut, or unpin it", show=True, row=True),
    "inspector.restore": Key("u", "Restore", "Send this block in full again", show=True, row=True),
    "inspector.earlier": Key("left_square_bracket", "Earlier", "Previous request", show=True),
    "inspector.later": Key("right_square_bracket", "Later", "Next request"),
    "inspector.now": Key("right_curly_bracket", "Next request", "Show what would be sent now"),
    "inspector.diff": Key("d", "Compare", "Compare with the previous request, or stop comparing", show=True),
    "inspector.diff_with": Key("D", "Compare with", "Choose a request or an agent to compare with", row=True),
    "inspector.compact": Key("c", "Compact", "Preview a compaction, apply or not", row=True),
    "inspector.prune": Key("P", "Prune", "Preview pruning, apply or not", row=True),
    "inspector.clear": Key("C", "Clear", "Preview starting over, apply or not", row=True),
    "inspector.tune": Key("t", "Thresholds", "Set when and how context is cut", row=True),
    "inspector.what_if": Key("w", "What if", "Show the context with another model", row=True),
    "inspector.reload": Key("R", "Reload", "Reload"),
    "inspector.close": Key("x", "Close", "Close the tab", show=True),
    "receipt.do": Key("enter,ctrl+s", "Apply", "Apply what the preview shows", show=True),
    "receipt.undo": Key("U", "Undo", "Undo this cut: what it removed is sent again", show=True),
    "receipt.restore": Key("u", "Restore", "Send the item under the cursor in full again", show=True),
    "receipt.edit": Key("e", "Edit summary", "Edit the summary", show=True),
    "receipt.accept": Key("a", "Accept", "Accept the waiting summary", show=True),
    "receipt.reject": Key("r", "Reject", "Reject the waiting summary; nothing is cut", show=True),
    "receipt.copy": Key("y", "Copy", "Copy the selection, or the item under the cursor", show=True),
    "receipt.close": Key("escape,q", "Close", "Close without changing anything", show=True),
    "summary.accept": Key("1", "Accept", "Accept the summary", show=True),
    "summary.edit": Key("2", "Edit", "Edit the summary", show=True),
    "summary.editor": Key("ctrl+g,alt+e", "Editor", "Write it in $VISUAL or $EDITOR", priority=True),
    "summary.reject": Key("3", "Reject", "Reject it; what is sent does not change", show=True),
    "summary.open": Key("enter,space", "Read", "Read it, with what would be cut", show=True),
    "summary.back": Key("escape", "Back", "Leave it waiting", show=True),
    "confirm.yes": Key("y", "Yes", "Do it", show=True),
    "confirm.no": Key("n,escape", "No", "Cancel", show=True),
    "form.submit": Key("ctrl+s", "Submit", "Submit the form", show=True),
    "form.close": Key("escape", "Cancel", "Close without doing anything", show=True),
    "replay.pause": Key("space,p", "Pause", "Pause or go on", show=True),
    "replay.back": Key("left,h", "Back", "Go back 5 seconds"),
    "replay.forward": Key("right,l", "Forward", "Go forward 5 seconds"),
    "replay.previous": Key("left_square_bracket", "Previous prompt", "Go back to a prompt"),
    "replay.next": Key("right_square_bracket", "Next prompt", "Go forward to a prompt", show=True),
    "replay.slower": Key("minus", "Slower", "Play slower"),
    "replay.faster": Key("plus", "Faster", "Play faster", show=True),
    "replay.start": Key("home,g", "Start", "Go to the start"),
    "replay.end": Key("end,G", "End", "Go to the end"),
    "replay.edit": Key("e", "Edit prompt", "Leave the replay to change this prompt and go on from it", show=True),
    "settings.reset": Key("ctrl+r", "Reset", "Let the default apply again", show=True),
    "settings.check": Key("ctrl+t", "Check", "Ask the provider of this row a short question", show=True),
    "list.choose": Key("enter", "Choose", "Choose the highlighted entry", show=True),
    "list.close": Key("escape", "Close", "Close without choosing", show=True),
    "text.close": Key("escape,q", "Close", "Close the viewer", show=True),
    "text.copy": Key("y", "Copy", "Copy the selection, or everything", show=True, priority=True),
    "text.top": Key("g,home", "Top", "Go to the beginning"),
    "text.bottom": Key("G,end", "End", "Go to the end"),
    "prompt.submit": Key("enter", "Send", "Send the prompt"),
    "prompt.newline": Key("alt+enter,shift+enter,ctrl+j", "Newline", "Start a new line"),
    "prompt.complete": Key("tab", "Complete", "Complete the word, or choose the highlighted entry"),
    "prompt.history": Key("ctrl+r", "History", "Search earlier prompts", show=True, action="Search sent prompts"),
    "prompt.editor": Key("alt+e", "Editor", "Write in $VISUAL or $EDITOR", show=True, action="Open editor"),
    "prompt.paste": Key("ctrl+v", "Paste picture", "Put the picture on the clipboard into the prompt, else text"),
    "prompt.open_paste": Key("alt+o", "Open paste", "Show the folded text under the cursor"),
    "prompt.line_start": Key("ctrl+a,home", "Line start", "Move to the beginning of the line"),
    "prompt.line_end": Key("ctrl+e,end", "Line end", "Move to the end of the line"),
    "prompt.right": Key("right,ctrl+f", "Right", "Move one character right"),
    "prompt.word_right": Key("alt+f,ctrl+right", "Word right", "Move one word right"),
    "prompt.word_left": Key("alt+b,ctrl+left", "Word left", "Move one word left"),
    "prompt.delete_to_end": Key("ctrl+k", "Delete to end", "Delete to the end of the line"),
    "prompt.delete_to_start": Key("ctrl+u,super+backspace", "Delete to start", "Delete to the line's start"),
    "prompt.delete_back": Key("ctrl+w", "Delete back", "Delete back to a space"),
    "prompt.delete_word_left": Key(
        "alt+backspace,ctrl+backspace", "Delete word left", "Delete to the beginning of the word"
    ),
    "prompt.delete_word_right": Key("alt+d,alt+delete", "Delete word", "Delete to the end of the word"),
    "prompt.yank": Key(
        "ctrl+y", "Put back", "Put back what was deleted last, or cleared", action="Restore deleted text"
    ),
    "prompt.yank_older": Key(
        "alt+y", "Put back older", "Replace it with what was deleted before", action="Restore older text"
    ),
    "prompt.undo": Key(
        "ctrl+z,ctrl+underscore,ctrl+slash,super+z", "Undo", "Undo the last change of the text", action="Undo typing"
    ),
    "prompt.redo": Key("alt+r,ctrl+shift+z,super+y", "Redo", "Redo what was undone", action="Redo typing"),
    "chat.page_up": Key("pageup", "Page up", "Scroll the conversation (or the tab in front) back one screen"),
    "chat.page_down": Key("pagedown", "Page down", "Scroll it forward one screen"),
    "chat.home": Key("ctrl+home", "Beginning", "Go to its beginning; first, to the beginning of a long draft"),
    "chat.end": Key("ctrl+end", "End", "Go to its end and follow it; first, to the end of a long draft"),
    "chat.previous_prompt": Key(
        "ctrl+up,alt+p", "Previous prompt", "Show your previous prompt, at the top", action="Show previous prompt"
    ),
    "chat.next_prompt": Key(
        "ctrl+down,alt+n", "Next prompt", "Show your next prompt, or the end", action="Show next prompt"
    ),
    "queue.focus": Key("alt+q", "Go to queue", "Go to the queued prompts", INPUT),
    "queue.up": Key("up,k", "Up", "Previous prompt"),
    "queue.down": Key("down,j", "Down", "Next prompt"),
    "queue.edit": Key("enter,e", "Edit", "Edit the queued prompt", show=True),
    "queue.send": Key("s", "Send", "Send the prompt that is held", show=True),
    "queue.withdraw": Key("delete,backspace,d", "Withdraw", "Withdraw the prompt", show=True),
    "queue.back": Key("escape", "Back", "Back to the input", show=True),
    # Before any widget sees it: the keys behind it go to the question, however fast they come.
    "approval.focus": Key("ctrl+g", "Answer", "Go to the waiting question", priority=True, action="Answer question"),
    "approval.allow": Key(
        "alt+a", "Allow once", "Allow once what the waiting row says in full, else go to the question", priority=True
    ),
    "approval.refuse": Key(
        "alt+u", "Deny with reason", "Go to the waiting question, and write why it is denied", priority=True
    ),
    "approval.up": Key("up,left", "Up", "Mark the previous answer"),
    "approval.down": Key("down,right", "Down", "Mark the next answer"),
    "approval.choose": Key("enter", "Choose", "Give the marked answer", show=True),
    "approval.give": Key("enter", "Deny", "Deny with the reason that is written", show=True),
    "approval.save": Key("enter", "Save, allow", "Save the rule that is written, and allow", show=True),
    "approval.once": Key("1", "Allow once", "Allow once"),
    "approval.session": Key("2", "For the session", "Allow this exact call for the session"),
    "approval.always": Key("3", "Always", "Always allow: shows the rule first"),
    "approval.deny": Key("4", "Deny", "Deny"),
    "approval.reason": Key("5", "Deny with reason", "Deny with a reason that the agent gets"),
    "approval.next": Key("right_square_bracket", "Next", "Show the next question"),
    "approval.previous": Key("left_square_bracket", "Previous", "Show the previous question"),
    "approval.next_hunk": Key("n", "Next hunk", "Go to the next change"),
    "approval.previous_hunk": Key("N", "Previous hunk", "Go to the previous change"),
    "approval.scroll_up": Key("k", "Scroll up", "Scroll the question up"),
    "approval.scroll_down": Key("j", "Scroll down", "Scroll the question down"),
    "approval.page_up": Key("pageup", "Page up", "Scroll the question up by a page"),
    "approval.page_down": Key("pagedown,space", "Page down", "Scroll the question down by a page"),
    "approval.back": Key("escape", "Back", "Leave the question waiting", show=True),
    "transcript.up": Key("up,k", "Up", "Previous block"),
    "transcript.down": Key("down,j", "Down", "Next block"),
    "transcript.page_up": Key("pageup,ctrl+u", "Page up", "Scroll back one screen"),
    "transcript.page_down": Key("pagedown,ctrl+d", "Page down", "Scroll forward one screen"),
    "transcript.home": Key("home,g", "Beginning", "Go to the oldest loaded entry"),
    "transcript.end": Key("end,G", "End", "Go to the end and follow new output", show=True),
    "transcript.previous_prompt": Key("ctrl+up,p", "Previous prompt", "Go to your previous prompt"),
    "transcript.next_prompt": Key("ctrl+down,P", "Next prompt", "Go to your next prompt, or the end"),
    "transcript.toggle": Key("enter,space", "Open", "Open or fold the call or thought", show=True, action="Open block"),
    "transcript.copy": Key(
        "y", "Copy", "Copy the selection, or the block under the cursor", show=True, action="Copy block"
    ),
    "transcript.copy_answer": Key("Y", "Copy answer", "Copy the whole answer, as written", show=True),
    "transcript.copy_code": Key("c", "Copy code", "Copy the nearest code block", show=True),
    "transcript.open_turn": Key("t", "Open turn", "Open the turn's calls and thoughts, or fold them"),
    "transcript.open_all": Key(
        "o", "Open all", "Open all calls and thoughts, or fold them", show=True, action="Open all calls"
    ),
    "transcript.edit": Key("e", "Edit prompt", "Go back to before the prompt under the cursor, and change it"),
    "transcript.fork": Key(
        "f", "Fork", "Fork the conversation at this message, or before this prompt", action="Fork conversation"
    ),
    "transcript.receipt": Key("r", "Receipt", "Show what was cut from the context or an output", action="Show receipt"),
    "transcript.search": Key("slash", "Search", "Search the conversation", show=True, action="Search conversation"),
    "transcript.next": Key("n", "Next", "Next match, further back"),
    "transcript.previous": Key("N", "Previous", "Previous match"),
    "transcript.search_close": Key("escape", "Close", "Close the search"),
    "transcript.search_end": Key("escape", "Close search", "Close the search from among its matches"),
    "transcript.search_next": Key("up", "Older", "Next match, further back"),
    "transcript.search_previous": Key("down", "Newer", "Previous match"),
    "conversation.terminal": Key("s", "Terminal", "Show the terminal of this agent", show=True),
    "conversation.close": Key("x", "Close", "Close the agent's tab; the agent keeps running", show=True),
    "call.close": Key("x", "Close", "Close the call's tab; you stay in the call", TRANSCRIPT, show=True),
    "terminal.type": Key("enter", "Type", "Type into the terminal; every key goes there", show=True),
    "terminal.attach": Key("ctrl+o", "Full screen", "Attach to it full screen, like `tmux attach`", show=True),
    "terminal.search": Key("slash", "Search", "Search the screen and the scrollback", show=True),
    "terminal.copy": Key("y", "Copy", "Copy the selection, or the screen", show=True),
    "terminal.conversation": Key("s", "Conversation", "Show the conversation of this agent", show=True),
    "terminal.command": Key("c", "Copy command", "Copy the command to attach to it", show=True),
    "terminal.close": Key("x", "Close", "Close the tab; the agent keeps running", show=True),
    "terminal.next": Key("n", "Next", "Next match, further back"),
    "terminal.previous": Key("N", "Previous", "Previous match"),
    "terminal.up": Key("up,k", "Up", "Scroll back one line"),
    "terminal.down": Key("down,j", "Down", "Scroll forward one line"),
    "terminal.page_up": Key("pageup,ctrl+u", "Page up", "Scroll back one screen"),
    "terminal.page_down": Key("pagedown,ctrl+d", "Page down", "Scroll forward one screen"),
    "terminal.home": Key("home,g", "Beginning", "Go to the oldest line in the scrollback"),
    "terminal.end": Key("end,G", "Now", "Go back to the live screen"),
    "terminal.back": Key("escape", "Now", "Clear the search or selection and go back to the live screen"),
    "terminal.leave": Key(
        "ctrl+right_square_bracket,f12",
        "Stop typing",
        "Stop typing and return the keys to the window",
        TYPING,
        show=True,
        priority=True,
    ),
    "tabs.view": Key(
        "alt+s",
        "Terminal or chat",
        "Show the terminal of the agent whose tab is in front in place of its conversation, or back",
        TURN,
        show=True,
    ),
}
KEYS = {
    id: key if key.group else msgspec.structs.replace(key, group=_GROUPS[id.partition(".")[0]])
    for id, key in _KEYS.items()
}


def bind(id: str, action: str) -> Binding:
    """A row of the table as a `Binding` for this action. Raises `KeyError`: no such row."""
    key = KEYS[id]
    return Binding(key.keys, action, key.label, show=key.show, priority=key.priority, id=id, tooltip=key.help)
