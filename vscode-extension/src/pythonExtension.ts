/** The environment selected in the Python extension, where that extension is installed. It is never needed. */

import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";
import { SECTION, settings } from "./settings";

const ID = "ms-python.python";
const NOTHING_SELECTED = "DEFAULT_PYTHON";
/** The Python extension may take long to come up; it tells of its choice later, and the server is restarted then. */
const PATIENCE = 5_000;

export class ActiveEnvironment implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  #api: Promise<PythonExtension | undefined> | undefined;
  #subscription: vscode.Disposable | undefined;
  readonly #installed: vscode.Disposable;

  constructor(private readonly log: vscode.LogOutputChannel) {
    let known = isInstalled();
    this.#installed = vscode.extensions.onDidChange(() => {
      if (known !== isInstalled()) {
        known = !known;
        this.#api = undefined;
        this.#changed.fire();
      }
    });
  }

  /** The interpreter of the selected environment, or undefined where none is selected. */
  async interpreter(scope?: vscode.Uri): Promise<string | undefined> {
    return Promise.race([this.#ask(scope), new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE, undefined))]);
  }

  dispose(): void {
    this.#subscription?.dispose();
    this.#installed.dispose();
    this.#changed.dispose();
  }

  async #ask(scope: vscode.Uri | undefined): Promise<string | undefined> {
    const api = await (this.#api ??= this.#connect());
    const active = api?.environments.getActiveEnvironmentPath(scope);
    if (api === undefined || active === undefined || active.id === NOTHING_SELECTED) {
      return undefined;
    }
    const environment = await api.environments.resolveEnvironment(active);
    return environment?.executable.uri?.fsPath;
  }

  async #connect(): Promise<PythonExtension | undefined> {
    if (!isInstalled()) {
      return undefined;
    }
    try {
      const api = await PythonExtension.api();
      this.#subscription = api.environments.onDidChangeActiveEnvironmentPath(() => { this.#changed.fire(); });
      return api;
    } catch (error) {
      this.log.warn(`The Python extension does not say which environment is selected: ${String(error)}`);
      return undefined;
    }
  }
}

/** Lets the user choose: in the Python extension, unless that is not there or our own setting goes before its choice. */
export async function chooseInterpreter(): Promise<void> {
  if (isInstalled() && settings.interpreter() === "") {
    await vscode.commands.executeCommand("python.setInterpreter");
  } else {
    await vscode.commands.executeCommand("workbench.action.openSettings", `${SECTION}.interpreter`);
  }
}

function isInstalled(): boolean {
  return vscode.extensions.getExtension(ID) !== undefined;
}
