"""What `keyfold shell` is made of: entries, names, completion, the session, the terminal."""
