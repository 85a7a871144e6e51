"""What adapters share: history and text as APIs want them, streams, retries, refusals, errors, connections."""
