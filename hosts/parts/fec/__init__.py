"""Forward error correction: a stream in blocks, each sent as RaptorQ symbols (RFC 6330), of which any few will do."""
