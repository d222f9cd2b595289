/** Reports with every address spelt the editor's way, so that addresses can be compared as text. */

import type { Report } from "../protocol";

export function normalised(report: Report, spell: (uri: string) => string): Report {
  return {
    ...report,
    uri: spell(report.uri),
    functions: report.functions.map((traced) => ({
      ...traced,
      uri: spell(traced.uri),
      markUri: spell(traced.markUri),
      regions: traced.regions.map((region) => ({ ...region, uri: spell(region.uri) })),
      graphList: traced.graphList.map((graph) => ({
        ...graph,
        ops: graph.ops.map((operation) => ({ ...operation, uri: operation.uri === null ? null : spell(operation.uri) })),
      })),
    })),
    diagnostics: report.diagnostics.map((found) => ({ ...found, uri: spell(found.uri) })),
  };
}
