"""A command of the shell: run by the hub where one runs, else in this process."""
