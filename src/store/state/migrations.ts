import { STATE_FORMAT } from "./snapshot.ts";

type OldState = Readonly<Record<string, unknown>>;

/** The first format of a released version. Berth 0.2.0 and older wrote 2 to 5, in development. */
const FIRST_FORMAT = 6;

/**
 * From each format to the next: what that state would contain if it were written today. All steps
 * since the first format stay here. Journals need none: the meaning of their events does not
 * change. Tests add a format that never was.
 */
export const MIGRATIONS: Record<number, (old: OldState) => OldState> = {};

/** Written by a version of Berth whose format this one does not know. */
export class FormatUnknown extends Error {
  override readonly name = "FormatUnknown";
  readonly hint: string;

  constructor(format: number) {
    const isTooOld = format < FIRST_FORMAT;
    super(
      `has format ${format}${isTooOld ? " of Berth 0.2.0 or older" : ""}; this version of berth reads ${describeReadableFormats()}`,
    );
    this.hint = isTooOld
      ? "keep that version for it, or begin a new folder with --data DIR"
      : "start the version of berth that wrote it, or a newer one";
  }
}

function describeReadableFormats(): string {
  const oldest = Math.min(STATE_FORMAT, ...Object.keys(MIGRATIONS).map(Number));
  return oldest === STATE_FORMAT ? `format ${oldest}` : `formats ${oldest} to ${STATE_FORMAT}`;
}

/** Returns a state in the current format; data that is no state is returned unchanged. */
export function migrate(data: unknown): unknown {
  const format = (data as { format?: unknown } | null)?.format;
  if (!Number.isInteger(format)) return data;
  let state = data as OldState;
  for (let current = Number(format); current !== STATE_FORMAT; current += 1) {
    const step = MIGRATIONS[current];
    if (step === undefined) throw new FormatUnknown(Number(format));
    state = { ...step(state), format: current + 1 };
  }
  return state;
}
