import { join } from "node:path";
import manifest from "../../../package.json";

/** Set by build/compile.ts; undefined when run from the sources. */
declare const BERTH_COMMIT: string | undefined;

/** The trust document of a vendor's own build, which trusts no other vendor. */
declare const BERTH_TRUST: string | undefined;

export const builtInTrust: string | null = typeof BERTH_TRUST === "string" ? BERTH_TRUST : null;

export const version: string = manifest.version;

export const commit: string | null = typeof BERTH_COMMIT === "string" ? BERTH_COMMIT : null;

export const isCompiled: boolean = commit !== null;

export const runtime = `bun ${Bun.version}`;

export const target = `${process.platform}-${process.arch}`;

/** Set by tests of the sources: the executable, which starts faster. */
declare const BERTH_PROGRAM: string | undefined;

/** The command that starts this program again. */
export function selfCommand(): readonly string[] {
  if (isCompiled) return [process.execPath];
  if (typeof BERTH_PROGRAM === "string") return [BERTH_PROGRAM];
  return [process.execPath, join(import.meta.dir, "..", "..", "main.ts")];
}
