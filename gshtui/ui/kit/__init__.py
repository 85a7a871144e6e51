"""The base of the window: the bridge to the hub, keys, widgets, drawing, and Textual itself with our patches."""
