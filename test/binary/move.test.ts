import { expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { startBinary } from "../support/binary.ts";
import { berth, done, doneJson } from "../support/gap.ts";
import { tempFolder } from "../support/temp-folder.ts";

// Processes of their own, on a machine that may be busy with others.
setDefaultTimeout(60_000);

const TERMS = ["--allow-weak-binding", "--slots", "9"];
const LISTEN = ["--listen", "127.0.0.1:0"];

/** A host stands for itself by a name: two of them are two machines to every license. */
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

const usersIn = (folder: string): string[] =>
  (doneJson("slots", "--data", folder) as { readonly user: string }[])
    .map(({ user }) => user)
    .toSorted();

class Sites {
  readonly folder = tempFolder();
  readonly path = (name: string): string => join(this.folder, name);
  readonly desk = ["--dir", this.path("desk")];

  /** Makes a request on one of them, answers it at the desk, and installs the answer. */
  license(site: string): string {
    const data = ["--data", this.path(site)];
    const name = `${site}-${crypto.randomUUID()}`;
    done("license", "request", ...data, "--product", "CAD", "--out", this.path(`${name}.request`));
    const files = ["--request", this.path(`${name}.request`), "--out", this.path(`${name}.jwt`)];
    const issued = berth("vendor", "issue", ...this.desk, ...files, ...TERMS);
    expect(issued.code).toBe(0);
    done("license", "add", this.path(`${name}.jwt`), ...data);
    return issued.err;
  }

  /** One that lends CAD, with Ada at work and Bob on the road. */
  async begin() {
    done("vendor", "init", "--name", "Acme", ...this.desk, "--product", "CAD");
    const server = await serve(this.path("old"), "old-host");
    done("trust", "add", this.path("desk/trust.jwt"), "--data", this.path("old"), "--yes");
    this.license("old");
    expect(await post(server.url, "register", { product: "CAD", user: "ada" })).toEqual([
      200,
      null,
    ]);
    expect(await post(server.url, "register", { product: "CAD", user: "bob" })).toEqual([
      200,
      null,
    ]);
    return server;
  }
}

test("everything goes on on another host, and nothing on the old one", async () => {
  const sites = new Sites();
  const server = await sites.begin();
  const moved = sites.path("site.move");
  done("move", "out", moved, "--data", sites.path("old"), "--yes");

  expect(await post(server.url, "register", { product: "CAD", user: "ada" })).toEqual([
    409,
    "moved_away",
  ]);
  expect(await server.stop()).toBe(0);
  const again = berth("serve", "--data", sites.path("old"), "--identity", "old-host", ...LISTEN);
  expect(again.code).toBe(78);
  expect(again.err).toContain("was moved to another host on ");
  expect(again.err).toContain("berth: hint: serve it there");

  done("move", "in", moved, "--data", sites.path("new"));
  const fresh = await serve(sites.path("new"), "new-host");
  expect(usersIn(sites.path("new"))).toEqual(["ada", "bob"]);
  expect(await post(fresh.url, "register", { product: "CAD", user: "ada" })).toEqual([200, null]);
  expect(await post(fresh.url, "register", { product: "CAD", user: "cyd" })).toEqual([200, null]);

  // The vendor signs it for the new hardware, and is told why.
  expect(sites.license("new")).toContain("the site moved to another host on ");
  expect(usersIn(sites.path("new"))).toEqual(["ada", "bob", "cyd"]);
  expect(await post(fresh.url, "register", { product: "CAD", user: "dua" })).toEqual([200, null]);
  expect(sites.license("new")).not.toContain("moved");
});

test("a move is called off where it began", async () => {
  const sites = new Sites();
  await (await sites.begin()).stop();
  const moved = sites.path("site.move");
  done("move", "out", moved, "--data", sites.path("old"), "--yes");
  // Its file can be written once more; it is the same move.
  done("move", "out", sites.path("again.move"), "--data", sites.path("old"), "--yes");
  const [first, second] = [moved, sites.path("again.move")].map(
    (path) => (doneJson("verify", path) as { readonly audit_sum: string }).audit_sum,
  );
  expect(second).toBe(first);
  done("move", "in", moved, "--data", sites.path("old"));
  const server = await serve(sites.path("old"), "old-host");
  expect(await post(server.url, "register", { product: "CAD", user: "ada" })).toEqual([200, null]);
});

test("what was not given up is not moved in, nor over something else", async () => {
  const sites = new Sites();
  await (await sites.begin()).stop();
  const old = ["--data", sites.path("old")];
  done("backup", sites.path("site.backup"), ...old);
  const kept = berth("move", "in", sites.path("site.backup"), "--data", sites.path("new"));
  expect(kept.code).toBe(1);
  expect(kept.err).toContain("its host has not given it up");

  done("move", "out", sites.path("site.move"), ...old, "--yes");
  done("move", "in", sites.path("site.move"), "--data", sites.path("new"));
  const server = await serve(sites.path("new"), "new-host");
  expect(await post(server.url, "register", { product: "CAD", user: "cyd" })).toEqual([200, null]);
  await server.stop();
  const twice = berth("move", "in", sites.path("site.move"), "--data", sites.path("new"));
  expect(twice.code).toBe(1);
  expect(twice.err).toContain("is in use by something else");
  expect(usersIn(sites.path("new"))).toContain("cyd");

  const taken = berth("move", "out", sites.path("site.move"), "--data", sites.path("new"), "--yes");
  expect(taken.code).toBe(1);
  expect(taken.err).toContain("is there already");
  expect(berth("slots", "--data", sites.path("new")).code).toBe(0);
});
