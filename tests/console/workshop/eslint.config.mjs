import js from "@eslint/js";

/** What the modules find in a browser. */
const BROWSER = ["Blob", "AbortController", "AbortSignal", "addEventListener", "clearInterval", "clearTimeout", "crypto",
  "CSS", "document", "DOMException", "Event", "fetch", "getSelection", "history", "innerHeight", "location",
  "MutationObserver", "navigator", "Node", "performance", "queueMicrotask", "scrollTo", "scrollY", "sessionStorage", "setInterval", "setTimeout",
  "URL", "URLSearchParams", "window"];

export default [
  js.configs.recommended,
  {
    languageOptions: { globals: Object.fromEntries(BROWSER.map((one) => [one, "readonly"])) },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "eqeqeq": ["error", "always", { null: "ignore" }],
      "max-len": ["error", { code: 140, ignoreRegExpLiterals: true }],
      "no-implicit-globals": "error",
      "no-var": "error",
      "prefer-const": "error",
      // Of what is not named, nobody knows that it is there.
      "no-restricted-syntax": ["error", "CallExpression[callee.object.name='Object'][callee.property.name='assign']"],
      "no-restricted-properties": ["error", { property: "innerHTML" }, { property: "outerHTML" },
        { property: "insertAdjacentHTML" }],
    },
  },
];
