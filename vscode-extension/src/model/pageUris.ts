/** Addresses of the read-only documents: `graphbreak:/rule/GB0059.md`, `graphbreak:/explain/scale/Guards.txt?...`. */

export const SCHEME = "graphbreak";

export interface PageParts {
  readonly path: string;
  readonly query: string;
}

export type Page =
  | { readonly type: "rule"; readonly code: string }
  | { readonly type: "explain"; readonly uri: string; readonly name: string; readonly artifact: string };

/** The page's address. What the path shows is for the eye; the query says it all. */
export function toParts(page: Page): PageParts {
  const query = JSON.stringify(page);
  if (page.type === "rule") {
    return { path: `/rule/${plain(page.code)}.md`, query };
  }
  return { path: `/explain/${plain(page.name)}/${plain(page.artifact)}${suffix(page.artifact)}`, query };
}

export function fromQuery(query: string): Page | undefined {
  try {
    const value: unknown = JSON.parse(query);
    return isPage(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isPage(value: unknown): value is Page {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  const page = value as Record<string, unknown>;
  const texts = page["type"] === "rule" ? [page["code"]] : [page["uri"], page["name"], page["artifact"]];
  return (page["type"] === "rule" || page["type"] === "explain") && texts.every((text) => typeof text === "string");
}

/** Names of functions have dots and angle brackets. */
function plain(text: string): string {
  return text.replace(/[^\w .()-]+/g, "_");
}

/** Graph code and decompiled code are Python; the rest is for no language. */
function suffix(artifact: string): string {
  return /graph|decompiled/i.test(artifact) ? ".py" : ".txt";
}
