"""Hooks: programs of a person that are asked or told when agents do something."""
