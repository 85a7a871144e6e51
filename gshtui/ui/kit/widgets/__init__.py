"""Widgets that more than one feature uses: dialogs, lists, tabs, side panes and lines of input."""
