// Two commands at once on one data folder, as of two operators, or of one and a cron job. Each does
// its work or names what is in its way, what it has done is there, and the folder is intact.
import { beforeAll, describe, expect, onTestFinished, test } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { RegistrationReply } from "../../src/http/routes/slots/registrations.ts";
import { startBinary } from "../support/binary.ts";
import { runBerth, runJsonOrThrow, runOrThrow, runProcess } from "../support/run-berth.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { atEnd } from "../support/suite-harness.ts";
import { tempFolder } from "../support/temp-folder.ts";

const root = tempFolder((cleanup) => atEnd(() => void cleanup()));
const site = join(root, "site");
const oldBackup = join(root, "old.berth");

/** A stopped site in which ada holds a slot, and a backup of it. */
beforeAll(async () => {
  await makeLicensedSite(site, { product: "cad" });
  const server = await startBinary("serve", "--data", site, "--listen", "127.0.0.1:0");
  const reply = await fetch(`${server.url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user: "ada" }),
  });
  expect(reply.status).toBe(200);
  expect(await server.stop()).toBe(0);
  await runOrThrow(["backup", oldBackup, "--data", site]);
});

interface Command {
  /** `out` is a new path for each of the two. */
  readonly words: (out: string) => readonly string[];
  /** Whether what a successful command has done is there. */
  readonly isDone?: (folder: string, out: string) => Promise<boolean>;
}

const listText = async (words: readonly string[], folder: string): Promise<string> =>
  JSON.stringify(await runJsonOrThrow([...words, "--data", folder]));
const nameOf = (out: string): string => out.slice(out.lastIndexOf("/") + 1);
const isIntact = async (path: string): Promise<boolean> =>
  (await runBerth(["verify", path])).code === 0;

const COMMANDS = {
  "admin token": {
    words: (out) => ["admin", "token", "--name", nameOf(out)],
    isDone: async (folder, out) =>
      (await listText(["admin", "user", "list"], folder)).includes(nameOf(out)),
  },
  "license request": {
    words: (out) => ["license", "request", "--product", "cad", "--note", nameOf(out), "--out", out],
    isDone: async (folder, out) =>
      (await listText(["license", "requests"], folder)).includes(nameOf(out)),
  },
  release: {
    words: () => ["release", "--user", "ada"],
    isDone: async (folder) => {
      const slots = await runJsonOrThrow<RegistrationReply[]>(["slots", "--data", folder]);
      return slots.length === 0;
    },
  },
  "rules apply": {
    words(out) {
      writeFileSync(`${out}.toml`, `# ${nameOf(out)}\n`);
      return ["rules", "apply", `${out}.toml`];
    },
    // The other one may have been later.
    isDone: async (folder) => /# (?:first|second)/.test(await listText(["rules", "show"], folder)),
  },
  "tls init": {
    words: () => ["tls", "init"],
    async isDone(folder) {
      const read = (name: string): X509Certificate =>
        new X509Certificate(readFileSync(join(folder, "tls", name)));
      const issuer = readFileSync(join(folder, "tls", "server.pem"), "utf8")
        .split(/(?<=-----END CERTIFICATE-----\n)/)
        .at(1);
      const isOfCa = new X509Certificate(issuer ?? "").verify(read("ca.pem").publicKey);
      return isOfCa && read("server.pem").verify(new X509Certificate(issuer ?? "").publicKey);
    },
  },
  "usage rebuild": { words: () => ["usage", "rebuild"] },
  verify: { words: () => ["verify"] },
  "support-bundle": { words: (out) => ["support-bundle", out, "--yes"] },
  backup: { words: (out) => ["backup", out], isDone: (_folder, out) => isIntact(out) },
  restore: { words: () => ["restore", oldBackup, "--accept-loss"] },
  "move out": {
    words: (out) => ["move", "out", out, "--yes"],
    isDone: async (folder, out) =>
      (await isIntact(out)) && /"moved[a-z_]*":"\d/.test(await listText(["status"], folder)),
  },
} satisfies Record<string, Command>;

type Name = keyof typeof COMMANDS;

type Pair = readonly [Name, Name];

/** Those that a server does for the command, and one that it refuses. */
const PAIRS: readonly Pair[] = [
  ["admin token", "admin token"],
  ["license request", "license request"],
  ["release", "release"],
  ["rules apply", "rules apply"],
  ["move out", "move out"],
  ["move out", "license request"],
  ["backup", "release"],
  ["backup", "move out"],
  ["backup", "restore"],
];

const PAIRS_ON_A_STOPPED_SITE: readonly Pair[] = [
  ...PAIRS,
  ["tls init", "tls init"],
  ["usage rebuild", "usage rebuild"],
  ["backup", "backup"],
  ["backup", "usage rebuild"],
  ["restore", "restore"],
  ["restore", "release"],
  ["restore", "move out"],
  ["restore", "verify"],
  ["restore", "support-bundle"],
];

describe.each([
  ["a stopped site", PAIRS_ON_A_STOPPED_SITE],
  ["a served site", PAIRS],
] as const)("two commands at once on %s", (which, pairs) => {
  test.each(pairs)("berth %s and %s leave it intact", async (first, second) => {
    const pair = [first, second];
    const folder = join(tempFolder(), "data");
    cpSync(site, folder, { recursive: true });
    const server =
      which === "a served site"
        ? await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0")
        : null;
    onTestFinished(() => server?.kill());
    const outs = ["first", "second"].map((name) => join(folder, "..", name));
    const results = await Promise.all(
      pair.map((name, index) =>
        runProcess([...COMMANDS[name].words(outs[index] ?? ""), "--data", folder]),
      ),
    );
    for (const { code, stderr } of results) {
      // Refused with a reason, or not at all.
      if (stderr.includes("is not finished"))
        expect([code, pair]).toEqual([78, expect.arrayContaining(["restore"])]);
      else if (code !== 0)
        expect([code, stderr]).toEqual([1, expect.stringMatching(/^berth: error: /m)]);
      expect(stderr).not.toContain("internal error");
    }
    if (server !== null) {
      expect((await fetch(`${server.url}/`)).status).toBe(200);
      expect(await server.stop()).toBe(0);
    }
    expect(await isIntact(folder)).toBe(true);
    if (pair.includes("restore")) return;
    expect(results.map(({ code }) => code)).toContain(0);
    for (const [index, name] of pair.entries()) {
      const { isDone }: Command = COMMANDS[name];
      if (results[index]?.code !== 0 || isDone === undefined) continue;
      expect([name, await isDone(folder, outs[index] ?? "")]).toEqual([name, true]);
    }
  });
});
