// What a start must make of a damaged folder, told by someone who knows every line that was ever
// written: nothing here looks at a checksum, only at whether bytes are the ones that were there.
import type { JournalLine } from "../../../src/store/journal.ts";
import type { Snapshot } from "../../../src/store/snapshot.ts";
import type { SiteHistory, FolderSnapshot } from "./site-history.ts";
import { fileBytes, isSameBytes, type Bytes, type FileTree } from "../shared/memory-disk.ts";

/** The end of the newest segment that may be cut, and what the state is then. */
export interface TailCut {
  readonly file: string;
  readonly offset: number;
}

export interface ExpectedRefusal {
  readonly file: string;
  readonly offset: number | null;
  /**
   * For a bad state: the generation that leads on, null for none; undefined where none could.
   */
  readonly recoveryGeneration?: string | null;
}

export interface ExpectedStart {
  /** The whole state, as text; null: no start. */
  readonly state: string | null;
  readonly seq: number;
  readonly cut: TailCut | null;
  readonly refusal: ExpectedRefusal | null;
  /** Batches that were synced once, of which nothing is left to tell. */
  readonly hasLostBatches: boolean;
  /** Where to be stricter would be right as well. */
  readonly allowedRefusal: string | null;
}

interface LineHead {
  readonly seq: number;
  readonly sum: string;
}

interface JournalWalk {
  readonly head: LineHead;
  readonly cut: TailCut | null;
  readonly refusal: ExpectedRefusal | null;
}

const GENESIS: LineHead = { seq: 0, sum: "0".repeat(64) };
const CREATED_ONLY = 1;

export class Oracle {
  readonly #own: SiteHistory;
  readonly #lives: readonly SiteHistory[];
  /** Every line of every life, by its text. */
  readonly #lines = new Map<string, JournalLine>();
  readonly #raws: readonly { readonly line: JournalLine; readonly raw: Bytes }[];
  readonly #snapshots = new Map<string, LineHead>();

  constructor(own: SiteHistory, ...others: readonly SiteHistory[]) {
    this.#own = own;
    this.#lives = [own, ...others];
    this.#raws = this.#lives.flatMap(({ lines }) => lines);
    for (const { line, raw } of this.#raws) this.#lines.set(textOf(raw), line);
    for (const { tree } of this.#lives.flatMap(({ snapshots }) => snapshots)) {
      for (const name of tree.keys()) {
        if (!name.startsWith("state")) continue;
        const { covers } = JSON.parse(textOf(fileBytes(tree, name))) as Snapshot;
        this.#snapshots.set(textOf(fileBytes(tree, name)), covers);
      }
    }
  }

  /** What a start finds in `tree`, which was `moment` before it was damaged. */
  expect(moment: FolderSnapshot, tree: FileTree): ExpectedStart {
    const whole = this.#walk(moment.tree, this.#stateIn(moment.tree) ?? GENESIS);
    const synced = (this.#line(whole.head)?.from ?? 1) - 1;
    const covers = this.#stateIn(tree);
    if (covers === null) return this.#stateless(tree);
    const { head, cut, refusal } = this.#walk(tree, covers);
    if (refusal !== null) return { ...NO_START, refusal };
    const swallowed = head.seq < synced;
    const owner = this.#lives.find(({ statesBySum }) => statesBySum.has(head.sum));
    const key = owner === undefined ? "other" : keyIn(tree, owner);
    if (key === "other") {
      return {
        ...NO_START,
        cut,
        hasLostBatches: swallowed,
        refusal: { file: "identity.jwk", offset: null },
      };
    }
    const state = owner?.statesBySum.get(head.sum) ?? null;
    const mayRefuse = key === "respelled" ? "identity.jwk" : swallowed ? "journal-" : null;
    return {
      state,
      seq: head.seq,
      cut,
      refusal: null,
      hasLostBatches: swallowed,
      allowedRefusal: mayRefuse,
    };
  }

  #stateless(tree: FileTree): ExpectedStart {
    const isThere = tree.has("state.json");
    const generations = numbered(tree, STATES);
    const segments = numbered(tree, SEGMENTS);
    const refusal = { file: "state.json", offset: null, wayBack: this.#wayBack(tree) };
    if (isThere || generations.length > 0 || segments.length > 1) return { ...NO_START, refusal };
    const [only] = segments;
    // The one line a first start writes, or less: there is nothing to lose.
    const bytes = only === undefined ? new Uint8Array() : fileBytes(tree, only.name);
    const feed = bytes.indexOf(LF);
    const isMore = feed >= 0 && feed + 1 < bytes.length;
    if (isMore || (only !== undefined && only.number !== 1)) {
      return { ...NO_START, refusal };
    }
    const first = this.#own.lines[0]?.line;
    const state = this.#own.statesBySum.get(first?.sum ?? "") ?? null;
    return { ...NO_START, state, seq: CREATED_ONLY, refusal: null };
  }

  #stateIn(tree: FileTree, name = "state.json"): LineHead | null {
    return this.#snapshots.get(textOf(fileBytes(tree, name))) ?? null;
  }

  /** The newest generation from which everything is there. */
  #wayBack(tree: FileTree): string | null {
    for (const { name, number } of numbered(tree, STATES).toReversed()) {
      const covers = this.#stateIn(tree, name);
      if (covers?.seq === number && this.#walk(tree, covers).refusal === null) return name;
    }
    return null;
  }

  #line({ sum }: LineHead): JournalLine | undefined {
    return this.#raws.find(({ line }) => line.sum === sum)?.line;
  }

