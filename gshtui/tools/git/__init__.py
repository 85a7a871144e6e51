"""Git for agents and people: commits, hunks, checkpoints and worktrees.

`git.py` runs git; `shadow_repository.py` keeps the checkpoints that a rewind goes back to; the `worktree_…` modules
make, set up, show, fork and finish the worktrees of agents.
"""
