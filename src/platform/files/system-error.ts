/** Whether opening a file or folder failed: then nothing was written, and no sync failed. */
export const isOpenFailure = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && error.syscall === "open";

/** The code of a system error (`ENOSPC`, `EIO`, …); null for other errors. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

/** The path that a system error is about; null: none, or another error. */
export const errorPath = (error: unknown): string | null =>
  error instanceof Error && "path" in error && typeof error.path === "string" ? error.path : null;
