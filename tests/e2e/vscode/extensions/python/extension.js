const vscode = require("vscode");

const SETTING = "defaultInterpreterPath";
/** Milliseconds that it takes to find out about environments at first, as the real one does on a slow disk. */
const SLOWNESS = "slowness";

exports.activate = () => {
  const changes = new vscode.EventEmitter();
  const path = (scope) => vscode.workspace.getConfiguration("python", scope).get(SETTING);
  const found = new Promise((resolve) => setTimeout(resolve, vscode.workspace.getConfiguration("python").get(SLOWNESS)));
  vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(`python.${SETTING}`)) {
      changes.fire({ id: path(), path: path(), resource: undefined });
    }
  });
  vscode.commands.registerCommand("python.setInterpreter", () => vscode.window.showQuickPick(["An environment"], { title: "Select Interpreter" }));
  return {
    ready: Promise.resolve(),
    environments: {
      getActiveEnvironmentPath: (scope) => ({ id: path(scope) || "DEFAULT_PYTHON", path: path(scope) || "python" }),
      onDidChangeActiveEnvironmentPath: changes.event,
      resolveEnvironment: async (environment) => {
        await found;
        return { ...environment, executable: { uri: vscode.Uri.file(environment.path) } };
      },
    },
  };
};
