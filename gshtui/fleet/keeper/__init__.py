"""The keeper's process as the fleet starts, finds and ends it, and its unit for systemd or launchd."""
