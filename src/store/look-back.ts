import type { Disk } from "../platform/disk.ts";
import { segmentsIn } from "./files.ts";
import { decodeLine, startOf, type Head, type Line } from "./journal.ts";
import { linesBefore } from "./lines.ts";
import { recordFiles } from "./record.ts";

/**
 * The audited lines that led to a head, the newest first: those of the journal, then those of the
 * record, each once. It ends where what is kept does, and at what cannot be read: to tell the two
 * apart is for `verify`. Files may come and go meanwhile, since a line that leaves the journal is
 * in the record before. Everybody else's answers go first.
 */
export async function* lookBack(
  disk: Disk,
  folder: string,
  { auditSeq, auditSum }: Pick<Head, "auditSeq" | "auditSum">,
): AsyncGenerator<Line> {
  let [seq, sum] = [auditSeq, auditSum];
  const turn = new Turn();
  for (const path of filesBackwards(disk, folder)) {
    for (const bytes of linesBefore(disk, path, disk.stat(path)?.size ?? 0)) {
      if (turn.isOver) await turn.next();
      // By how the line begins: most lines of a journal are renewals, and need not be read.
      if (startOf(bytes)?.auditSeq !== seq) continue;
      const line = decodeLine(bytes);
      if (line?.audit_prev === undefined || line.sum !== sum) continue;
      yield line;
      seq -= 1;
      sum = line.audit_prev;
      if (seq === 0) return;
    }
  }
}

function* filesBackwards(disk: Disk, folder: string): Generator<string> {
  for (const { path } of segmentsIn(disk, folder).toReversed()) yield path;
  const files = recordFiles(disk, folder, (line) => startOf(line)?.auditSeq);
  for (const { path } of files.toReversed()) yield path;
}

const SLICE = 2;

/** A while of work; then whoever else waits has the machine. */
class Turn {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began >= SLICE;
  }

  async next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#began = performance.now();
  }
}