  /** From a state on through the journal, as far as it is what was written. */
  #walk(tree: FileTree, from: LineHead): JournalWalk {
    const segments = numbered(tree, SEGMENTS).filter(({ number }) => number > from.seq);
    const newest = segments.at(-1);
    let head = from;
    for (const segment of segments) {
      if (segment.number !== head.seq + 1) return { head, cut: null, refusal: gapAt(head) };
      const bytes = fileBytes(tree, segment.name);
      const { after, offset } = this.#read(bytes, head);
      head = after;
      if (offset === bytes.length) continue;
      const place = { file: segment.name, offset };
      if (segment !== newest || this.#wasSafe(bytes, offset, head)) {
        return { head, cut: null, refusal: place };
      }
      return { head, cut: place, refusal: null };
    }
    return { head, cut: null, refusal: newest === undefined ? gapAt(head) : null };
  }

  #read(bytes: Bytes, from: LineHead): { readonly after: LineHead; readonly offset: number } {
    let after = from;
    let offset = 0;
    for (;;) {
      const line = this.#lineAt(bytes, offset);
      if (line === null || line.seq !== after.seq + 1 || line.prev !== after.sum) break;
      after = { seq: line.seq, sum: line.sum };
      offset = bytes.indexOf(LF, offset) + 1;
    }
    return { after, offset };
  }

  #lineAt(bytes: Bytes, offset: number): JournalLine | null {
    const end = bytes.indexOf(LF, offset) + 1;
    return end === 0 ? null : (this.#lines.get(textOf(bytes.subarray(offset, end))) ?? null);
  }

  /** Does anything say that the line missing here had been synced, or that it was never next? */
  #wasSafe(bytes: Bytes, offset: number, head: LineHead): boolean {
    if (this.#lineAt(bytes, offset) !== null) return true;
    const rest = Buffer.from(bytes.buffer, bytes.byteOffset + offset, bytes.length - offset);
    return this.#raws.some(
      ({ line }) => line.from > head.seq + 1 && rest.includes(beginningOf(line)),
    );
  }
}

/** How a line begins: no other line and nothing within one looks like that. */
const beginningOf = ({ seq, from, at }: JournalLine): string =>
  `{"seq":${seq},"from":${from},"at":${at},`;

const NO_START = { state: null, seq: 0, cut: null, hasLostBatches: false, allowedRefusal: null };
const LF = 10;

const gapAt = ({ seq }: LineHead): ExpectedRefusal => ({
  file: `journal-${seq + 1}.jsonl`,
  offset: null,
});

const textOf = (bytes: Bytes): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");

const SEGMENTS = /^journal-([1-9]\d*)\.jsonl$/;
const STATES = /^state-(\d+)\.json$/;

function numbered(tree: FileTree, pattern: RegExp): { readonly name: string; number: number }[] {
  const found = [...tree.keys()].flatMap((name) => {
    const digits = pattern.exec(name)?.[1];
    return digits === undefined ? [] : [{ name, number: Number(digits) }];
  });
  return found.toSorted((a, b) => a.number - b.number);
}

/** A line feed less is no damage to a key; another spelling of the same bits may be taken for it. */
function keyIn(tree: FileTree, { key }: SiteHistory): "same" | "respelled" | "other" {
  let found: Partial<typeof key>;
  try {
    found = JSON.parse(Buffer.from(fileBytes(tree, "identity.jwk")).toString()) as typeof found;
  } catch {
    return "other";
  }
  const parts = ["x", "d"] as const;
  if (found.kty !== key.kty || found.crv !== key.crv) return "other";
  if (parts.every((part) => found[part] === key[part])) return "same";
  return parts.every((part) => isSameBytes(bits(found[part]), bits(key[part])))
    ? "respelled"
    : "other";
}

const bits = (text = ""): Bytes => new Uint8Array(Buffer.from(text, "base64url"));
