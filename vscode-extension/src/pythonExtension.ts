/** The environment selected in the Python extension, where that extension is installed. It is never needed. */

import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";
import { SECTION, settings } from "./settings";

const ID = "ms-python.python";
const NOTHING_SELECTED = "DEFAULT_PYTHON";
/**
 * Milliseconds. The Python extension may take long to come up; its choice is asked for until it comes, and the server is restarted then.
 * The server waits 5 s for its settings, which come with that choice.
 */
const PATIENCE = 2_000;

export class ActiveEnvironment implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  #api: Promise<PythonExtension | undefined> | undefined;
  #subscription: vscode.Disposable | undefined;
  #late = false;
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

  /** The interpreter of the selected environment, or undefined where none is selected, or where it is not known yet. */
  async interpreter(scope?: vscode.Uri): Promise<string | undefined> {
    const asked = this.#ask(scope);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        this.#awaitLate(asked);
        resolve(undefined);
      }, PATIENCE);
    });
    return Promise.race([asked, late]).finally(() => { clearTimeout(timer); });
  }

  dispose(): void {
    this.#subscription?.dispose();
    this.#installed.dispose();
    this.#changed.dispose();
  }

  /** Several may wait at once, for one start of the other extension: one of them tells. */
  #awaitLate(asked: Promise<string | undefined>): void {
    if (this.#late) {
      return;
    }
    this.#late = true;
    this.log.info("The Python extension has not said yet which environment is selected.");
    void asked.catch(() => undefined).then((interpreter) => {
      this.#late = false;
      if (interpreter !== undefined) {
        this.#changed.fire();
      }
    });
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
