/** One connection to one server process. Loaded when a server is about to start, since the language client is most of the code. */

import { type ChildProcess, spawn } from "node:child_process";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  type FeatureState,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  type StaticFeature,
} from "vscode-languageclient/node";
import { middleware } from "./middleware";
import type { Launch } from "./model/launch";
import { SECTION } from "./settings";

const ANSWER_TIME = 4_000;
/** Milliseconds in which a server that was told to end has to be gone. */
const GRACE = 3_000;

export interface ClientParts {
  readonly launch: Launch;
  readonly log: vscode.LogOutputChannel;
  readonly messages: vscode.LogOutputChannel;
  readonly interpreter: string | undefined;
  readonly interpreterOf: (scope?: vscode.Uri) => Promise<string | undefined>;
  /** The process ended although nobody asked it to. */
  readonly died: () => void;
}

/** The language client, with a process that is ours: its end is the one sure sign, whatever the client was just doing. */
export class ServerClient extends LanguageClient {
  #child: ChildProcess | undefined;

  constructor(parts: ClientParts) {
    super(SECTION, "Graphbreak", () => Promise.resolve((this.#child = startProcess(parts))), options(parts));
    this.registerFeature(new OwnCapabilities());
  }

  /** The client shows errors of the connection in a message box each. They belong in the log: what the user must know, we say. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  /** Say goodbye; a process that does not go then is ended. */
  async end(): Promise<void> {
    await this.dispose(ANSWER_TIME).catch((error: unknown) => { this.debug(`While stopping: ${String(error)}`); });
    const child = this.#child;
    if (child?.exitCode === null && child.signalCode === null) {
      setTimeout(() => child.kill("SIGKILL"), GRACE).unref();
    }
  }
}

function startProcess({ launch, log, died }: ClientParts): ChildProcess {
  const child = spawn(launch.command, launch.args, { cwd: launch.cwd });
  child.once("error", (error) => {
    log.error(error.message);
    died();
  });
  child.once("exit", died);
  return child;
}

function options(parts: ClientParts): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: "file", language: "python" }],
    diagnosticCollectionName: SECTION,
    outputChannel: parts.log,
    traceOutputChannel: parts.messages,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: initializationOptions(parts.interpreter),
    middleware: middleware(parts.interpreterOf),
    initializationFailedHandler: () => false,
    // Restarts are ours: the client's own have no pause between them.
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: "The connection to the server ended." }),
    },
  };
}

/** The server takes trust only here: later settings can take it away and not give it. */
function initializationOptions(interpreter: string | undefined): Record<string, unknown> {
  const trusted = vscode.workspace.isTrusted;
  return interpreter === undefined ? { trusted } : { trusted, interpreter };
}

/** Tells the server that this client knows its own notifications and implements the commands of its lenses. */
class OwnCapabilities implements StaticFeature {
  fillClientCapabilities(capabilities: { experimental?: unknown }): void {
    const others = typeof capabilities.experimental === "object" ? capabilities.experimental : {};
    capabilities.experimental = { ...others, graphbreakStatus: true, graphbreakCommands: true };
  }

  initialize(): void {
    // nothing depends on the server's answer
  }

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {
    // nothing is kept
  }
}
