// Makes the two data folders of a pair with a license, before either host was started.
import { cpSync } from "node:fs";
import type { Terms } from "../../src/domain/model/licenses/terms.ts";
import { wire } from "../../src/operations/wire.ts";
import { wallClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import { LogConnection } from "../../src/store/log/postgres/log-connection.ts";
import { parseLogUrl, type LogUrl } from "../../src/store/log/postgres/log-url.ts";
import { createLog } from "../../src/store/log/postgres/schema.ts";
import { readJournal } from "../support/licensed-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { terms } from "../support/scenario.ts";
import { installNewLicense } from "../support/site-folder.ts";
import { transactOrThrow } from "../support/licensed-store.ts";

interface NewPair {
  readonly folders: readonly [string, string];
  readonly names: readonly [string, string];
  /** Both hosts have it: they are on one machine. */
  readonly identity: string;
  /** An empty database. */
  readonly databaseUrl: string;
  readonly terms: Partial<Terms>;
}

const LOG_ID = "log-of-the-test";

/** Both hosts are admitted, none has led yet. */
export async function formPair(pair: NewPair): Promise<void> {
  const [folder, second] = pair.folders;
  const { store, operations } = await wire({
    disk: realDisk,
    folder,
    kind: "site",
    create: true,
    holder: "server",
    clock: new ManualClock(wallClock),
    hardware: [{ kind: "named", value: pair.identity }],
    checkpoint: (dataFolder, open) => checkpoint(realDisk, dataFolder, open),
    onFatal(error) {
      throw error;
    },
  });
  await installNewLicense(operations, terms(pair.terms));
  const { hardware, hardwareId } = operations.identity.hashHardware();
  for (const host of pair.names) {
    const command = { type: "AdmitHost", log: LOG_ID, host, hardwareId, hardware } as const;
    await transactOrThrow(store, { ...command, peer: "test" });
  }
  const appliance = store.peek((state) => state.appliance);
  const head = readJournal(folder).at(-1)?.line;
  await operations.close();
  if (head === undefined) throw new Error("the journal of the new site is empty");
  cpSync(folder, second, { recursive: true, filter: (name) => !name.endsWith(".sock") });
  const connection = connectTo(pair.databaseUrl);
  await createLog(connection, { id: LOG_ID, appliance, end: { seq: head.seq, sum: head.sum } });
  connection.close();
}

/** A connection of the test itself to the database. */
export function connectTo(url: string): LogConnection {
  return new LogConnection({
    url: urlOf(url),
    readPassword: () => null,
    name: "test",
    deadlineMs: 30_000,
  });
}

function urlOf(text: string): LogUrl {
  const url = parseLogUrl(text);
  if ("message" in url) throw new Error(url.message);
  return url;
}
