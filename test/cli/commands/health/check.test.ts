import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBerth, runJsonOrThrow, startServer } from "../../../support/run-berth.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

async function serveSite() {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "CAD", slots: 2 });
  return { folder, server: await startServer(["serve", "--data", folder]) };
}

describe("berth check", () => {
  test("reads a running server through its socket, and by URL with a token for metrics", async () => {
    const { folder, server } = await serveSite();
    for (const user of ["ada", "bob"])
      expect((await server.post("register", { user })).ok).toBe(true);
    const local = await runBerth(["check", "slots", "--data", folder]);
    expect([local.code, local.stdout]).toEqual([
      2,
      expect.stringMatching(
        /^BERTH CRITICAL - CAD \d+: 2 of 2 slots in use \| CAD_\d+_slots=2;1.8;2;0;2\n$/,
      ),
    ]);
    await runJsonOrThrow(["admin", "token", "--data", folder, "--name", "ops"]);
    const { token } = await runJsonOrThrow<{ token: string }>([
      "admin",
      "token",
      "--data",
      folder,
      "--name",
      "nagios",
      "--role",
      "metrics",
    ]);
    const tokenFile = join(tempFolder(), "token");
    writeFileSync(tokenFile, `${token}\n`);
    const byUrl = ["check", "clock", "--url", server.url];
    const remote = await runBerth([...byUrl, "--token-file", tokenFile]);
    expect([remote.code, remote.stdout]).toEqual([0, expect.stringMatching(/^BERTH OK - .*\n$/)]);
    const refused = await runBerth(byUrl);
    expect([refused.code, refused.stdout]).toEqual([
      3,
      expect.stringMatching(/^BERTH UNKNOWN - .* answers 401; .*--token-file\n$/),
    ]);
  });

  test("is critical without a server", async () => {
    const missing = join(tempFolder(), "none");
    const { code, stdout } = await runBerth(["check", "--data", missing]);
    expect([code, stdout]).toEqual([2, `BERTH CRITICAL - no server is running on ${missing}\n`]);
    const unreachable = await runBerth(["check", "--url", "http://127.0.0.1:1"]);
    expect([unreachable.code, unreachable.stdout]).toEqual([
      2,
      expect.stringMatching(/^BERTH CRITICAL - http:\/\/127.0.0.1:1\/metrics does not answer/),
    ]);
  });

  test.each([
    [["--bogus"]],
    [["nothing"]],
    [["clock", "-w", "3"]],
    [["slots", "-w", "many"]],
    [["--url", "nonsense"]],
    [["--url", "ftp://berth"]],
    [["--token-file", "x"]],
    [["slots", "disk"]],
  ])("is unknown, with one line on standard output, for the arguments %p", async (args) => {
    const { code, stdout } = await runBerth(["check", ...args]);
    expect([code, stdout]).toEqual([3, expect.stringMatching(/^BERTH UNKNOWN - [^\n|]+\n$/)]);
  });

  test.each([
    ["slots", "100", "80", "at most"],
    ["licenses", "5", "30", "at least"],
  ])("is UNKNOWN if the limits of %s are reversed", async (check, warning, critical, side) => {
    const { code, stdout } = await runBerth(["check", check, "-w", warning, "-c", critical]);
    expect([code, stdout]).toEqual([
      3,
      `BERTH UNKNOWN - --warning ${warning} is worse than --critical ${critical}; ` +
        `of ${check}, the limit of WARNING is ${side} that of CRITICAL\n`,
    ]);
  });
});
