"""The conversations that programs keep in files of their own, and what they used."""
