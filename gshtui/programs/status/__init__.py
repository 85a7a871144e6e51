"""What a program does, from all sources: each piece of evidence with its rank and age, and where sources disagree."""
