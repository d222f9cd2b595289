"""How many marked functions that nothing calls are traced with no configuration, and whether guessed inputs show what true ones do."""
