"""The language server over the wire: a real client, a real server, and an engine that needs no torch (`fake_server`)."""
