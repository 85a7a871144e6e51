"""The composition root: everything but the faces, built in order and stopped in reverse."""
