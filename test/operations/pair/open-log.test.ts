import { expect, test } from "bun:test";
import { openPairLog, parseLogUrl } from "../../../src/operations/pair/open-log.ts";
import { LogUnavailable } from "../../../src/store/log/shared-log.ts";
import { genesisHead } from "../../../src/store/journal/journal.ts";

test("a server that waits for the database of its pair ends when it is stopped", async () => {
  // No server listens on this port.
  const url = parseLogUrl("postgres://berth@127.0.0.1:1/berth?sslmode=disable");
  if ("message" in url) throw new Error(url.message);
  let attempts = 0;
  const options = {
    url,
    host: "alpha",
    clientUrl: null,
    termMs: 1_000,
    patienceMs: Infinity,
    passwordFile: null,
    passwordCredential: null,
    pgpassFile: null,
    isStopping: () => (attempts += 1) > 1,
  };
  const opening = openPairLog(options, { appliance: "A", pair: null, end: genesisHead });
  expect(await opening.catch((error: unknown) => error)).toBeInstanceOf(LogUnavailable);
  expect(attempts).toBe(2);
});
