// Computes the expected outcome of a start from a damaged folder. The oracle knows every line that
// was ever written. It checks no checksum, only whether the bytes are the ones that were written.
import type { JournalLine } from "../../../src/store/journal/journal.ts";
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import type { SiteHistory, FolderSnapshot } from "./site-history.ts";
import { fileBytes, isSameBytes, type Bytes, type FileTree } from "../shared/memory-disk.ts";

/** Where the newest segment may be cut. */
export interface TailCut {
  readonly file: string;
  readonly offset: number;
}

export interface ExpectedRefusal {
  readonly file: string;
  readonly offset: number | null;
  /**
   * For a damaged state: the generation that recovers the folder, or null if none does; undefined
   * for damage that no generation could repair.
   */
  readonly recoveryGeneration?: string | null;
}

export interface ExpectedStart {
  /** The complete state as text; null if the start must be refused. */
  readonly state: string | null;
  readonly seq: number;
  readonly cut: TailCut | null;
  readonly refusal: ExpectedRefusal | null;
  /** Synced batches are lost, and nothing in the folder shows that they existed. */
  readonly hasLostBatches: boolean;
  /** A file name: a refusal that names it would be right as well. */
  readonly allowedRefusal: string | null;
}

interface LineHead {
  readonly seq: number;
  readonly sum: string;
}

interface JournalReading {
  readonly head: LineHead;
  readonly cut: TailCut | null;
  readonly refusal: ExpectedRefusal | null;
}

const GENESIS: LineHead = { seq: 0, sum: "0".repeat(64) };
const CREATED_ONLY = 1;

export class Oracle {
  readonly #site: SiteHistory;
  readonly #histories: readonly SiteHistory[];
  /** Every line of every history, by its text. */
  readonly #lines = new Map<string, JournalLine>();
  readonly #writtenLines: readonly { readonly line: JournalLine; readonly raw: Bytes }[];
  /** The last line that each written state covers, by the text of the state. */
  readonly #coveredHeads = new Map<string, LineHead>();

  constructor(site: SiteHistory, ...otherSites: readonly SiteHistory[]) {
    this.#site = site;
    this.#histories = [site, ...otherSites];
    this.#writtenLines = this.#histories.flatMap(({ lines }) => lines);
    for (const { line, raw } of this.#writtenLines) this.#lines.set(textOf(raw), line);
    for (const { tree } of this.#histories.flatMap(({ snapshots }) => snapshots)) {
      for (const name of tree.keys()) {
        if (!name.startsWith("state")) continue;
        const { covers } = JSON.parse(textOf(fileBytes(tree, name))) as Snapshot;
        this.#coveredHeads.set(textOf(fileBytes(tree, name)), covers);
      }
    }
  }

  /** The expected outcome for `tree`, which was `snapshot` before it was damaged. */
  expect(snapshot: FolderSnapshot, tree: FileTree): ExpectedStart {
    const undamaged = this.#readJournal(snapshot.tree, this.#coveredHead(snapshot.tree) ?? GENESIS);
    const syncedSeq = (this.#findLine(undamaged.head)?.from ?? 1) - 1;
    const covers = this.#coveredHead(tree);
    if (covers === null) return this.#expectWithoutState(tree);
    const { head, cut, refusal } = this.#readJournal(tree, covers);
    if (refusal !== null) return { ...NO_START, refusal };
    const hasLostBatches = head.seq < syncedSeq;
    const owner = this.#histories.find(({ statesBySum }) => statesBySum.has(head.sum));
    const key = owner === undefined ? "other" : compareKey(tree, owner);
    if (key === "other") {
      return {
        ...NO_START,
        cut,
        hasLostBatches,
        refusal: { file: "identity.jwk", offset: null },
      };
    }
    const state = owner?.statesBySum.get(head.sum) ?? null;
    const allowedRefusal =
      key === "re-encoded" ? "identity.jwk" : hasLostBatches ? "journal-" : null;
    return {
      state,
      seq: head.seq,
      cut,
      refusal: null,
      hasLostBatches,
      allowedRefusal,
    };
  }

  #expectWithoutState(tree: FileTree): ExpectedStart {
    const hasState = tree.has("state.json");
    const generations = listNumberedFiles(tree, GENERATION_PATTERN);
    const segments = listNumberedFiles(tree, SEGMENT_PATTERN);
    const refusal = {
      file: "state.json",
      offset: null,
      recoveryGeneration: this.#findRecoveryGeneration(tree),
    };
    if (hasState || generations.length > 0 || segments.length > 1) return { ...NO_START, refusal };
    const [segment] = segments;
    // With at most the one line that a first start writes, there is nothing to lose.
    const bytes = segment === undefined ? new Uint8Array() : fileBytes(tree, segment.name);
    const lineFeed = bytes.indexOf(LF);
    const hasMoreLines = lineFeed >= 0 && lineFeed + 1 < bytes.length;
    if (hasMoreLines || (segment !== undefined && segment.number !== 1)) {
      return { ...NO_START, refusal };
    }
    const first = this.#site.lines[0]?.line;
    const state = this.#site.statesBySum.get(first?.sum ?? "") ?? null;
    return { ...NO_START, state, seq: CREATED_ONLY, refusal: null };
  }

  #coveredHead(tree: FileTree, name = "state.json"): LineHead | null {
    return this.#coveredHeads.get(textOf(fileBytes(tree, name))) ?? null;
  }

