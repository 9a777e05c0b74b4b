"""The vendor's kit: one function becomes an oracle that anybody can ask. One brain (handler), thin transports."""
