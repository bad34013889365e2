"""Sessions of a group whose members share a secret: its text and epochs (keys.py), the line that says where a session
is (link.py), endpoints that seal what they send and open what comes (sealing.py, secured.py), and what is amiss when
nothing can be opened (complaint.py). docs/security.md says what that promises."""
