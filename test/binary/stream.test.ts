import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bearer, GuardedSite } from "../support/guarded-site.ts";
import { Watching } from "../support/watching.ts";

test("a server that is told to stop ends its streams and is gone", async () => {
  const site = await GuardedSite.open();
  const unix = join(site.folder, "berth.sock");
  const url = `http://127.0.0.1:${site.port}`;
  const watching = [await Watching.open(url), await Watching.open("http://berth", { unix })];
  for (const one of watching) {
    expect((await one.sees(() => true)).pid).toBe(site.running.pid);
  }
  expect(await site.running.stop()).toBe(0);
  // A stream that a stop does not end is cut off by it later, which is no proper end.
  expect(await Promise.all(watching.map((one) => one.ended))).toEqual([true, true]);
});

test("a token that is revoked on the command line watches no more", async () => {
  const site = await GuardedSite.open();
  const [kept, revoked] = [await site.token("--name", "kept"), await site.token("--name", "gone")];
  const url = `http://127.0.0.1:${site.port}`;
  const watching = await Watching.open(url, { headers: bearer(revoked) });
  const other = await Watching.open(url, { headers: bearer(kept) });
  await watching.sees(() => true);
  expect((await site.tell(["admin", "token", "--revoke", "gone"])).code).toBe(0);
  expect(await watching.ended).toBe(true);
  expect((await Watching.open(url, { headers: bearer(revoked) })).response.status).toBe(401);
  // On record: that is something to tell.
  await other.sees(({ storage }) => storage.audit_seq > (other.told[0]?.storage.audit_seq ?? 0));
});

test("a new certificate ends what was opened under the old one; it can be opened again", async () => {
  const site = await GuardedSite.open();
  expect((await site.tell(["tls", "init"])).code).toBe(0);
  await site.restart(["--listen-tls", "0.0.0.0:0"]);
  const ca = readFileSync(join(site.folder, "tls", "ca.pem"), "utf8");
  const url = /https:\/\/127\.0\.0\.1:\d+/.exec(site.running.output)?.[0] ?? "";
  const plain = await Watching.open(`http://127.0.0.1:${site.port}`);
  const watching = await Watching.open(url, { tls: { ca } });
  await watching.sees(() => true);
  site.running.signal("SIGHUP");
  expect(await watching.ended).toBe(true);
  const again = await Watching.open(url, { tls: { ca } });
  await again.sees(() => true);
  await plain.sees(() => true);
  expect(await site.running.stop()).toBe(0);
  expect(await Promise.all([again.ended, plain.ended])).toEqual([true, true]);
});
