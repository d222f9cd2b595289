/** Which lines of a file went where: one band for each run of lines with the same fate. */

import type { Region, Report, TracedFunction } from "../protocol";
import { baseName, count, escapeMarkdown } from "./words";

/** Colours come round again after so many graphs. */
export const COLOURS = 6;

export type Look = "graph" | "eager" | "not-reached";

export interface Band {
  readonly start: number;
  readonly end: number;
  readonly look: Look;
  /** Place of the colour, from 0; 0 for what is in no graph. */
  readonly colour: number;
  /** A few words for the end of the first line; empty where it would only repeat the line above. */
  readonly label: string;
  /** The legend, as Markdown with command links. */
  readonly legend: string;
}

interface Fate {
  readonly traced: TracedFunction;
  readonly region: Region;
}

const LOUDEST_FIRST: readonly Look[] = ["eager", "graph", "not-reached"];

/** The bands of a file, from all runs that went through it. Where they disagree, the line looks as bad as it is at worst. */
export function bandsOf(uri: string, reports: readonly Report[]): Band[] {
  const bands: Band[] = [];
  let previous: { key: string; fates: Fate[]; start: number; end: number } | undefined;
  const close = (): void => {
    if (previous !== undefined) {
      bands.push(band(previous.start, previous.end, previous.fates, bands.at(-1)));
    }
  };
  for (const [line, fates] of [...fatesByLine(uri, reports)].sort(([a], [b]) => a - b)) {
    const key = keyOf(fates);
    if (previous?.key === key && previous.end === line - 1) {
      previous.end = line;
      continue;
    }
    close();
    previous = { key, fates, start: line, end: line };
  }
  close();
  return bands;
}

/** The place of a graph's colour. */
export function colourOf(graph: number): number {
  return (((graph - 1) % COLOURS) + COLOURS) % COLOURS;
}

function fatesByLine(uri: string, reports: readonly Report[]): Map<number, Fate[]> {
  const lines = new Map<number, Fate[]>();
  for (const traced of reports.flatMap((report) => report.functions)) {
    for (const region of traced.regions) {
      if (region.uri === uri) {
        for (let line = region.start; line <= region.end; line++) {
          lines.set(line, [...(lines.get(line) ?? []), { traced, region }]);
        }
      }
    }
  }
  return lines;
}

function keyOf(fates: readonly Fate[]): string {
  return fates.map(({ traced, region }) => `${traced.uri} ${traced.name} ${region.state} ${region.graphs.join()}`).join("\n");
}

function band(start: number, end: number, fates: readonly Fate[], above: Band | undefined): Band {
  const [worst] = [...fates].sort((a, b) => LOUDEST_FIRST.indexOf(a.region.state) - LOUDEST_FIRST.indexOf(b.region.state));
  const look = worst?.region.state ?? "not-reached";
  const label = worst === undefined ? "" : labelOf(worst);
  return {
    start,
    end,
    look,
    colour: look === "graph" ? colourOf(worst?.region.graphs[0] ?? 1) : 0,
    label: above?.label === label && above.end === start - 1 ? "" : label,
    legend: fates.map(legendOf).join("\n\n"),
  };
}

function labelOf({ traced, region }: Fate): string {
  switch (region.state) {
    case "graph":
      return region.graphs.length === 1 ? `graph ${String(region.graphs[0])}` : `graphs ${region.graphs.join(", ")}`;
    case "eager":
      return traced.graphs === 0 ? "eager, no graph" : "eager";
    case "not-reached":
      return "not reached";
  }
}

function legendOf(fate: Fate): string {
  const { traced, region } = fate;
  const name = `\`${traced.name.replaceAll("`", "")}\` (${escapeMarkdown(baseName(traced.uri))})`;
  const link = `[Show graphs](command:graphbreak.showGraphs?${encodeURIComponent(JSON.stringify([traced.uri, traced.name]))})`;
  return `${sentence(region, traced)} ${name} · ${link}`;
}

function sentence(region: Region, traced: TracedFunction): string {
  switch (region.state) {
    case "graph": {
      const ops = traced.graphList.filter((graph) => region.graphs.includes(graph.number)).reduce((sum, graph) => sum + graph.ops.length, 0);
      const which = region.graphs.length === 1 ? `Graph ${String(region.graphs[0])}` : `Graphs ${region.graphs.join(", ")}`;
      return `**${which}** of ${traced.graphs} (${count(ops, "operation")}) of`;
    }
    case "eager":
      return "**Eager**: runs in Python, in no graph of";
    case "not-reached":
      return "**Not reached** by the traced call of";
  }
}
