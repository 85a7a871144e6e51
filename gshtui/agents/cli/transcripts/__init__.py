"""What somebody else's program sent its model, reconstructed from the transcript that it keeps; one reader a format."""
