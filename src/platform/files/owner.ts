import { existsSync, statSync } from "node:fs";

/** Drops root's rights: files that root writes would be unreadable for the service. */
export function becomeFolderOwner(folder: string): void {
  const owner = findOwnerToBecome(folder);
  if (owner === null) return;
  process.setgroups?.([]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}

/**
 * The same only while `work` runs: its result may have to be written where only root may write, for
 * example to a medium that root mounted.
 */
export async function runAsFolderOwner<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const owner = findOwnerToBecome(folder);
  if (owner === null) return work();
  const { gid, groups } = { gid: process.getegid?.() ?? 0, groups: process.getgroups?.() ?? [] };
  process.setgroups?.([]);
  process.setegid?.(owner.gid);
  process.seteuid?.(owner.uid);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(gid);
    process.setgroups?.(groups);
  }
}

/** Null when nothing has to change: not root, no such folder, or the folder is root's. */
function findOwnerToBecome(folder: string): { readonly uid: number; readonly gid: number } | null {
  if (process.geteuid?.() !== 0 || !existsSync(folder)) return null;
  const { uid, gid } = statSync(folder);
  return uid === 0 ? null : { uid, gid };
}
