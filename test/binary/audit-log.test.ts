// The record of the real executable, read while it is written and while checkpoints move its lines.
import { expect, onTestFinished, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { AuditPageReply } from "../../src/http/routes/audit-log.ts";
import { runBinary, startBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const USERS = ["ada", "bob", "cem", "dan", "eve"];

/** Kept checkpoints, by what they cover. */
const listCheckpoints = (folder: string): string[] =>
  readdirSync(folder).filter((name) => /^state-\d+\.json$/.test(name));

test("pages are exact and the export is whole while it works and checkpoints run", async () => {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad", slots: 10 });
  // One address writes more here than it usually may.
  const unlimited = ["--audit-budget", "0"];
  const listen = ["--listen", "127.0.0.1:0"];
  const server = await startBinary("serve", "--data", folder, ...listen, ...unlimited);
  onTestFinished(() => server.kill());

  /** Slots taken and given back: a long line and a short one of the audit log, again and again. */
  let calls = 0;
  const over = new AbortController();
  const working = USERS.map(async (user) => {
    while (!over.signal.aborted) {
      calls += 1;
      const user_info = `${calls} `.padEnd(4_000, "x");
      for (const call of ["register", "unregister"]) {
        const response = await fetch(`${server.url}/api/v4/${call}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ user, user_info }),
        });
        expect(response.status).toBe(200);
      }
    }
  });

  const page = async (query: string): Promise<AuditPageReply> => {
    const response = await fetch(`${server.url}/api/admin/v1/audit?${query}`);
    expect(response.status).toBe(200);
    return (await response.json()) as AuditPageReply;
  };
  const walk = async (): Promise<number[]> => {
    const found: number[] = [];
    for (let next: string | null = ""; next !== null;) {
      const { events, next: then }: AuditPageReply = await page(`limit=500&before=${next}`);
      found.push(...events.map(({ seq }) => seq));
      next = then;
    }
    return found;
  };

  const seen = new Set(listCheckpoints(folder));
  let walks = 0;
  for (; seen.size < 3 || walks < 3; walks += 1) {
    const lines = [...new Set(await walk())];
    const newest = lines[0] ?? 0;
    expect(newest).toBeGreaterThan(USERS.length);
    expect(lines).toEqual(Array.from({ length: newest }, (_, index) => newest - index));
    for (const name of listCheckpoints(folder)) seen.add(name);
  }

  const out = join(tempFolder(), "record.jsonl");
  const exported = await runBinary(["audit", "--data", folder, "--out", out, "--json"]);
  expect([exported.code, exported.stderr]).toEqual([0, ""]);
  over.abort();
  await Promise.all(working);
  const facts = JSON.parse(exported.stdout) as {
    lines: number;
    last_line: number;
    previous_sum: null;
  };
  expect(facts).toMatchObject({ lines: facts.last_line, previous_sum: null });
  const checked = await runBinary(["audit", "verify", out]);
  expect([checked.code, checked.stderr]).toEqual([0, ""]);
  expect(await server.stop()).toBe(0);
  expect((await runBinary(["verify", "--data", folder])).code).toBe(0);
});
