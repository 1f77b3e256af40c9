import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { errorCode } from "./system-error.ts";

/** No link, and no wait at a pipe. Windows has neither flag. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const PART_BYTES = 1024 * 1024;

/** What `open` says of a file that does not exist, and of a link. */
const NO_FILE = new Set(["ENOENT", "ELOOP"]);

/**
 * The content of a file in a folder where others may write; null: there is none, or it is a link, a
 * pipe or a folder. It is checked after it was opened, so it cannot be exchanged in between.
 */
export async function readRegularFile(path: string): Promise<ReadableStream<Uint8Array> | null> {
  const file = await open(path, FLAGS).catch((error: unknown) => {
    if (NO_FILE.has(errorCode(error) ?? "")) return null;
    throw error;
  });
  if (file === null) return null;
  if ((await file.stat()).isFile()) return streamOf(file);
  await file.close();
  return null;
}

/** Closes the file at its end, after an error, and when the reader stops. */
const streamOf = (file: FileHandle): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      try {
        const { bytesRead, buffer } = await file.read(new Uint8Array(PART_BYTES));
        if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead));
      } catch (error) {
        await file.close();
        throw error;
      }
      await file.close();
      controller.close();
    },
    cancel: () => file.close(),
  });
