"""Methods by name, tuned and compared as the papers do."""
