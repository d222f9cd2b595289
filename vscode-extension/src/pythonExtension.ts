/** The environment selected in the Python extension, where that extension is installed. It is never needed. */

import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

const ID = "ms-python.python";
const NOTHING_SELECTED = "DEFAULT_PYTHON";
/** The Python extension may take long to come up; it tells of its choice later, and the server is restarted then. */
const PATIENCE = 5_000;

export class ActiveEnvironment implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  #api: Promise<PythonExtension | undefined> | undefined;
  #subscription: vscode.Disposable | undefined;

  constructor(private readonly log: vscode.LogOutputChannel) {}

  /** The interpreter of the selected environment, or undefined where none is selected. */
  async interpreter(scope?: vscode.Uri): Promise<string | undefined> {
    return Promise.race([this.#ask(scope), new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE, undefined))]);
  }

  dispose(): void {
    this.#subscription?.dispose();
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
    if (vscode.extensions.getExtension(ID) === undefined) {
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
