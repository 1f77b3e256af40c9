// Data folders as earlier versions wrote them, kept to the byte.
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import type { StateDump } from "./licensed-store.ts";
import { tempFolder } from "./temp-folder.ts";

const FIXTURES = join(import.meta.dir, "../store/fixtures");

/** The formats of which a folder is kept. */
export const listFixtureFormats = (): number[] =>
  readdirSync(FIXTURES)
    .map((name) => Number(/^format-(\d+)$/.exec(name)?.[1]))
    .filter((format) => existsSync(join(FIXTURES, `format-${format}`, "state.json.raw")))
    .toSorted((a, b) => a - b);

/** What the version that wrote the folder said it held. */
export interface ExpectedContents {
  readonly seq: number;
  readonly audit_seq: number;
  readonly state: Partial<StateDump>;
}

export function readExpectedContents(format: number): ExpectedContents {
  const path = join(FIXTURES, `format-${format}`, "expected.json");
  const { state, ...rest } = JSON.parse(readFileSync(path, "utf8")) as ExpectedContents;
  // Nothing depends on how they are kept.
  const licenses = state.licenses?.toSorted(([a], [b]) => Number(a) - Number(b)) ?? [];
  // Of the machine, not of the folder.
  const { clockSuspect: _clockSuspect, ...kept } = state as typeof state & { clockSuspect?: false };
  return { ...rest, state: { ...kept, licenses } };
}

/**
 * A copy to work on. A state lies there as `.raw`, because a formatter would take a `.json` for one
 * of ours, and then its checksum would not fit any more.
 */
export function copyFixtureFolder(format: number): string {
  const folder = join(tempFolder(), "data");
  cpSync(join(FIXTURES, `format-${format}`), folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name.endsWith(".json")) rmSync(join(folder, name));
  }
  for (const name of readdirSync(folder)) {
    if (name.endsWith(".raw")) renameSync(join(folder, name), join(folder, name.slice(0, -4)));
  }
  chmodSync(folder, 0o700);
  return folder;
}
