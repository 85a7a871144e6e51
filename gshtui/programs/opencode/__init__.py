"""OpenCode and Kilo through their server."""
