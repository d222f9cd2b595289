/** Where the cursor goes when example inputs are edited. */

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The arguments of the outermost last call of a directive, such as `torch.randn(8, 16)` in `# graphbreak: f(torch.randn(8, 16))`. */
export function argumentsOf(line: string): Span {
  const close = line.lastIndexOf(")");
  let depth = 0;
  for (let at = close; at >= 0; at--) {
    depth += line[at] === ")" ? 1 : line[at] === "(" ? -1 : 0;
    if (depth === 0 && close > 0) {
      return { start: at + 1, end: close };
    }
  }
  return { start: line.length, end: line.length };
}
