// Compares the journal in a data folder with the rows of the database, byte for byte.
import { readFileSync } from "node:fs";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { listSegments } from "../../../src/store/folder/files.ts";
import { connectTo } from "../form-pair.ts";

interface Comparison {
  /** The last line of the folder. */
  readonly end: number;
  /** How many lines were compared. */
  readonly lines: number;
  /** The first difference; null: there is none. */
  readonly problem: string | null;
}

/**
 * From line `from` on, a host has only lines that the log has; a kill may have cut off the end of
 * its last one.
 */
export async function compareWithLog(
  databaseUrl: string,
  folder: string,
  from: number,
): Promise<Comparison> {
  const segments = readSegments(folder);
  const first = Math.max(from, segments[0]?.first ?? 0);
  const rows = await readRows(databaseUrl, first);
  const firstRow = Math.min(...rows.keys());
  let [lines, end] = [0, from];
  for (const segment of segments) {
    for (const [index, text] of segment.lines.entries()) {
      const seq = segment.first + index;
      const isCut = index === segment.lines.length - 1;
      // The end of a file after its last line feed; lines before the pair are in the folders only.
      if ((isCut && text === "") || seq < first || seq < firstRow) continue;
      const row = rows.get(seq);
      if (isCut ? row?.startsWith(text) !== true : row !== text) {
        const problem = `${folder}: line ${seq} is ${text}, in the log it is ${row}`;
        return { lines, end, problem };
      }
      lines += 1;
      end = seq;
    }
  }
  return { lines, end, problem: null };
}

interface Segment {
  readonly first: number;
  /** The last one is what follows the last line feed. */
  readonly lines: readonly string[];
}

/** A checkpoint that still runs may remove the oldest segments. */
function readSegments(folder: string): Segment[] {
  for (;;) {
    try {
      return listSegments(realDisk, folder).map(({ number, path }) => ({
        first: number,
        lines: readFileSync(path, "utf8").split("\n"),
      }));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

async function readRows(url: string, first: number): Promise<ReadonlyMap<number, string>> {
  const connection = connectTo(url);
  try {
    const rows = await connection.runStatement(
      `SELECT seq, line FROM berth.journal WHERE seq >= ${first} ORDER BY seq`,
    );
    return new Map(rows.map(({ seq, line }) => [Number(seq), String(line)]));
  } finally {
    connection.close();
  }
}
