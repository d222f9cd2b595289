"""Finding the programs that come by a file."""
