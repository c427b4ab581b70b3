/** Variables, written as files that other programs read, as the command line writes them. */

/** @typedef {"dotenv" | "tfvars" | "json"} Form */
/** @typedef {Pick<Api.VariableAttributes, "key" | "value" | "category" | "hcl" | "sensitive">} Written */

/** It has no form in such a file; the message says why, and quotes nothing of its value. */
class Unfit extends Error {}

const MISSING = "Sensitive, so that nobody can read it";
const COMMENT = "//";
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const IDENTIFIER = /^[_\p{ID_Start}][\p{ID_Continue}-]*$/u;
const BARE = /^[A-Za-z0-9_./:@,+-]*$/;
/** Some programs read two backslashes as one between single quotation marks. */
const UNFIT_FOR_SINGLE = /'|\r|\\\\|\\$/;
/** What programs replace between double quotation marks, and what some of them read no escape of. */
const UNFIT_FOR_DOUBLE = /[$`"\\\r]/;
const TO_ESCAPE = /["\\]|(?=[^\u007f-\u009f])\p{Cc}|[$%](?=\{)/gu;
/** @type {Record<string, string>} */
const ESCAPED = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", $: "$$", "%": "%%" };

/**
 * The file with all of the variables that it can have, in their order, and why others are not in it. A comment has the
 * keys of what nobody can read.
 * @param {Form} form
 * @param {Written[]} variables
 */
export function write(form, variables) {
  /** @type {Map<string, string>} */
  const entries = new Map();
  /** @type {{key: string, detail: string}[]} */
  const unwritten = [];
  for (const one of variables.filter(({ sensitive }) => !sensitive)) {
    try {
      const [called, entry] = ENTRIES[form](one);
      if (entries.has(called)) throw new Unfit("another variable has its name there");
      entries.set(called, entry);
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      unwritten.push({ key: one.key, detail: error.message });
    }
  }
  const missing = variables.filter(({ sensitive }) => sensitive).map(({ key }) => key);
  return { text: joined(form, [...entries.values()], missing), unwritten };
}

/**
 * @param {Form} form
 * @param {string[]} entries
 * @param {string[]} missing
 */
function joined(form, entries, missing) {
  if (form !== "json") return [...entries, ...missing.map((key) => `# ${MISSING}: ${key}`)].map((line) => `${line}\n`).join("");
  // As a member that the tool ignores: there is no other comment in such a file.
  const comments = missing.length ? [`"${COMMENT}": ${JSON.stringify(`${MISSING}: ${missing.join(", ")}`)}`] : [];
  return `{${[...comments, ...entries].map((entry) => `\n  ${entry}`).join(",")}\n}\n`;
}

/** @type {Record<Form, (variable: Written) => [string, string]>} */
const ENTRIES = { dotenv, tfvars, json };

/** @param {Written} variable */
function textOf({ value }) {
  if (value === null || value.includes("\0")) throw new Unfit("its value has a NUL character");
  return value;
}

/** @param {Written} variable */
function isCode({ hcl, category }) {
  return hcl && category !== "env";
}

/**
 * One form that all programs read alike, or none: they differ in many things.
 * @param {Written} variable
 * @returns {[string, string]}
 */
function dotenv(variable) {
  const { key, category } = variable;
  if (!NAME.test(key)) throw new Unfit("its key is not a shell name: letters, digits and _");
  const called = category === "env" ? key : `TF_VAR_${key}`;
  const text = textOf(variable);
  if (text.includes("${")) throw new Unfit("its value has '${', which programs replace");
  if (BARE.test(text)) return [called, `${called}=${text}`];
  if (!UNFIT_FOR_SINGLE.test(text)) return [called, `${called}='${text}'`];
  if (UNFIT_FOR_DOUBLE.test(text)) {
    throw new Unfit("its value needs double quotation marks, in which programs differ about '$', '`', '\"', a backslash and "
      + "a carriage return");
  }
  return [called, `${called}="${text}"`];
}

/**
 * Strings as such, code as it is.
 * @param {Written} variable
 * @returns {[string, string]}
 */
function tfvars(variable) {
  const { key } = variable;
  if (!IDENTIFIER.test(key)) throw new Unfit("its key is no identifier");
  const text = textOf(variable);
  if (!isCode(variable)) return [key, `${key} = "${text.replace(TO_ESCAPE, escaped)}"`];
  // As a value, code may go on behind a line break that would end the definition.
  const code = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
  return [key, `${key} = ${code.includes("\n") ? `(\n${code}\n)` : code}`];
}

/** @param {string} character */
function escaped(character) {
  return ESCAPED[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/**
 * Strings as such, and code that is JSON as it is.
 * @param {Written} variable
 * @returns {[string, string]}
 */
function json(variable) {
  const { key } = variable;
  if (key === COMMENT) throw new Unfit("its key is that of a comment");
  const text = textOf(variable);
  return [key, `${JSON.stringify(key)}: ${isCode(variable) ? literal(text) : JSON.stringify(text)}`];
}

/**
 * Code in which nothing is to be evaluated.
 * @param {string} code
 */
function literal(code) {
  try {
    JSON.parse(code);
  } catch {
    throw new Unfit("it is code, and no JSON");
  }
  if (/[$%]\{/.test(code)) throw new Unfit("it is code in which something is filled in");
  return code.trim();
}
