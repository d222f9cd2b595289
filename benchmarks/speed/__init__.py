"""How fast the product is, told in multiples of what it cannot do without: `make bench` writes benchmarks/RESULTS.md."""
