"""The vendor's kit: serve an anonymizer over gRPC, HTTP or standard input and output, all with one handler."""
