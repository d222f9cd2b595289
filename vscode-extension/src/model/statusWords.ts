/** The status bar entry and its details, in words. */

import type { Environment } from "../protocol";
import { count, escapeMarkdown } from "./words";

export type State = "starting" | "idle" | "tracing" | "failed" | "stopped" | "restricted";

export interface Facts {
  readonly state: State;
  readonly message: string;
  readonly environment: Environment | undefined;
  readonly breaks: number;
  /** Functions that were traced, and those that were not. */
  readonly traced: number;
  readonly notTraced: number;
}

export interface Words {
  readonly bar: string;
  readonly severity: "plain" | "warning" | "error";
  readonly headline: string;
  readonly details: readonly string[];
}

const NAME = "Graphbreak";

export function statusWords(facts: Facts): Words {
  const details = environmentWords(facts.environment);
  switch (facts.state) {
    case "starting":
      return { bar: `$(loading~spin) ${NAME}`, severity: "plain", headline: "Starting", details };
    case "tracing":
      return { bar: `$(sync~spin) ${NAME}`, severity: "plain", headline: "Tracing", details };
    case "failed":
      return { bar: `$(warning) ${NAME}`, severity: "warning", headline: facts.message || "The last trace failed", details };
    case "stopped":
      return { bar: `$(error) ${NAME}`, severity: "error", headline: facts.message || "The server is not running", details };
    case "restricted":
      return { bar: `$(shield) ${NAME}`, severity: "plain", headline: "Restricted workspace: nothing of it is run", details };
    case "idle":
      return { bar: `$(type-hierarchy-sub) ${idle(facts)}`, severity: "plain", headline: idle(facts), details };
  }
}

/** Never clean when nothing ran. */
function idle({ breaks, traced, notTraced }: Facts): string {
  if (breaks > 0) {
    return count(breaks, "graph break");
  }
  if (notTraced > 0) {
    return `${notTraced} not analysed`;
  }
  return traced > 0 ? "No graph breaks" : NAME;
}

/** torch and device on one line, the Python, then the sandbox and whatever there is to know. */
export function environmentWords(environment: Environment | undefined): string[] {
  if (environment === undefined) {
    return [];
  }
  return [torchWords(environment), sandboxWords(environment), ...environment.notes].filter((line) => line !== "");
}

export function torchWords(environment: Environment): string {
  const parts = [environment.torch ? `torch ${environment.torch}` : "no torch", environment.device ?? "", environment.python ? `Python ${environment.python}` : ""];
  return parts.filter((part) => part !== "").join(" · ");
}

export function sandboxWords(environment: Environment): string {
  return environment.sandbox.length === 0 ? "Sandbox: own process only" : `Sandbox: ${environment.sandbox.join(", ")}`;
}

/** The details as Markdown for a tooltip. */
export function statusMarkdown(words: Words): string {
  return [`**${NAME}** · ${escapeMarkdown(words.headline)}`, ...words.details.map(escapeMarkdown)].join("\n\n");
}
