// Data folders to start from: a licensed site, and one whose next checkpoint is nearly due.
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { listSegments } from "../../../src/store/folder/files.ts";
import { consumptionTerms } from "../../support/scenario.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { PRODUCT } from "./clients.ts";
import { PowerServer } from "./power-server.ts";
import { USERS } from "./power-site.ts";

const MIB = 1024 * 1024;

/** A little less than the size at which a segment is closed. */
const NEARLY_FULL = 7.9 * MIB;
const INFO_LENGTH = 4_000;
const PARALLEL_CALLS = 16;

/** One of the users that the clients use later. */
const FILLER = "user-0";

export interface FolderTemplates {
  readonly small: string;
  readonly large: string;
}

export async function makeFolderTemplates(folder: string): Promise<FolderTemplates> {
  const [small, large] = [join(folder, "small"), join(folder, "large")];
  const terms = { product: PRODUCT, slots: USERS, consumption: consumptionTerms({ max: null }) };
  // No registration may time out while the suite runs.
  await makeLicensedSite(join(small, "data"), { ...terms, timeoutMinutes: 24 * 60 });
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
  let callCount = 0;
  const sendHeartbeats = async (): Promise<void> => {
    while (segmentSize() < NEARLY_FULL) {
      const info = `${(callCount += 1)}${"x".repeat(INFO_LENGTH)}`;
      const response = await fetch(`${url}/api/v4/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ product: PRODUCT, user: FILLER, user_info: info }),
      });
      if (!response.ok) throw new Error(await response.text());
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_CALLS }, sendHeartbeats));
  await server.kill();
}
