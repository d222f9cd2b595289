"""What `graphbreak record` costs the program that it runs, and whether the model's file alone is then traced with what it kept."""
