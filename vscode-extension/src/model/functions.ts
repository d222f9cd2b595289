/** Finding the function that the user means. */

import type { Report, TracedFunction } from "../protocol";

export interface Choice {
  readonly report: Report;
  readonly traced: TracedFunction;
}

/** Every traced function, the newest word on each. */
export function allFunctions(reports: readonly Report[]): Choice[] {
  return reports.flatMap((report) => report.functions.map((traced) => ({ report, traced })));
}

export function functionNamed(reports: readonly Report[], uri: string, name: string): Choice | undefined {
  const named = allFunctions(reports).filter(({ traced }) => traced.name === name);
  return named.find(({ traced }) => traced.uri === uri) ?? named.find(({ report, traced }) => report.uri === uri || traced.markUri === uri);
}

/** The function at a line: the one whose band covers it most closely, else the nearest that begins above it. */
export function functionAt(reports: readonly Report[], uri: string, line: number): Choice | undefined {
  const here = allFunctions(reports);
  const covering = here.filter(({ traced }) => traced.regions.some((region) => region.uri === uri && region.start <= line && line <= region.end));
  const above = here.filter(({ traced }) => traced.uri === uri && headOf(traced) <= line);
  return nearest(covering.filter(({ traced }) => traced.uri === uri)) ?? covering[0] ?? nearest(above);
}

function headOf(traced: TracedFunction): number {
  return traced.markUri === traced.uri ? Math.min(traced.line, traced.markRange.start.line) : traced.line;
}

function nearest(choices: readonly Choice[]): Choice | undefined {
  return [...choices].sort((a, b) => b.traced.line - a.traced.line)[0];
}
