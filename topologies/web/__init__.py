"""A page that shows runs, live or afterwards, in a browser on this machine (docs/web.md)."""
