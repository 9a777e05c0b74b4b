"""Signatures of audits: Ed25519 keys, DSSE envelopes, and the in-toto statement about the files of a folder.

keys        a private key to sign with, a public key to verify with; the only module that knows `cryptography`
envelope    a signed text in a file (DSSE 1.0): what is signed, as what, and by whom
statement   what is signed: an in-toto Statement v1 with the test-result predicate about the files of an audit
"""
