import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "dist-test", "node_modules", "bundled"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: ["./tsconfig.json", "./test/tsconfig.json"], tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines": ["error", 250],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
      "@typescript-eslint/consistent-type-imports": "error",
    },
  },
  {
    // The models are plain functions: they are tested without an editor.
    files: ["src/model/**/*.ts"],
    rules: { "no-restricted-imports": ["error", { paths: ["vscode"], patterns: ["vscode-languageclient*"] }] },
  },
  { files: ["**/*.mjs"], languageOptions: { globals: { process: "readonly" } } },
);
