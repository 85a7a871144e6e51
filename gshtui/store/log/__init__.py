"""The observability log: what agents did, as redacted JSON lines beside the record, written and searched."""
