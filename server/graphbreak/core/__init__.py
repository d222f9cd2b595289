"""Plain values and pure functions: no LSP, no torch, no I/O. Read in the order of the flow: `source`, `marks`, `inputs`, `tracing`,
`events`, `causes`, `functions`, `breaks`, `explain`, `analysis`."""
