"""What a shell line may do without a question: the parser, the table of programs, and the judgement."""
