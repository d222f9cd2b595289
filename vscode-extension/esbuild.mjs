// Bundles the extension and the script of the graph view; with --tests, the unit tests instead.
import { build } from "esbuild";
import { readdirSync } from "node:fs";

const common = { bundle: true, logLevel: "warning", target: "node20", platform: "node", format: "cjs" };

if (process.argv.includes("--tests")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: tests.map((name) => `test/${name}`), outdir: "dist-test", outExtension: { ".js": ".cjs" }, sourcemap: "inline" });
} else {
  await build({ ...common, entryPoints: ["src/main.ts"], outdir: "dist", external: ["vscode"], minify: true, legalComments: "linked" });
  await build({ ...common, entryPoints: { graphView: "src/webview/graphView.ts" }, outdir: "dist", platform: "browser", format: "iife", target: "es2022", minify: true });
}
