"""The agents in terminals: started, followed, recovered, written to and ended."""
