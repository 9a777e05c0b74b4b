"""Messages generated from proto/oracle/v1/oracle.proto; `python -m oracles.wire._pb.generate` makes them afresh."""
