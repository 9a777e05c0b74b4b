"""The protocol's messages and tables as bytes and JSON. Knows no transport."""
