const vscode = require("vscode");

const SETTING = "defaultInterpreterPath";

exports.activate = () => {
  const changes = new vscode.EventEmitter();
  const path = (scope) => vscode.workspace.getConfiguration("python", scope).get(SETTING);
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
      resolveEnvironment: async (environment) => ({ ...environment, executable: { uri: vscode.Uri.file(environment.path) } }),
    },
  };
};
