// Bundles the extension and the script of the graph view; with --tests, the unit tests instead. The language client is most of the code
// and a file of its own, read when a server is about to start: the editor waits for what `main.js` does and for nothing more.
import { build } from "esbuild";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const common = { bundle: true, logLevel: "warning", target: "node20", platform: "node", format: "cjs" };

if (process.argv.includes("--tests")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  await build({ ...common, entryPoints: tests.map((name) => `test/${name}`), outdir: "dist-test", outExtension: { ".js": ".cjs" }, sourcemap: "inline" });
} else {
  // A dynamic import would go around the editor's own loader, which knows the module "vscode".
  const extension = { ...common, outdir: "dist", supported: { "dynamic-import": false }, minify: true, metafile: true };
  const main = await build({ ...extension, entryPoints: ["src/main.ts"], external: ["vscode", "./client"] });
  const client = await build({ ...extension, entryPoints: ["src/client.ts"], external: ["vscode"] });
  writeFileSync("dist/NOTICES.txt", notices({ ...main.metafile.inputs, ...client.metafile.inputs }));
  await build({ ...common, entryPoints: { graphView: "src/webview/graphView.ts" }, outdir: "dist", platform: "browser", format: "iife", target: "es2022", minify: true });
}

/** The licences of what is in the bundle, as they ask for. */
function notices(inputs) {
  const folders = Object.keys(inputs).flatMap((path) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const licence = readdirSync(folder).find((file) => /^licen[sc]e/i.test(file));
    return `${name} ${version}\n\n${licence === undefined ? "" : readFileSync(`${folder}/${licence}`, "utf8").trim()}\n`;
  }).join("\n----\n\n");
}
