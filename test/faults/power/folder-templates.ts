// Data folders to start from: a licensed site, and one whose next checkpoint is nearly due.
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { listSegments } from "../../../src/store/folder/files.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { PRODUCT } from "../kill/calls.ts";
import { LOAD_TERMS } from "../kill/site-load.ts";
import { PowerServer } from "./power-server.ts";

const MIB = 1024 * 1024;

/** A little less than the size at which a segment is closed. */
const NEARLY_FULL = 7.9 * MIB;
const INFO_LENGTH = 4_000;
const PARALLEL_CALLS = 16;

const FILLER = { product: PRODUCT, user: "filler" };

export interface FolderTemplates {
  readonly small: string;
  readonly large: string;
}

export async function makeFolderTemplates(folder: string): Promise<FolderTemplates> {
  const [small, large] = [join(folder, "small"), join(folder, "large")];
  await makeLicensedSite(join(small, "data"), LOAD_TERMS);
  mkdirSync(large);
  cpSync(join(small, "data"), join(large, "data"), { recursive: true });
  await fillJournal(join(large, "data"));
  return { small, large };
}

/** Sends heartbeats with new user_info until the segment is nearly full, then kills the server. */
async function fillJournal(folder: string): Promise<void> {
  const server = new PowerServer(folder);
  const url = await server.ready;
  if (url === null) throw new Error(await server.describeExit());
  const segmentSize = (): number => {
    const newest = listSegments(realDisk, folder).at(-1);
    return newest === undefined ? 0 : (realDisk.stat(newest.path)?.size ?? 0);
  };
  const post = async (operation: string, body: object): Promise<void> => {
    const response = await fetch(`${url}/api/v4/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
  };
  let callCount = 0;
  const sendHeartbeats = async (): Promise<void> => {
    while (segmentSize() < NEARLY_FULL) {
      const info = `${(callCount += 1)}${"x".repeat(INFO_LENGTH)}`;
      await post("register", { ...FILLER, user_info: info });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_CALLS }, sendHeartbeats));
  await post("unregister", FILLER);
  await server.kill();
}
