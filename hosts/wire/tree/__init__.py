"""A stream whose packets can be told from wrong ones as they come: hashes of them are sent ahead."""
