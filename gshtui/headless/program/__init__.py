"""The program itself: its health, update, removal, sign-in and settings."""
