/** What is changed on its way between the server and the editor. */

import * as vscode from "vscode";
import type { ConfigurationParams, HandleDiagnosticsSignature, Middleware } from "vscode-languageclient/node";
import { withPageLinks } from "./model/hoverLinks";
import { forServer } from "./model/serverSettings";
import { adjusted } from "./model/severities";
import { SECTION, settings } from "./settings";

export function middleware(shown: Shown, interpreterOf: (scope?: vscode.Uri) => Promise<string | undefined>): Middleware {
  return {
    handleDiagnostics: (uri, diagnostics, next) => { shown.take(uri, diagnostics, next); },
    provideCodeLenses: (document, token, next) => (settings.lens(document) ? next(document, token) : []),
    provideHover: async (document, position, token, next) => {
      const hover = await next(document, position, token);
      return hover && new vscode.Hover(hover.contents.map(linked), hover.range);
    },
    workspace: {
      configuration: async (params, token, next) => {
        const answer = await next(params, token);
        return Array.isArray(answer) ? answers(params, answer, interpreterOf) : answer;
      },
    },
  };
}

async function answers(
  params: ConfigurationParams,
  answer: readonly unknown[],
  interpreterOf: (scope?: vscode.Uri) => Promise<string | undefined>,
): Promise<unknown[]> {
  return Promise.all(
    params.items.map(async ({ section, scopeUri }, place) => {
      const raw = answer[place];
      if (section !== SECTION || typeof raw !== "object" || raw === null) {
        return raw;
      }
      const scope = scopeUri === undefined ? undefined : vscode.Uri.parse(scopeUri);
      return forServer(raw as Record<string, unknown>, await interpreterOf(scope));
    }),
  );
}

/** Only the command that opens a page may be run from a hover: the rest of its text may come from the user's code. */
function linked(content: vscode.MarkdownString | vscode.MarkedString): vscode.MarkdownString | vscode.MarkedString {
  if (!(content instanceof vscode.MarkdownString)) {
    return content;
  }
  const text = new vscode.MarkdownString(withPageLinks(content.value), true);
  text.isTrusted = { enabledCommands: ["graphbreak.showRule"] };
  return text;
}

/** The findings as the server sent them, so that they can be shown anew when the user wants other severities. */
export class Shown {
  readonly #received = new Map<string, () => void>();

  take(uri: vscode.Uri, diagnostics: vscode.Diagnostic[], show: HandleDiagnosticsSignature): void {
    const again = (): void => {
      const wishes = settings.severity(uri);
      show(uri, diagnostics.map((found) => adjusted(found, wishes)).filter((found) => found !== undefined));
    };
    this.#received.set(uri.toString(), again);
    again();
  }

  again(): void {
    for (const show of this.#received.values()) {
      show();
    }
  }

  clear(): void {
    this.#received.clear();
  }
}
