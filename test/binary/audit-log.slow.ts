// The executable's audit log, read while it is written and while checkpoints move its lines.
import { expect, onTestFinished, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { AuditPageReply } from "../../src/http/routes/audit/audit-log.ts";
import { runBinary, startBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const USERS = ["ada", "bob", "cem", "dan", "eve"];

/** The checkpoints that are kept; each name has the last line it covers. */
const listCheckpoints = (folder: string): string[] =>
  readdirSync(folder).filter((name) => /^state-\d+\.json$/.test(name));

test("audit log pages are exact and the export is complete while changes and checkpoints go on", async () => {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "cad", slots: 10 });
  // One address writes more here than the default budget allows.
  const unlimited = ["--audit-budget", "0"];
  const listen = ["--listen", "127.0.0.1:0"];
  const server = await startBinary("serve", "--data", folder, ...listen, ...unlimited);
  onTestFinished(() => server.kill());

  // Slots are taken and released: each pair of calls adds a long and a short audit line.
  let calls = 0;
  const end = new AbortController();
  const clients = USERS.map(async (user) => {
    while (!end.signal.aborted) {
      calls += 1;
      // A segment is full by then; a checkpoint of a busy machine may still take long.
      if (calls > 3_000) await Bun.sleep(50);
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

  const getPage = async (query: string): Promise<AuditPageReply> => {
    const response = await fetch(`${server.url}/api/admin/v1/audit?${query}`);
    expect(response.status).toBe(200);
    return (await response.json()) as AuditPageReply;
  };
  const readAllSeqs = async (): Promise<number[]> => {
    const seqs: number[] = [];
    for (let before: string | null = ""; before !== null;) {
      const { events, next }: AuditPageReply = await getPage(`limit=500&before=${before}`);
      seqs.push(...events.map(({ seq }) => seq));
      before = next;
    }
    return seqs;
  };

  const seenCheckpoints = new Set(listCheckpoints(folder));
  const countBefore = seenCheckpoints.size;
  for (let rounds = 0; seenCheckpoints.size === countBefore || rounds < 3; rounds += 1) {
    const lines = [...new Set(await readAllSeqs())];
    const newest = lines[0] ?? 0;
    expect(newest).toBeGreaterThan(USERS.length);
    expect(lines).toEqual(Array.from({ length: newest }, (_, index) => newest - index));
    for (const name of listCheckpoints(folder)) seenCheckpoints.add(name);
  }

  const out = join(tempFolder(), "audit.jsonl");
  const exported = await runBinary(["audit", "--data", folder, "--out", out, "--json"]);
  expect([exported.code, exported.stderr]).toEqual([0, ""]);
  end.abort();
  await Promise.all(clients);
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
