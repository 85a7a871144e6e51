"""What people and agents ask of an agent's context: the commands, their words, and who may look at or change whose."""
