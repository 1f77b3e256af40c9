// Data folders of earlier versions, byte for byte.
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

/** The format versions that have a fixture folder. */
export const listFixtureFormats = (): number[] =>
  readdirSync(FIXTURES)
    .map((name) => Number(/^format-(\d+)$/.exec(name)?.[1]))
    .filter((format) => existsSync(join(FIXTURES, `format-${format}`, "state.json.raw")))
    .toSorted((a, b) => a - b);

/** The content of the folder according to the version that wrote it. */
export interface ExpectedContents {
  readonly seq: number;
  readonly audit_seq: number;
  readonly state: Partial<StateDump>;
}

/** Members of the state that had another name when the files were written. */
const RENAMED_MEMBERS: Readonly<Record<string, string>> = {
  mark: "latestEventAt",
  answered: "answeredRequests",
  heads: "requestHeads",
  retired: "retirement",
  lentDated: "hasLentTimeDependent",
  jumps: "clockJumps",
  lapsed: "lapsedBorrows",
  remembered: "idempotencyRecords",
};

const withCurrentNames = (state: object): Partial<StateDump> =>
  Object.fromEntries(
    Object.entries(state).map(([name, value]) => [RENAMED_MEMBERS[name] ?? name, value]),
  );

export function readExpectedContents(format: number, fixtures = FIXTURES): ExpectedContents {
  const path = join(fixtures, `format-${format}`, "expected.json");
  const { state: written, ...rest } = JSON.parse(readFileSync(path, "utf8")) as ExpectedContents;
  const state = withCurrentNames(written);
  // Their order in memory does not matter.
  const licenses = state.licenses?.toSorted(([a], [b]) => Number(a) - Number(b)) ?? [];
  // A property of the machine, not of the folder.
  const { clockSuspect: _clockSuspect, ...members } = state as typeof state & {
    clockSuspect?: false;
  };
  return { ...rest, state: { ...members, licenses } };
}

/**
 * Copies a fixture folder. Its state file has the suffix `.raw`, because a formatter would rewrite
 * a `.json` file of this repository, and its checksum would then be wrong.
 */
export function copyFixtureFolder(format: number, fixtures = FIXTURES): string {
  const folder = join(tempFolder(), "data");
  cpSync(join(fixtures, `format-${format}`), folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name.endsWith(".json")) rmSync(join(folder, name));
  }
  for (const name of readdirSync(folder)) {
    if (name.endsWith(".raw")) renameSync(join(folder, name), join(folder, name.slice(0, -4)));
  }
  chmodSync(folder, 0o700);
  return folder;
}
