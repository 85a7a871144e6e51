"""Commands about agents' work: approvals, prompts, the queue, the provider, rewinding, usage and outputs."""
