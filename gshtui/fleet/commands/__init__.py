"""Commands about agents: `agent`, `spawn`, `status`, `worktree`, `host`; and the virtual folder `/agents`."""
