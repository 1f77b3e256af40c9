import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import { RULES_LIMITS } from "../limits.ts";
import { addMember, ImportedGroups, isEmptyGroup } from "./imported-groups.ts";
import type { ImportedGroup, ImportedPool, ImportNote, UnconvertedLine } from "./imported-rules.ts";
import { ImportedPools, readFeatureName } from "./imported-pools.ts";
import { describeDifferences } from "./import-notes.ts";
import { explainKeyword, FORMS, NoEquivalent, parseCount } from "./option-forms.ts";
import { requireProduct, restrictPool } from "./restrict-pool.ts";
import { writeToml } from "./write-toml.ts";

/** The rules that an options file of FlexNet becomes. */
export interface OptionsImport {
  /** The rules, with the notes and the unconverted lines as comments. */
  readonly toml: string;
  /** How many options were converted. */
  readonly converted: number;
  /** The features that the file names, with their qualifiers. */
  readonly features: readonly string[];
  readonly notes: readonly ImportNote[];
  readonly unconverted: readonly UnconvertedLine[];
}

/** By the name of a feature in the options file, also with its qualifier. */
export type FeatureMap = ReadonlyMap<string, PoolName>;

/** Converts an options file. Every option of it is converted, or is in `unconverted`. */
export function importOptions(text: string, map: FeatureMap): OptionsImport {
  const file = readOptionsFile(text);
  const conversion = new Conversion(map);
  for (const line of file.lines) if (isDefinition(line)) conversion.convert(line);
  for (const line of file.lines) if (!isDefinition(line)) conversion.convert(line);
  for (const line of file.continuedComments) {
    conversion.note(line, "the comment ends with a backslash; the next line is read as an option");
  }
  return conversion.finish();
}

const keywordOf = ({ words }: OptionsLine): string => (words[0] ?? "").toUpperCase();

const DEFINITIONS = new Set(["GROUP", "USER_GROUP", "HOST_GROUP", "GROUPCASEINSENSITIVE"]);

const isDefinition = (line: OptionsLine): boolean => DEFINITIONS.has(keywordOf(line));

class Conversion {
  readonly #groups = new ImportedGroups();
  readonly #allGroups = new Map<string, readonly ImportedGroup[]>();
  readonly #pools: ImportedPools;
  readonly #notes: ImportNote[] = [];
  readonly #unconverted: UnconvertedLine[] = [];
  /** Of INCLUDEALL and EXCLUDEALL: they are applied when all features are known. */
  readonly #forAll: { readonly line: OptionsLine; readonly group: ImportedGroup }[] = [];
  /** Also those without an equivalent. */
  #includeAllLines = 0;
  #converted = 0;
  /** The line that says so; null: none does. */
  #caseIgnoredIn: number | null = null;

  constructor(map: FeatureMap) {
    this.#pools = new ImportedPools(map);
  }

  note(line: number | null, text: string): void {
    this.#notes.push({ line, text });
  }

  convert(line: OptionsLine): void {
    try {
      this.#convertOrThrow(line);
      this.#converted += 1;
      if (line.remark !== null) {
        this.note(line.first, `${line.remark} is read as a comment`);
      }
    } catch (error) {
      if (!(error instanceof NoEquivalent)) throw error;
      this.#reject(line, error.message);
    }
  }

