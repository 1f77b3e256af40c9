import { join } from "node:path";
import type { State } from "../domain/state.ts";
import type { Disk } from "../platform/disk.ts";
import { STATE_FILE } from "./files.ts";
import { FolderRefused } from "./refusal.ts";
import { findRecoveryHint, type ReplayResult } from "./replay.ts";

/** Something in a state that has no vendor's signature behind it. */
export interface UnsignedFinding {
  /** Null: it is not about one license. */
  readonly license: number | null;
  readonly description: string;
  /** What helps where no earlier state does; absent: a backup. */
  readonly hint?: string;
}

/**
 * Checks what a folder says of its licenses against the documents their vendors signed; null: all
 * of it fits. Given from outside, because the store knows nothing of signatures.
 */
export type SignatureCheck = (state: State) => Promise<UnsignedFinding | null>;

/** Throws, with the place where it stands and the command that helps; changes nothing. */
export async function refuseUnsigned(
  disk: Disk,
  folder: string,
  { state, installedBy }: Pick<ReplayResult, "state" | "installedBy">,
  check: SignatureCheck | undefined,
): Promise<void> {
  const found = await check?.(state);
  if (found == null) return;
  const path = join(folder, STATE_FILE);
  const where = installedBy.get(found.license ?? -1) ?? path;
  const back = await findRecoveryHint(disk, folder, path, check);
  const backup = "restore a backup with berth restore FILE; nothing was changed";
  throw new FolderRefused(`${where}: ${found.description}`, back ?? found.hint ?? backup);
}