  /** The newest generation from which the journal is complete. */
  #findRecoveryGeneration(tree: FileTree): string | null {
    for (const { name, number } of listNumberedFiles(tree, GENERATION_PATTERN).toReversed()) {
      const covers = this.#coveredHead(tree, name);
      if (covers?.seq === number && this.#readJournal(tree, covers).refusal === null) return name;
    }
    return null;
  }

  #findLine({ sum }: LineHead): JournalLine | undefined {
    return this.#writtenLines.find(({ line }) => line.sum === sum)?.line;
  }

  /** Reads the journal after a state, as far as its bytes are those that were written. */
  #readJournal(tree: FileTree, from: LineHead): JournalReading {
    const segments = listNumberedFiles(tree, SEGMENT_PATTERN).filter(
      ({ number }) => number > from.seq,
    );
    const newest = segments.at(-1);
    let head = from;
    for (const segment of segments) {
      if (segment.number !== head.seq + 1) return { head, cut: null, refusal: gapAt(head) };
      const bytes = fileBytes(tree, segment.name);
      const { after, offset } = this.#readLines(bytes, head);
      head = after;
      if (offset === bytes.length) continue;
      const damage = { file: segment.name, offset };
      if (segment !== newest || this.#isProvablyDamaged(bytes, offset, head)) {
        return { head, cut: null, refusal: damage };
      }
      return { head, cut: damage, refusal: null };
    }
    return { head, cut: null, refusal: newest === undefined ? gapAt(head) : null };
  }

  #readLines(bytes: Bytes, from: LineHead): { readonly after: LineHead; readonly offset: number } {
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

  /** Whether anything shows that the missing line was synced, or that another line was next. */
  #isProvablyDamaged(bytes: Bytes, offset: number, head: LineHead): boolean {
    if (this.#lineAt(bytes, offset) !== null) return true;
    const rest = Buffer.from(bytes.buffer, bytes.byteOffset + offset, bytes.length - offset);
    return this.#writtenLines.some(
      ({ line }) => line.from > head.seq + 1 && rest.includes(beginningOf(line)),
    );
  }
}

/** The beginning of a line, which occurs nowhere else: not in other lines and not within one. */
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

const SEGMENT_PATTERN = /^journal-([1-9]\d*)\.jsonl$/;
const GENERATION_PATTERN = /^state-(\d+)\.json$/;

function listNumberedFiles(
  tree: FileTree,
  pattern: RegExp,
): { readonly name: string; number: number }[] {
  const files = [...tree.keys()].flatMap((name) => {
    const digits = pattern.exec(name)?.[1];
    return digits === undefined ? [] : [{ name, number: Number(digits) }];
  });
  return files.toSorted((a, b) => a.number - b.number);
}

/** A missing line feed does not damage a key; another encoding of the same bits may be accepted. */
function compareKey(tree: FileTree, { key }: SiteHistory): "same" | "re-encoded" | "other" {
  let found: Partial<typeof key>;
  try {
    found = JSON.parse(Buffer.from(fileBytes(tree, "identity.jwk")).toString()) as typeof found;
  } catch {
    return "other";
  }
  const parts = ["x", "d"] as const;
  if (found.kty !== key.kty || found.crv !== key.crv) return "other";
  if (parts.every((part) => found[part] === key[part])) return "same";
  return parts.every((part) => isSameBytes(decodeBits(found[part]), decodeBits(key[part])))
    ? "re-encoded"
    : "other";
}

const decodeBits = (text = ""): Bytes => new Uint8Array(Buffer.from(text, "base64url"));
