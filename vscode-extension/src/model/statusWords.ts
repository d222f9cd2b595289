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
  /** Fixes are being tried in the background. */
  readonly trying: boolean;
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
      return lacksTorch(facts)
        ? { bar: "$(warning) No torch", severity: "warning", headline: "No Python with torch", details }
        : { bar: `$(${facts.trying ? "beaker" : "type-hierarchy-sub"}) ${idle(facts)}`, severity: "plain", headline: headline(facts), details };
  }
}

function headline(facts: Facts): string {
  return facts.trying ? `${idle(facts)} · trying fixes` : idle(facts);
}

/** Nothing was traced, and this is why. */
function lacksTorch({ environment, traced, notTraced }: Facts): boolean {
  return environment !== undefined && !environment.torch && traced === 0 && notTraced > 0;
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

/** What can be done about each state, as commands of the editor. */
const ACTIONS: Readonly<Record<State, readonly (readonly [title: string, command: string])[]>> = {
  starting: [["Show logs", "graphbreak.showLogs"]],
  idle: [["Trace file", "graphbreak.traceFile"], ["Trace workspace", "graphbreak.traceAll"], ["Interpreter", "graphbreak.chooseInterpreter"], ["Settings", "graphbreak.openSettings"]],
  tracing: [["Cancel", "graphbreak.cancelTrace"], ["Show logs", "graphbreak.showLogs"]],
  failed: [["Show logs", "graphbreak.showLogs"], ["Trace file", "graphbreak.traceFile"], ["Restart server", "graphbreak.restartServer"]],
  stopped: [["Restart server", "graphbreak.restartServer"], ["Show logs", "graphbreak.showLogs"]],
  restricted: [["Manage trust", "workbench.trust.manage"]],
};

export const STATUS_COMMANDS = [...new Set(Object.values(ACTIONS).flatMap((actions) => actions.map(([, command]) => command)))];

/** The details, and what can be done, as Markdown for a tooltip. */
export function statusMarkdown(words: Words, state: State): string {
  const actions = ACTIONS[state].map(([title, command]) => `[${title}](command:${command})`).join(" · ");
  return [`**${NAME}** · ${escapeMarkdown(words.headline)}`, ...words.details.map(escapeMarkdown), actions].join("\n\n");
}
