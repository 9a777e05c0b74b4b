"""How an auditor reaches an anonymizer: one module per transport."""
