// Words that must not return to the sources, each with the word to use instead. The list is finite
// on purpose: it holds the words that had spread, not every word that could be better.
import { parseSync, Visitor } from "oxc-parser";

/** A whole identifier: a participle or a pronoun says nothing about what the value is. */
const BANNED_NAMES: ReadonlyMap<string, string> = new Map([
  ["asked", "request, query or input"],
  ["begun", "startedAt or isStarted"],
  ["came", "outcome or result"],
  ["given", "flags, options or input"],
  ["held", "slot, registration or holder"],
  ["kept", "what is kept: copy, rest or backup"],
  ["made", "what is made: event, document or folder"],
  ["mine", "the owner's name"],
  ["nobody", "anonymous or null"],
  ["ours", "the owner's name"],
  ["own", "what is owned"],
  ["said", "message, output or stderr"],
  ["sought", "target or query"],
  ["taken", "slots in use or lock result"],
  ["theirs", "the owner's name"],
  ["told", "message, status or summary"],
  ["walked", "report or totals"],
  ["who", "user, actor or holder"],
  ["whoever", "user, actor or holder"],
]);

/** A word anywhere in an identifier or in a text: a metaphor for a standard term. */
const BANNED_WORDS: ReadonlyMap<string, string> = new Map([
  ["crowd", "populated site"],
  ["dice", "random"],
  ["door", "exposure, or listener"],
  ["doors", "exposures, or listeners"],
  ["errand", "maintenance job"],
  ["errands", "maintenance jobs"],
  ["hunt", "detection"],
  ["rig", "fault suite"],
  ["rigs", "fault suites"],
  ["stranger", "unknown caller"],
  ["strangers", "unknown variables or callers"],
  ["twin", "environment variable, or copy"],
  ["trouble", "warning"],
  ["troubles", "warnings"],
  ["unsaid", "suppressed"],
  ["wayback", "recoveryHint"],
  ["yard", "baseline"],
]);

/** A phrase in a text, by what replaces it. */
const BANNED_PHRASES: readonly (readonly [phrase: RegExp, replacement: string])[] = [
  [/\bg[ai]ve[ns]? (?:\w+ )?back\b|\bgiving back\b/i, "release a slot, return a license"],
  [/\bfor ?ever\b/i, "no expiry, or never"],
  [/\bof ours\b/i, "of berth"],
  [/\bone word too many\b/i, "unexpected argument"],
  [/\b(?:whoever|nobody|somebody)\b/i, "the user, the administrator, no user"],
  [/\b(?:on|the) record\b/i, "the audit log"],
  [/\bmoment\b/i, "time, or a number of seconds"],
  [/\bsites with no way out\b/i, "air-gapped sites"],
];

/** Names that are values in the journal, fields of the API, or titles that users see. */
const STORED_NAMES: ReadonlySet<string> = new Set([
  "src/domain/clock/clock-events.ts held",
  "src/cli/client/rules-texts.ts held",
  "src/cli/commands/backups/stored-backups.ts made",
  "src/cli/commands/statements/usage-statement.ts made",
  "src/http/routes/queue/queue-schemas.ts held",
  "src/http/routes/queue/queue-reply.ts held",
  "src/web/queue/queue-status.ts held",
  "src/web/queue/queue-texts.ts held",
  "src/web/queue/queue.tsx held",
]);

const wordsIn = (name: string): string[] =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/);

interface SourceWords {
  readonly names: readonly string[];
  readonly texts: readonly string[];
}

/** Every identifier of a source file, and every text that is not the name of a module. */
function readWords(path: string, source: string): SourceWords {
  const names = new Set<string>();
  const texts = new Set<string>();
  const modules = new Set<string>();
  new Visitor({
    Identifier: ({ name }) => void names.add(name),
    JSXIdentifier: ({ name }) => void names.add(name),
    PrivateIdentifier: ({ name }) => void names.add(name),
    ImportDeclaration: ({ source: { value } }) => void modules.add(value),
    Literal({ value }) {
      if (typeof value === "string") texts.add(value);
    },
    TemplateElement: ({ value }) => void texts.add(value.cooked ?? ""),
    JSXText: ({ value }) => void texts.add(value),
  }).visit(parseSync(path, source).program);
  return { names: [...names], texts: [...texts].filter((text) => !modules.has(text)) };
}

/** What a source file says in banned words, with the replacement. */
export function findBannedWords(path: string, source: string): string[] {
  const { names, texts } = readWords(path, source);
  const inNames = names.flatMap((name) => {
    if (STORED_NAMES.has(`${path} ${name}`)) return [];
    const replacement =
      BANNED_NAMES.get(name) ?? wordsIn(name).flatMap((word) => BANNED_WORDS.get(word) ?? [])[0];
    return replacement === undefined ? [] : [`${path}: name "${name}": use ${replacement}`];
  });
  const inTexts = texts.flatMap((text) => {
    const replacement =
      BANNED_PHRASES.find(([phrase]) => phrase.test(text))?.[1] ??
      wordsIn(text).flatMap((word) => BANNED_WORDS.get(word) ?? [])[0];
    return replacement === undefined ? [] : [`${path}: text "${text}": use ${replacement}`];
  });
  return [...inNames, ...inTexts];
}
