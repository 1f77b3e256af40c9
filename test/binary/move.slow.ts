import { expect, onTestFinished, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { buildBinary, startBinary } from "../support/binary.ts";
import { runBerth, runOrThrow, runJsonOrThrow } from "../support/offline-binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";
import { INIT_DESK } from "../support/vendor-commands.ts";

const TERMS = [
  "--allow-weak-binding",
  "--slots",
  "9",
  "--borrow-hours",
  "48",
  "--valid-until",
  "never",
];
const LISTEN = ["--listen", "127.0.0.1:0"];

/** `host` is the machine's identity: two hosts are two machines for every license. */
async function serve(folder: string, host: string) {
  const server = await startBinary("serve", "--data", folder, "--identity", host, ...LISTEN);
  onTestFinished(() => server.kill());
  return server;
}

async function post(url: string, path: string, body: object) {
  const response = await fetch(`${url}/api/v4/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { code = null } = (await response.json()) as { readonly code?: string };
  return [response.status, code];
}

interface Slot {
  readonly user: string;
  readonly borrowed_until: string | null;
}

const listSlots = (folder: string): Slot[] => runJsonOrThrow("slots", "--data", folder) as Slot[];

const listUsers = (folder: string): string[] =>
  listSlots(folder)
    .map(({ user }) => user)
    .toSorted();

/** Only the first half of a move out, as if the command were killed after it. */
async function markMovedOut(folder: string): Promise<void> {
  const { appliance } = runJsonOrThrow("status", "--data", folder) as {
    readonly appliance: { readonly id: string };
  };
  const response = await fetch("http://berth/api/admin/v1/move", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ appliance: appliance.id }),
    unix: join(folder, "berth.sock"),
  });
  expect(response.status).toBe(200);
}

/** A folder takes the file's name between the question to the operator and the answer. */
async function moveOutWithBlockedFile(folder: string, file: string) {
  let output = "";
  const child = Bun.spawn([buildBinary(), "move", "out", file, "--data", folder], {
    cwd: "/",
    env: {},
    terminal: { data: (_terminal, bytes) => void (output += Buffer.from(bytes).toString()) },
  });
  onTestFinished(() => child.kill("SIGKILL"));
  await waitUntil(() => output.includes("continue?"), "the confirmation prompt");
  mkdirSync(file);
  child.terminal?.write("y\n");
  const code = await child.exited;
  await waitUntil(() => output.includes("berth: hint:"), "the hint");
  return { code, output };
}

class DeskAndSites {
  readonly folder = tempFolder();
  readonly path = (name: string): string => join(this.folder, name);
  readonly deskFlags = ["--dir", this.path("desk")];

  /** Makes a request at a site, issues a license at the desk and installs it at the site. */
  licenseSite(site: string): string {
    const data = ["--data", this.path(site)];
    const name = `${site}-${crypto.randomUUID()}`;
    runOrThrow(
      "license",
      "request",
      ...data,
      "--product",
      "CAD",
      "--out",
      this.path(`${name}.request`),
    );
    const files = ["--request", this.path(`${name}.request`), "--out", this.path(`${name}.jwt`)];
    const issued = runBerth("vendor", "issue", ...this.deskFlags, ...files, ...TERMS);
    expect(issued.code).toBe(0);
    runOrThrow("license", "add", this.path(`${name}.jwt`), ...data);
    return issued.stderr;
  }

  /** A running site with a CAD license; ada has a slot, and bob has borrowed one. */
  async openOldSite() {
    runOrThrow(...INIT_DESK, ...this.deskFlags, "--product", "CAD");
    const server = await serve(this.path("old"), "old-host");
    runOrThrow("trust", "add", this.path("desk/trust.jwt"), "--data", this.path("old"), "--yes");
    this.licenseSite("old");
    expect(await post(server.url, "register", { product: "CAD", user: "ada" })).toEqual([
      200,
      null,
    ]);
    expect(await post(server.url, "borrow", { product: "CAD", user: "bob" })).toEqual([200, null]);
    return server;
  }
}

test("after a move, the new host serves the whole site and the old host serves nothing", async () => {
  const sites = new DeskAndSites();
  const server = await sites.openOldSite();
  const moved = sites.path("site.move");
  const borrows = listSlots(sites.path("old")).map(({ borrowed_until }) => borrowed_until);
  expect(borrows).toEqual([null, expect.any(String)]);
  runOrThrow("move", "out", moved, "--data", sites.path("old"), "--yes");

  expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(409);
  expect(runOrThrow("status", "--data", sites.path("old"))).toMatch(
    /^warning +Moved to another host on /m,
  );
  expect(await post(server.url, "register", { product: "CAD", user: "ada" })).toEqual([
    409,
    "moved_away",
  ]);
  expect(await server.stop()).toBe(0);
  const again = runBerth("serve", "--data", sites.path("old"), "--identity", "old-host", ...LISTEN);
  expect(again.code).toBe(78);
  expect(again.stderr).toContain("was moved to another host on ");
  expect(again.stderr).toContain("berth: hint: run the server on that host");
  const old = ["--data", sites.path("old"), "--identity", "old-host"];
  expect(runOrThrow("status", ...old)).toMatch(/^warning +Moved to another host on /m);
  const doctor = runBerth("doctor", ...old);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/^warning +Moved to another host on /m);

  runOrThrow("move", "in", moved, "--data", sites.path("new"));
  const newServer = await serve(sites.path("new"), "new-host");
  expect(listUsers(sites.path("new"))).toEqual(["ada", "bob"]);
  expect(listSlots(sites.path("new")).map(({ borrowed_until }) => borrowed_until)).toEqual(borrows);
  expect(runOrThrow("status", "--data", sites.path("new"))).toMatch(
    /^warning +CAD was issued for the previous host and expires in /m,
  );
  expect(await post(newServer.url, "register", { product: "CAD", user: "ada" })).toEqual([
    200,
    null,
  ]);
  expect(await post(newServer.url, "register", { product: "CAD", user: "cyd" })).toEqual([
    200,
    null,
  ]);

  // The vendor signs a license for the new hardware, and the desk prints the reason.
  expect(sites.licenseSite("new")).toContain("the site moved to another host on ");
  expect(runOrThrow("status", "--data", sites.path("new"))).not.toContain("valid here until");
  expect(listUsers(sites.path("new"))).toEqual(["ada", "bob", "cyd"]);
  expect(await post(newServer.url, "register", { product: "CAD", user: "dua" })).toEqual([
    200,
    null,
  ]);
  expect(sites.licenseSite("new")).not.toContain("moved");
});

test("a move is cancelled by moving in again on the old host", async () => {
  const sites = new DeskAndSites();
  await (await sites.openOldSite()).stop();
  const moved = sites.path("site.move");
  runOrThrow("move", "out", moved, "--data", sites.path("old"), "--yes");
  // The file can be written again; it is the same move.
  runOrThrow("move", "out", sites.path("again.move"), "--data", sites.path("old"), "--yes");
  const [first, second] = [moved, sites.path("again.move")].map(
    (path) => (runJsonOrThrow("verify", path) as { readonly audit_sum: string }).audit_sum,
  );
  expect(second).toBe(first);
  runOrThrow("move", "in", moved, "--data", sites.path("old"));
  const server = await serve(sites.path("old"), "old-host");
  expect(await post(server.url, "register", { product: "CAD", user: "ada" })).toEqual([200, null]);
});

test("berth move refuses a backup that was not moved out, a repeated move in, and an unusable file", async () => {
  const sites = new DeskAndSites();
  await (await sites.openOldSite()).stop();
  const old = ["--data", sites.path("old")];
  runOrThrow("backup", sites.path("site.backup"), ...old);
  const notMovedOut = runBerth(
    "move",
    "in",
    sites.path("site.backup"),
    "--data",
    sites.path("new"),
  );
  expect(notMovedOut.code).toBe(1);
  expect(notMovedOut.stderr).toContain("its host still serves it");

  runOrThrow("move", "out", sites.path("site.move"), ...old, "--yes");
  runOrThrow("move", "in", sites.path("site.move"), "--data", sites.path("new"));
  const server = await serve(sites.path("new"), "new-host");
  expect(await post(server.url, "register", { product: "CAD", user: "cyd" })).toEqual([200, null]);
  await server.stop();
  const twice = runBerth("move", "in", sites.path("site.move"), "--data", sites.path("new"));
  expect(twice.code).toBe(1);
  expect(twice.stderr).toContain("was already moved in here");
  expect(listUsers(sites.path("new"))).toContain("cyd");

  const existing = runBerth(
    "move",
    "out",
    sites.path("site.move"),
    "--data",
    sites.path("new"),
    "--yes",
  );
  expect(existing.code).toBe(1);
  expect(existing.stderr).toContain("already exists");
  for (const [file, message] of [
    ["nowhere/site.move", "nowhere does not exist"],
    ["new/site.move", "inside the data folder"],
  ] as const) {
    const refused = runBerth("move", "out", sites.path(file), "--data", sites.path("new"), "--yes");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(message);
  }
  // None of these refused commands moved the site out.
  const again = await serve(sites.path("new"), "new-host");
  expect(await post(again.url, "register", { product: "CAD", user: "dee" })).toEqual([200, null]);
  await again.stop();
});

test("move in accepts a host with an installed service, whose credentials stay, but not another site", async () => {
  const sites = new DeskAndSites();
  await (await sites.openOldSite()).stop();
  runOrThrow("move", "out", sites.path("site.move"), "--data", sites.path("old"), "--yes");
  mkdirSync(sites.path("new"), { mode: 0o700 });
  runOrThrow("admin", "token", "--name", "service", "--data", sites.path("new"));
  runOrThrow("tls", "init", "--data", sites.path("new"));
  const ownFiles = ["access.json", "tls/ca.pem"].map((name) => sites.path(`new/${name}`));
  const before = ownFiles.map((path) => readFileSync(path, "utf8"));

  // The new host's server is running.
  const server = await serve(sites.path("new"), "new-host");
  const busy = runBerth("move", "in", sites.path("site.move"), "--data", sites.path("new"));
  expect([busy.code, busy.stderr]).toEqual([1, expect.stringContaining("hint: stop that process")]);
  await server.stop();
  runOrThrow("move", "in", sites.path("site.move"), "--data", sites.path("new"));
  expect(ownFiles.map((path) => readFileSync(path, "utf8"))).toEqual(before);
  await serve(sites.path("new"), "new-host");
  expect(listUsers(sites.path("new"))).toEqual(["ada", "bob"]);

  // A site that has requested a license is not replaced.
  mkdirSync(sites.path("other"), { mode: 0o700 });
  runOrThrow("admin", "token", "--name", "service", "--data", sites.path("other"));
  const other = ["--data", sites.path("other"), "--identity", "other-host"];
  runOrThrow(
    "license",
    "request",
    ...other,
    "--product",
    "CAD",
    "--out",
    sites.path("other.request"),
  );
  const used = runBerth("move", "in", sites.path("site.move"), "--data", sites.path("other"));
  expect([used.code, used.stderr]).toEqual([
    1,
    expect.stringContaining("already contains another site"),
  ]);
});

test("a move out that fails or is killed succeeds when it is run again", async () => {
  const sites = new DeskAndSites();
  const server = await sites.openOldSite();
  const old = ["--data", sites.path("old"), "--yes"];
  // The target folder does not exist, so the site is not moved out.
  expect(runBerth("move", "out", sites.path("usb/site.move"), ...old).code).toBe(1);
  expect(await post(server.url, "register", { product: "CAD", user: "ada" })).toEqual([200, null]);

  await markMovedOut(sites.path("old"));
  await server.kill();
  // The file cannot be written after the site was marked as moved out.
  const file = sites.path("site.move");
  const failed = await moveOutWithBlockedFile(sites.path("old"), file);
  expect([failed.code, failed.output]).toEqual([1, expect.stringContaining("was moved out, but ")]);
  rmdirSync(file);
  runOrThrow("move", "out", file, ...old);
  expect(readdirSync(sites.folder).filter((name) => name.startsWith("site.move"))).toEqual([
    "site.move",
  ]);

  // What a killed command leaves may be complete: with it, a second host could continue.
  const leftover = `${file}.0123456789abcdef.new`;
  copyFileSync(file, leftover);
  const unfinished = runBerth("move", "in", leftover, "--data", sites.path("new"));
  expect([unfinished.code, unfinished.stderr]).toEqual([
    1,
    expect.stringContaining(`${leftover} was left behind by an interrupted berth move out`),
  ]);

  const restored = runBerth("restore", file, "--data", sites.path("new"));
  expect([restored.code, restored.stderr]).toEqual([1, expect.stringContaining("berth move in")]);
  runOrThrow("move", "in", file, "--data", sites.path("new"));
  await serve(sites.path("new"), "new-host");
  expect(listUsers(sites.path("new"))).toEqual(["ada", "bob"]);
});

test("berth move refuses a demo, out and in", async () => {
  const sites = new DeskAndSites();
  const demo = await startBinary("demo", "--data", sites.path("demo"), ...LISTEN);
  onTestFinished(() => demo.kill());
  const out = runBerth(
    "move",
    "out",
    sites.path("demo.move"),
    "--data",
    sites.path("demo"),
    "--yes",
  );
  expect([out.code, out.stderr]).toEqual([1, expect.stringContaining("a demo cannot be moved")]);
  await markMovedOut(sites.path("demo"));
  runOrThrow("backup", sites.path("demo.backup"), "--data", sites.path("demo"));
  const into = runBerth("move", "in", sites.path("demo.backup"), "--data", sites.path("new"));
  expect([into.code, into.stderr]).toEqual([1, expect.stringContaining("is of a demo")]);
});
