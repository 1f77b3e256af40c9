// Data folders to begin with: a site with a license, and one whose journal is about to be folded.
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/disk.ts";
import { listSegments } from "../../../src/store/files.ts";
import { consumptionTerms } from "../../support/scenario.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { PRODUCT } from "./clients.ts";
import { PowerServer } from "./power-server.ts";
import { USERS } from "./power-site.ts";

const MIB = 1024 * 1024;

/** A little less than a segment holds before it is closed. */
const NEARLY_FULL = 7.9 * MIB;
const INFO = 4_000;
const AT_ONCE = 16;

/** One of those who work on later. */
const FILLER = "user-0";

export interface FolderTemplates {
  readonly small: string;
  readonly large: string;
}

export async function makeFolderTemplates(folder: string): Promise<FolderTemplates> {
  const [small, large] = [join(folder, "small"), join(folder, "large")];
  const terms = { product: PRODUCT, slots: USERS, consumption: consumptionTerms({ max: null }) };
  // Nothing may run out while the rig runs.
  await makeLicensedSite(join(small, "data"), { ...terms, timeoutMinutes: 24 * 60 });
  mkdirSync(large);
  cpSync(join(small, "data"), join(large, "data"), { recursive: true });
  await fill(join(large, "data"));
  return { small, large };
}

/** Heartbeats that say something new each time, until the journal is nearly full; then a kill. */
async function fill(folder: string): Promise<void> {
  const server = new PowerServer(folder);
  const url = await server.ready;
  if (url === null) throw new Error(await server.describeExit());
  const size = (): number => {
    const newest = listSegments(realDisk, folder).at(-1);
    return newest === undefined ? 0 : (realDisk.stat(newest.path)?.size ?? 0);
  };
  let calls = 0;
  const talk = async (): Promise<void> => {
    while (size() < NEARLY_FULL) {
      const info = `${(calls += 1)}${"x".repeat(INFO)}`;
      const response = await fetch(`${url}/api/v4/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ product: PRODUCT, user: FILLER, user_info: info }),
      });
      if (!response.ok) throw new Error(await response.text());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, talk));
  await server.kill();
}
