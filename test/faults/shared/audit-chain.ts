// Reads the audit log of a data folder as an auditor would: from its own lines, without code of the
// server. Every line has the checksum of its text, and names the checksum of the line before.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface AuditEvent {
  readonly type: string;
  readonly user?: string;
  readonly feature?: string;
  readonly count?: number;
  readonly restore?: { readonly lineage: string };
}

interface AuditLine {
  readonly audit_seq: number;
  readonly audit_prev: string;
  readonly events: readonly AuditEvent[];
  readonly sum: string;
}

interface AuditText {
  readonly text: string;
  /** The file and the line in it. */
  readonly location: string;
}

/** Where a state says that the audit log ends: lines after it are of an unfinished checkpoint. */
interface AuditEnd {
  readonly file: string | null;
  readonly length: number;
}

export class BrokenChainError extends Error {}

/** The lines of the audit log in order, from the first to the end; null: all that there are. */
export function* readAuditTexts(folder: string, end: AuditEnd | null = null): Generator<AuditText> {
  if (end !== null && end.file === null) return;
  const files = readdirSync(join(folder, "history")).map((name) => {
    const bytes = readFileSync(join(folder, "history", name));
    return { name, bytes, first: readFirstSeq(bytes) };
  });
  for (const { name, bytes } of files.toSorted((a, b) => a.first - b.first)) {
    const isLast = name === end?.file;
    const length = isLast ? end.length : bytes.length;
    if (bytes.length < length)
      throw new BrokenChainError(`${name} has ${bytes.length} bytes and should have ${length}`);
    yield* splitLines(bytes.subarray(0, length), name);
    if (isLast) return;
  }
}

function readFirstSeq(bytes: Buffer): number {
  try {
    const line = bytes.subarray(0, bytes.indexOf("\n")).toString();
    return (JSON.parse(line) as AuditLine).audit_seq;
  } catch {
    return Infinity;
  }
}

export function* splitLines(bytes: Uint8Array, name: string): Generator<AuditText> {
  const lines = Buffer.from(bytes).toString().split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const [index, text] of lines.entries())
    yield { text, location: `${name}, line ${index + 1}` };
}

/** The content of the lines; throws at the first that is damaged or does not continue the chain. */
export function* readAuditChain(texts: Iterable<AuditText>): Generator<AuditLine> {
  let [seq, previous] = [0, "0".repeat(64)];
  for (const { text, location } of texts) {
    const [content = "", sum = ""] = text.split(/,"sum":"([0-9a-f]{64})"\}$/);
    if (new Bun.CryptoHasher("sha256").update(content).digest("hex") !== sum)
      throw new BrokenChainError(`${location}: the line does not match its checksum: ${text}`);
    const line = JSON.parse(text) as AuditLine;
    if (line.audit_seq !== seq + 1 || line.audit_prev !== previous)
      throw new BrokenChainError(`${location}: line ${line.audit_seq} follows line ${seq}`);
    [seq, previous] = [seq + 1, sum];
    yield line;
  }
}
