"""Agents' lists of things to do: overlays of their conversations, so that no cut and no restart loses them."""
