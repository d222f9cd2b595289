/** What is changed on its way between the server and the editor. */

import * as vscode from "vscode";
import type { ConfigurationParams, Middleware } from "vscode-languageclient/node";
import { withPageLinks } from "./model/hoverLinks";
import { forServer } from "./model/serverSettings";
import { SECTION } from "./settings";

type InterpreterOf = (scope?: vscode.Uri) => Promise<string | undefined>;

export function middleware(interpreterOf: InterpreterOf): Middleware {
  return {
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

async function answers(params: ConfigurationParams, answer: readonly unknown[], interpreterOf: InterpreterOf): Promise<unknown[]> {
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

type Content = vscode.Hover["contents"][number];

/** Only the command that opens a page may be run from a hover: the rest of its text may come from the user's code. */
function linked(content: Content): Content {
  if (!(content instanceof vscode.MarkdownString)) {
    return content;
  }
  const text = new vscode.MarkdownString(withPageLinks(content.value), true);
  text.isTrusted = { enabledCommands: ["graphbreak.showRule"] };
  return text;
}
