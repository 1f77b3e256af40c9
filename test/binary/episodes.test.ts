// Denied episodes of the real server over a stop and a kill. Open episodes are written once a minute
// and at a stop: a kill may lose the refusals since then, and nothing else.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Episode } from "../../src/domain/model/demand/episode.ts";
import type { AuditEntryReply } from "../../src/http/routes/audit/audit-entry.ts";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { RunningSite } from "../support/running-site.ts";
import { featureTerms } from "../support/scenario.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

async function call({ url }: ServerProcess, operation: string, fields: object): Promise<string> {
  const response = await fetch(`${url}/api/v4/${operation}`, {
    method: "POST",
    body: JSON.stringify({ product: "cad", ...fields }),
    headers: { "content-type": "application/json" },
  });
  if (response.ok) return "ok";
  return ((await response.json()) as { readonly code: string }).code;
}

async function refuse(
  server: ServerProcess,
  times: number,
  operation: string,
  fields: object,
): Promise<void> {
  for (let attempt = 0; attempt < times; attempt += 1) {
    expect(await call(server, operation, fields)).toBe("floating_not_available");
  }
}

const readOpen = (folder: string): readonly Episode[] => {
  const state = readFileSync(join(folder, "state.json"), "utf8");
  return (JSON.parse(state) as { readonly episodes?: readonly Episode[] }).episodes ?? [];
};

const attemptsOf = (episodes: readonly Episode[]) =>
  episodes.map(({ user, feature, attempts }) => [user, feature, attempts]);

test("denied episodes survive a stop and a kill -9, which loses only what a minute may lose", async () => {
  const folder = join(tempFolder(), "data");
  const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 60 } });
  await makeLicensedSite(folder, { product: "cad", slots: 2, features: [mesh] });
  const site = await RunningSite.open([], folder);
  for (const user of ["eve", "fay"])
    expect(await call(site.server, "register", { user })).toBe("ok");
  expect(await call(site.server, "featureRegister", { user: "eve", feature: "mesh" })).toBe("ok");
  await refuse(site.server, 5, "register", { user: "ada" });
  await refuse(site.server, 3, "register", { user: "bob" });
  await refuse(site.server, 2, "featureRegister", { user: "fay", feature: "mesh" });
  expect(await site.server.stop()).toBe(0);
  const stopped = readOpen(folder);
  expect(attemptsOf(stopped)).toEqual([
    ["ada", null, 5],
    ["bob", null, 3],
    ["fay", "mesh", 2],
  ]);

  const second = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0");
  await refuse(second, 4, "register", { user: "ada" });
  expect(await call(second, "unregister", { user: "eve" })).toBe("ok");
  expect(await call(second, "register", { user: "bob" })).toBe("ok");
  await second.kill();

  const third = await RunningSite.open([], folder);
  await refuse(third.server, 1, "register", { user: "ada" });
  expect(await call(third.server, "unregister", { user: "fay" })).toBe("ok");
  expect(await third.server.stop()).toBe(0);
  const [ada, ...others] = readOpen(folder);
  expect(others).toEqual([]);
  // The four refusals before the kill are lost: they were less than a minute old.
  expect(ada).toMatchObject({ user: "ada", attempts: 6, firstAt: stopped[0]?.firstAt });

  const { stdout } = await third.runCommand(["audit", "--type", "EpisodeEnded", "--json"]);
  const { events } = JSON.parse(stdout) as { readonly events: readonly AuditEntryReply[] };
  const ended = events.map(({ user, product, detail }) =>
    [user, product, detail["feature"], detail["attempts"], detail["outcome"]].join(" "),
  );
  expect(ended.toSorted()).toEqual(["bob cad  3 granted", "fay cad mesh 2 left"]);
  const status = await third.runCommand(["status"]);
  expect(status.stdout).toContain("PRODUCT  FEATURE  REFUSED");
  expect(status.stdout).toMatch(/^cad {6}mesh {5}floating_not_available +2$/m);
  // Of the product: 5 and 3 before the stop, 4 lost by the kill, 1 after it.
  expect(status.stdout).toMatch(/^cad {6}- {8}floating_not_available +9$/m);
});
