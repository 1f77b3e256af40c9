import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bearerHeader, RunningSite } from "../support/running-site.ts";
import { StatusStream } from "../support/status-stream.ts";

test("a server that is told to stop ends its streams and is gone", async () => {
  const site = await RunningSite.open();
  const unix = join(site.folder, "berth.sock");
  const url = `http://127.0.0.1:${site.port}`;
  const watching = [
    await StatusStream.open(url),
    await StatusStream.open("http://berth", { unix }),
  ];
  for (const one of watching) {
    expect((await one.waitForStatus(() => true)).pid).toBe(site.server.pid);
  }
  expect(await site.server.stop()).toBe(0);
  // A stream that a stop does not end is cut off by it later, which is no proper end.
  expect(await Promise.all(watching.map((one) => one.ended))).toEqual([true, true]);
});

test("a token that is revoked on the command line watches no more", async () => {
  const site = await RunningSite.open();
  const [kept, revoked] = [
    await site.createToken("--name", "kept"),
    await site.createToken("--name", "gone"),
  ];
  const url = `http://127.0.0.1:${site.port}`;
  const watching = await StatusStream.open(url, { headers: bearerHeader(revoked) });
  const other = await StatusStream.open(url, { headers: bearerHeader(kept) });
  await watching.waitForStatus(() => true);
  expect((await site.runCommand(["admin", "token", "--revoke", "gone"])).code).toBe(0);
  expect(await watching.ended).toBe(true);
  expect((await StatusStream.open(url, { headers: bearerHeader(revoked) })).response.status).toBe(
    401,
  );
  // On record: that is something to tell.
  await other.waitForStatus(
    ({ storage }) => storage.audit_seq > (other.statuses[0]?.storage.audit_seq ?? 0),
  );
});

test("a new certificate ends what was opened under the old one; it can be opened again", async () => {
  const site = await RunningSite.open();
  expect((await site.runCommand(["tls", "init"])).code).toBe(0);
  await site.restart(["--listen-tls", "0.0.0.0:0"]);
  const ca = readFileSync(join(site.folder, "tls", "ca.pem"), "utf8");
  const url = /https:\/\/127\.0\.0\.1:\d+/.exec(site.server.output)?.[0] ?? "";
  const plain = await StatusStream.open(`http://127.0.0.1:${site.port}`);
  const watching = await StatusStream.open(url, { tls: { ca } });
  await watching.waitForStatus(() => true);
  site.server.signal("SIGHUP");
  expect(await watching.ended).toBe(true);
  const again = await StatusStream.open(url, { tls: { ca } });
  await again.waitForStatus(() => true);
  await plain.waitForStatus(() => true);
  expect(await site.server.stop()).toBe(0);
  expect(await Promise.all([again.ended, plain.ended])).toEqual([true, true]);
});
