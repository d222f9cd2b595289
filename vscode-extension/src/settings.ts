/** The extension's settings, as they are now. */

import * as vscode from "vscode";
import type { ImportStrategy } from "./model/launch";

export const SECTION = "graphbreak";

function at(scope?: vscode.ConfigurationScope): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(SECTION, scope);
}

export const settings = {
  interpreter: (scope?: vscode.ConfigurationScope): string => at(scope).get<string>("interpreter", "").trim(),
  importStrategy: (): ImportStrategy => at().get<ImportStrategy>("importStrategy", "useBundled"),
  bands: (): boolean => at().get<boolean>("bands.enable", true),
  bandLabels: (): boolean => at().get<boolean>("bands.labels", true),
  messages: (): string => at().get<string>("trace.server", "off"),
  /** Where the workspace sets it, that is what counts and what is changed. */
  setBands: (value: boolean): Thenable<void> => {
    const { Workspace, Global } = vscode.ConfigurationTarget;
    const target = at().inspect("bands.enable")?.workspaceValue === undefined ? Global : Workspace;
    return at().update("bands.enable", value, target);
  },
};

/** Calls back when one of these settings changes. */
export function onSettings(names: readonly string[], changed: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (names.some((name) => event.affectsConfiguration(`${SECTION}.${name}`))) {
      changed();
    }
  });
}
