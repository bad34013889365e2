"""FLUTE, versions 1 (RFC 3926) and 2 (RFC 6726): files as FEC-coded objects of an ALC session, described by FDTs."""