  #reject({ first, last, text }: OptionsLine, reason: string): void {
    this.#unconverted.push({ line: first, lastLine: last, text, reason });
  }

  #convertOrThrow(line: OptionsLine): void {
    const keyword = keywordOf(line);
    const [first] = line.words;
    if (first === undefined) throw new NoEquivalent("a quotation mark is not closed");
    if (keyword === "GROUP" || keyword === "USER_GROUP") this.#define("GROUP", "USER", line);
    else if (keyword === "HOST_GROUP") this.#define("HOST_GROUP", "HOST", line);
    else if (keyword === "GROUPCASEINSENSITIVE") this.#readCase(line);
    else if (keyword === "MAX_BORROW_HOURS" || keyword === "BORROW_LOWWATER") {
      this.#convertBorrowNumber(keyword, line);
    } else if (keyword === "INCLUDEALL" || keyword === "EXCLUDEALL") {
      if (keyword === "INCLUDEALL") this.#includeAllLines += 1;
      for (const group of this.#readGroups(keyword, line, 1)) this.#forAll.push({ line, group });
    } else if (FORMS[keyword] !== undefined) this.#convertRestriction(keyword, line);
    else throw new NoEquivalent(explainKeyword(first));
  }

  #define(keyword: "GROUP" | "HOST_GROUP", type: "USER" | "HOST", line: OptionsLine): void {
    const [, name, ...members] = line.words;
    if (name === undefined || members.length === 0) {
      throw new NoEquivalent(`expected ${keyword} name ${type.toLowerCase()} ...`);
    }
    const isNew = this.#groups.find(keyword, name) === null;
    const group = this.#groups.define(keyword, name);
    group.lines.add(line.first);
    if (isNew && group.name !== name) {
      this.note(line.first, `${keyword} ${name} is the group ${group.name}`);
    }
    const problems = members.flatMap((member) => addMember(group, type, member) ?? []);
    if (problems.length === members.length) throw new NoEquivalent(problems.join("; "));
    for (const problem of problems) this.note(line.first, `a member is left out: ${problem}`);
  }

  /** It counts for the groups of the whole file, wherever it is written. */
  #readCase(line: OptionsLine): void {
    const value = (line.words[1] ?? "").toUpperCase();
    if (value !== "ON" && value !== "OFF") {
      throw new NoEquivalent("expected GROUPCASEINSENSITIVE ON or OFF");
    }
    this.#caseIgnoredIn = value === "ON" ? line.first : null;
  }

  #convertBorrowNumber(keyword: "MAX_BORROW_HOURS" | "BORROW_LOWWATER", line: OptionsLine): void {
    const [, name, text, ...rest] = line.words;
    const form = FORMS[keyword] ?? "";
    if (name === undefined || text === undefined) throw new NoEquivalent(`expected ${form}`);
    const count = parseCount(text, form);
    const source = readFeatureName(name);
    const pool = this.#findPool(source);
    requireProduct(pool, keyword);
    if (count === 0 && keyword === "MAX_BORROW_HOURS") {
      throw new NoEquivalent("0 hours; `borrow = { max_slots = 0 }` forbids borrowing");
    }
    this.#noteUnused(line, rest);
    pool.lines.add(line.first);
    const values = keyword === "MAX_BORROW_HOURS" ? pool.maxHours : pool.keepHome;
    if (values.has(source)) {
      this.note(line.first, `a later ${keyword} for ${source} replaces the earlier one`);
    }
    values.set(source, count);
  }

  #convertRestriction(keyword: string, line: OptionsLine): void {
    const form = FORMS[keyword] ?? "";
    const hasCount = keyword === "RESERVE" || keyword === "MAX";
    const words = hasCount ? line.words.slice(2) : line.words.slice(1);
    const [name] = words;
    if (name === undefined) throw new NoEquivalent(`expected ${form}`);
    const slots = hasCount ? parseCount(line.words[1] ?? "", form) : 0;
    const source = readFeatureName(name);
    const pool = this.#findPool(source);
    if (keyword.endsWith("_BORROW")) requireProduct(pool, keyword);
    if (keyword === "MAX" && words[1]?.toUpperCase() === "USER" && words[2] === "ALL_USERS") {
      pool.eachUser = Math.min(pool.eachUser ?? slots, slots);
      pool.lines.add(line.first);
      this.#noteUnused(line, words.slice(3));
      return;
    }
    if (keyword === "INCLUDE") pool.includeLines += 1;
    const groups = this.#readGroups(keyword, line, hasCount ? 3 : 2);
    if (keyword === "RESERVE" && slots === 0) throw new NoEquivalent("it reserves nothing");
    pool.lines.add(line.first);
    const restriction = { keyword, source, slots, groups };
    for (const text of restrictPool(pool, restriction)) this.note(line.first, text);
  }

  /** The groups that the type and the name at this word mean: one, or with ALL_GROUPS several. */
  #readGroups(keyword: string, line: OptionsLine, index: number): readonly ImportedGroup[] {
    const [type, name, ...rest] = line.words.slice(index);
    if (type === undefined || name === undefined) {
      throw new NoEquivalent(`expected ${FORMS[keyword] ?? ""}`);
    }
    const groups = this.#findGroups(keyword, type.toUpperCase(), name);
    for (const group of groups) group.lines.add(line.first);
    this.#noteUnused(line, rest);
    return groups;
  }

  #findGroups(keyword: string, type: string, name: string): readonly ImportedGroup[] {
    switch (type) {
      case "USER":
      case "HOST":
      case "INTERNET": {
        const group = this.#groups.single(type, name);
        if (typeof group === "string") throw new NoEquivalent(group);
        return [group];
      }
      case "GROUP":
      case "HOST_GROUP": {
        if (name === "ALL_GROUPS" && keyword === "MAX") {
          const all = this.#listAllGroups(type);
          if (all.length === 0) throw new NoEquivalent(`no ${type} is defined in the file`);
          if (all.length > RULES_LIMITS.groups) {
            throw new NoEquivalent(`it stands for ${all.length} groups, more than rules can have`);
          }
          return all;
        }
        const group = this.#groups.find(type, name);
        if (group === null) throw new NoEquivalent(`${type} ${name} is not defined in the file`);
        if (isEmptyGroup(group)) {
          throw new NoEquivalent(`no member of ${type} ${name} has an equivalent`);
        }
        return [group];
      }
      case "DISPLAY":
        throw new NoEquivalent("Berth does not know the display of an application");
      case "PROJECT":
        throw new NoEquivalent("Berth does not know the project (LM_PROJECT) of an application");
      default:
        throw new NoEquivalent(`${type} is not a type of FlexNet`);
    }
  }

  /** All are defined before another line is converted. */
  #listAllGroups(type: "GROUP" | "HOST_GROUP"): readonly ImportedGroup[] {
    const known = this.#allGroups.get(type);
    if (known !== undefined) return known;
    const all = this.#groups.listDefined(type).filter((group) => !isEmptyGroup(group));
    this.#allGroups.set(type, all);
    return all;
  }

  #noteUnused({ first }: OptionsLine, words: readonly string[]): void {
    if (words.length === 0) return;
    this.note(first, `FlexNet reads one name here; left out: ${words.join(" ")}`);
  }

  #findPool(source: string): ImportedPool {
    const pool = this.#pools.find(source);
    if (typeof pool === "string") throw new NoEquivalent(pool);
    return pool;
  }

  finish(): OptionsImport {
    this.#applyForAll();
    this.#ignoreCase();
    const groups = this.#groups.list().filter((group) => !isEmptyGroup(group));
    const pools = this.#pools.list();
    for (const pool of pools) pool.includeLines += this.#includeAllLines;
    const differences = describeDifferences(pools, groups, this.#pools.unusedNames());
    const notes = [...this.#notes, ...differences].toSorted(byLine);
    const unconverted = this.#unconverted.toSorted(byLine);
    const converted = pools.filter(({ lines }) => lines.size > 0);
    const toml = writeToml({ groups, pools: converted, notes, unconverted });
    const features = this.#pools.listFeatures();
    return { toml, converted: this.#converted, features, notes, unconverted };
  }

  #ignoreCase(): void {
    if (this.#caseIgnoredIn === null) return;
    const groups = (["GROUP", "HOST_GROUP"] as const).flatMap((keyword) =>
      this.#groups.listDefined(keyword),
    );
    for (const group of groups) group.ignoreCase = true;
    if (groups.length > 0) return;
    const text =
      "GROUPCASEINSENSITIVE changes nothing: the file defines no GROUP and no HOST_GROUP";
    this.note(this.#caseIgnoredIn, text);
  }

  #applyForAll(): void {
    if (this.#forAll.length === 0) return;
    const pools = this.#pools.addAllNamed();
    const problem = findProblemOfAll(pools.length, this.#forAll.length);
    for (const { line, group } of this.#forAll) {
      const keyword = keywordOf(line);
      if (problem !== null) {
        this.#converted -= 1;
        this.#reject(line, problem);
        continue;
      }
      for (const pool of pools) {
        (keyword === "INCLUDEALL" ? pool.allowOnly : pool.deny).add(group.name);
        pool.lines.add(line.first);
      }
      this.note(
        line.first,
        `${keyword} is written for each product below; other products are not covered`,
      );
    }
  }
}

/** So many names, in all rules together, are far more than the largest rules text can hold. */
const MAX_NAMES_FOR_ALL = 1_000_000;

/** Why INCLUDEALL and EXCLUDEALL cannot be written for each feature; null: they can. */
function findProblemOfAll(features: number, lines: number): string | null {
  if (features === 0) return "the file names no feature, so there is no product to write it for";
  return features * lines > MAX_NAMES_FOR_ALL
    ? `it would be written for ${features} features, with ${lines} such lines: more than rules can have`
    : null;
}

const byLine = (a: { readonly line: number | null }, b: { readonly line: number | null }): number =>
  (a.line ?? 0) - (b.line ?? 0);

/** One option of an options file: a line, with the lines that a backslash joins to it. */
interface OptionsLine {
  /** Number of the first line, from 1. */
  readonly first: number;
  readonly last: number;
  /** The joined lines, as they were written. */
  readonly text: string;
  /** Empty if a quote is not closed. */
  readonly words: readonly string[];
  /** What follows a `#` in the middle of the line; null: there is none. */
  readonly remark: string | null;
}

interface OptionsFile {
  readonly lines: readonly OptionsLine[];
  /** Comment lines that end with a backslash; FlexNet may read the next line as a comment too. */
  readonly continuedComments: readonly number[];
}

/** Splits an options file into its options. Comment lines and empty lines are left out. */
function readOptionsFile(text: string): OptionsFile {
  const lines: OptionsLine[] = [];
  const continuedComments: number[] = [];
  const physicalLines = (text.startsWith("\uFEFF") ? text.slice(1) : text).split(/\r\n|\n|\r/);
  for (let index = 0; index < physicalLines.length; index += 1) {
    const first = index + 1;
    let part = (physicalLines[index] ?? "").trim();
    if (part.startsWith("#")) {
      if (part.endsWith("\\")) continuedComments.push(first);
      continue;
    }
    const parts: string[] = [];
    while (part.endsWith("\\") && index + 1 < physicalLines.length) {
      parts.push(part.slice(0, -1).trimEnd());
      index += 1;
      part = (physicalLines[index] ?? "").trim();
    }
    parts.push(part.endsWith("\\") ? part.slice(0, -1).trimEnd() : part);
    const joined = parts.filter((text) => text !== "").join(" ");
    if (joined === "") continue;
    lines.push({ first, last: index + 1, text: joined, ...splitWords(joined) });
  }
  return { lines, continuedComments };
}

const WORD = /"([^"]*)"|[^\s"]+/g;

function splitWords(text: string): Pick<OptionsLine, "words" | "remark"> {
  const quotes = text.split('"').length - 1;
  if (quotes % 2 === 1) return { words: [], remark: null };
  const words: string[] = [];
  for (const match of text.matchAll(WORD)) {
    if (match[0].startsWith("#")) return { words, remark: text.slice(match.index) };
    words.push(match[1] ?? match[0]);
  }
  return { words, remark: null };
}
