"""The shipped test kit: what every anonymizer, and every oracle, must do."""
