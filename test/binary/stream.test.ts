import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bearerHeader, RunningSite } from "../support/running-site.ts";
import { StatusStream } from "../support/status-stream.ts";

test("a server that is stopped ends its status streams properly and exits", async () => {
  const site = await RunningSite.open();
  const unix = join(site.folder, "berth.sock");
  const url = `http://127.0.0.1:${site.port}`;
  const streams = [await StatusStream.open(url), await StatusStream.open("http://berth", { unix })];
  for (const stream of streams) {
    expect((await stream.waitForStatus(() => true)).pid).toBe(site.server.pid);
  }
  expect(await site.server.stop()).toBe(0);
  // A stop later cuts off streams that have not ended, and then `ended` is false.
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual([true, true]);
});

test("a status stream ends when its token is revoked on the command line", async () => {
  const site = await RunningSite.open();
  const [validToken, revokedToken] = [
    await site.createToken("--name", "valid"),
    await site.createToken("--name", "revoked"),
  ];
  const url = `http://127.0.0.1:${site.port}`;
  const stream = await StatusStream.open(url, { headers: bearerHeader(revokedToken) });
  const other = await StatusStream.open(url, { headers: bearerHeader(validToken) });
  await stream.waitForStatus(() => true);
  expect((await site.runCommand(["admin", "token", "--revoke", "revoked"])).code).toBe(0);
  expect(await stream.ended).toBe(true);
  expect(
    (await StatusStream.open(url, { headers: bearerHeader(revokedToken) })).response.status,
  ).toBe(401);
  // The revocation is in the audit log, so the other stream sends a new status.
  await other.waitForStatus(
    ({ storage }) => storage.audit_seq > (other.statuses[0]?.storage.audit_seq ?? 0),
  );
});

test("a new certificate ends TLS status streams opened under the old one, and they can be reopened", async () => {
  const site = await RunningSite.open();
  expect((await site.runCommand(["tls", "init"])).code).toBe(0);
  await site.restart(["--listen-tls", "0.0.0.0:0"]);
  const ca = readFileSync(join(site.folder, "tls", "ca.pem"), "utf8");
  const url = /https:\/\/127\.0\.0\.1:\d+/.exec(site.server.output)?.[0] ?? "";
  const plain = await StatusStream.open(`http://127.0.0.1:${site.port}`);
  const stream = await StatusStream.open(url, { tls: { ca } });
  await stream.waitForStatus(() => true);
  site.server.signal("SIGHUP");
  expect(await stream.ended).toBe(true);
  const again = await StatusStream.open(url, { tls: { ca } });
  await again.waitForStatus(() => true);
  await plain.waitForStatus(() => true);
  expect(await site.server.stop()).toBe(0);
  expect(await Promise.all([again.ended, plain.ended])).toEqual([true, true]);
});
