import { existsSync, statSync } from "node:fs";

/** What root writes into a service's folder, the service could no longer read. */
export function becomeFolderOwner(folder: string): void {
  const owner = findOwnerToBecome(folder);
  if (owner === null) return;
  process.setgroups?.([]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}

/**
 * The same for as long as `work` takes: what comes of it may have to go where only root may write,
 * a medium that root mounted for one.
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

/** Null when there is nothing to change: not root, no folder, or root's own. */
function findOwnerToBecome(folder: string): { readonly uid: number; readonly gid: number } | null {
  if (process.geteuid?.() !== 0 || !existsSync(folder)) return null;
  const { uid, gid } = statSync(folder);
  return uid === 0 ? null : { uid, gid };
}
