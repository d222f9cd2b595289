/** One connection to one server process. Loaded when a server is about to start, since the language client is most of the code. */

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

export interface ClientParts {
  readonly launch: Launch;
  readonly log: vscode.LogOutputChannel;
  readonly messages: vscode.LogOutputChannel;
  readonly interpreter: string | undefined;
  readonly interpreterOf: (scope?: vscode.Uri) => Promise<string | undefined>;
  /** The process ended although nobody asked it to. */
  readonly died: () => void;
}

export function createClient(parts: ClientParts): LanguageClient {
  const { command, args, cwd } = parts.launch;
  const client = new LanguageClient(SECTION, "Graphbreak", { command, args, options: { cwd } }, options(parts));
  client.registerFeature(new OwnCapabilities());
  return client;
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
      closed: () => {
        parts.died();
        return { action: CloseAction.DoNotRestart, handled: true, message: "The connection to the server ended." };
      },
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
