import { FolderRefused } from "../../store/folder/refusal.ts";

const MAX_ATTEMPTS = 5;

/**
 * Reads the data folder of a server that may be running. The server may replace or delete a file
 * meanwhile; real damage is found on every attempt.
 */
export async function readLiveFolder<T>(read: (isLast: boolean) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt === MAX_ATTEMPTS;
    try {
      return await read(isLast);
    } catch (error) {
      if (!(error instanceof FolderRefused) || isLast) throw error;
    }
  }
}
