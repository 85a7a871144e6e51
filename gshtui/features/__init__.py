"""Our features that come in by the plugins' door (`settings/contract.py`); nothing of the core imports them."""
