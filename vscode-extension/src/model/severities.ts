/** How loud a finding is, where the user wants it otherwise than the server. */

import type { Kind, Severity } from "../protocol";

export type Wish = Severity | "off" | "default";
export type Wishes = Readonly<Partial<Record<Kind, Wish>>>;

const NUMBERS: Readonly<Record<Severity, number>> = { error: 0, warning: 1, information: 2, hint: 3 };

/** The severity in VS Code's numbers: undefined for the one it has already, null for none at all. */
export function wished(kind: unknown, wishes: Wishes): number | null | undefined {
  const wish = typeof kind === "string" ? wishes[kind as Kind] : undefined;
  if (wish === undefined || wish === "default") {
    return undefined;
  }
  return wish === "off" ? null : NUMBERS[wish];
}

/** The finding as the user wants it; undefined when it is to be hidden. */
export function adjusted<T extends { severity: number; data?: unknown }>(finding: T, wishes: Wishes): T | undefined {
  const data: unknown = finding.data;
  const kind = typeof data === "object" && data !== null && "kind" in data ? data.kind : undefined;
  const severity = wished(kind, wishes);
  if (severity === null) {
    return undefined;
  }
  return severity === undefined ? finding : Object.assign(Object.create(Object.getPrototypeOf(finding) as object) as T, finding, { severity });
}
