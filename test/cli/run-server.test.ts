import { describe, expect, test } from "bun:test";
import { chownSync, chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { RegistrationReply } from "../../src/http/routes/admin.ts";
import type { StatusReply } from "../../src/http/status.ts";
import {
  runBerth,
  runOrThrow,
  runJsonOrThrow,
  startServer,
  type RunningServer,
} from "../support/run-berth.ts";
import { contentsOf, modeOf, tempFolder } from "../support/temp-folder.ts";

/** A demo's folder with ada and bob in it, and the demo that serves it. */
async function demoWith(data: string): Promise<RunningServer> {
  const demo = await startServer(["demo", "--data", data]);
  for (const user of ["ada", "bob"]) {
    expect((await demo.post("register", { user, os_hostname: "ws-1" })).status).toBe(200);
  }
  return demo;
}

const newFolder = (): string => join(tempFolder(), "data");

describe.each(["a running server", "a stopped folder"])("of %s", (which) => {
  const running = which === "a running server";

  async function folder(): Promise<{ data: string; demo: RunningServer }> {
    const data = newFolder();
    const demo = await demoWith(data);
    if (!running) expect((await demo.stop()).code).toBe(0);
    return { data, demo };
  }

  test("status and slots tell of licenses, holders and who serves them", async () => {
    const { data, demo } = await folder();
    const status = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
    expect(status).toMatchObject({
      kind: "demo",
      storage: { fault: null, recovery_notes: [] },
      licenses: [{ product: "DEMO", floating_slots_in_use: 2, floating_users: 5 }],
    });
    expect(status.pid === demo.pid).toBe(running);
    const text = await runOrThrow(["status"], { env: { BERTH_DATA: data } });
    expect(text).toContain(running ? `served by process ${demo.pid}` : "no server is running");
    expect(text).toMatch(/^DEMO .* 2\/5 .*ok$/m);
    const held = await runJsonOrThrow<RegistrationReply[]>(["slots", "--data", data]);
    expect(held.map(({ user, os_hostname }) => [user, os_hostname])).toEqual([
      ["ada", "ws-1"],
      ["bob", "ws-1"],
    ]);
    const table = await runOrThrow(["slots", "--data", data, "--product", "DEMO"]);
    expect(table.split("\n").map((line) => line.split(/ +/).slice(0, 4))).toEqual([
      ["PRODUCT", "USER", "HOST", "FROM"],
      ["DEMO", "ada", "ws-1", "127.0.0.1"],
      ["DEMO", "bob", "ws-1", "127.0.0.1"],
      [""],
    ]);
    const unknown = await runBerth(["slots", "--data", data, "--product", "CAD&x=%00"]);
    expect([unknown.code, unknown.stdout]).toEqual([1, ""]);
    expect(unknown.stderr).toStartWith("berth: error: ");
  });

  test("release frees one slot and no other, and says so", async () => {
    const { data, demo } = await folder();
    const words = ["release", "--data", data, "--product", "DEMO", "--user"];
    expect(await runOrThrow([...words, "ada"])).toBe("the slot of ada is released\n");
    const held = await runJsonOrThrow<RegistrationReply[]>(["slots", "--data", data]);
    expect(held.map(({ user }) => user)).toEqual(["bob"]);
    const again = await runBerth([...words, "ada"]);
    expect([again.code, again.stdout]).toEqual([1, ""]);
    expect(again.stderr).toContain("user_not_registered");
    const last = await runJsonOrThrow<object>(["release", "--data", data, "--user", "bob"]);
    expect(last).toEqual({ released: 1 });
    expect(await runOrThrow(["slots", "--data", data])).toBe("no slot is in use\n");
    if (running) expect((await demo.stop()).code).toBe(0);
  });
});

test("looking at a stopped folder leaves its files as they are", async () => {
  const data = newFolder();
  await (await demoWith(data)).stop();
  const before = contentsOf(data);
  await runOrThrow(["status", "--data", data]);
  await runOrThrow(["slots", "--data", data]);
  const { lock: lockBefore, ...filesBefore } = before;
  const { lock: lockAfter, ...filesAfter } = contentsOf(data);
  expect(filesAfter["state.json"]).toBe(filesBefore["state.json"] ?? "");
  expect(Object.keys(filesAfter)).toEqual(Object.keys(filesBefore));
  expect([lockBefore, lockAfter].every((text) => text?.startsWith("600 "))).toBe(true);
});

describe("a folder that needs an operator is exit code 78", () => {
  test("a demo's folder is refused by serve, and left alone", async () => {
    const data = newFolder();
    await (await demoWith(data)).stop();
    const said = await runBerth(["serve", "--data", data, "--listen", "127.0.0.1:0"]);
    expect([said.code, said.stdout]).toEqual([78, ""]);
    expect(said.stderr).toContain(`${data} was created by berth demo`);
    expect(said.stderr).toContain("berth: hint: ");
    expect(await runJsonOrThrow<unknown[]>(["slots", "--data", data])).toHaveLength(2);
  });

  test("a site's folder is refused by demo", async () => {
    const data = newFolder();
    expect((await (await startServer(["serve", "--data", data])).stop()).code).toBe(0);
    const said = await runBerth(["demo", "--data", data, "--listen", "127.0.0.1:0"]);
    expect([said.code, said.stdout]).toEqual([78, ""]);
    expect(said.stderr).toContain(`${data} was created by berth serve`);
    expect((await runJsonOrThrow<StatusReply>(["status", "--data", data])).kind).toBe("site");
  });

  test.each(["status", "slots", "release"])("%s makes no folder", async (command) => {
    const data = newFolder();
    const words = command === "release" ? ["--user", "ada"] : [];
    const said = await runBerth([command, "--data", data, ...words]);
    expect([said.code, said.stdout]).toEqual([78, ""]);
    expect(said.stderr).toContain(`berth: error: ${data} is not a data folder`);
    expect(existsSync(data)).toBe(false);
  });

  test("an empty folder is not one either, and stays empty of state", async () => {
    const data = newFolder();
    mkdirSync(data);
    expect((await runBerth(["status", "--data", data])).code).toBe(78);
    expect(existsSync(join(data, "state.json"))).toBe(false);
  });
});

describe("serve", () => {
  test("starts in a new folder for its owner alone, says what it is, and ends with 0", async () => {
    const data = newFolder();
    const server = await startServer(["serve", "--data", data]);
    expect(server.banner).toContain(data);
    expect(server.banner).toContain("none yet");
    expect(server.banner).toContain("from this machine only");
    expect(server.banner.trimEnd()).toEndWith("ready");
    expect(modeOf(data)).toBe("700");
    expect(modeOf(join(data, "berth.sock"))).toBe("600");
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    const forwarded = { headers: { via: "1.1 proxy" } };
    expect((await fetch(`${server.url}/api/admin/v1/status`, forwarded)).status).toBe(401);
    expect((await fetch(`${server.url}/api/admin/v1/status`)).status).toBe(200);
    const { code, stderr } = await server.stop("SIGINT");
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^berth: warning: administration is open .*; berth admin token restricts it\n/,
    );
    expect(existsSync(join(data, "berth.sock"))).toBe(false);
  });

  test("lets in the networks it was told, and no others", async () => {
    const words = ["serve", "--data", newFolder(), "--client-networks", "10.0.0.0/8"];
    const server = await startServer(words);
    expect(server.banner).toContain("from 10.0.0.0/8");
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(403);
  });

  test("takes its settings from a file named by the environment", async () => {
    const data = newFolder();
    const path = join(data, "..", "berth.toml");
    await Bun.write(path, `data = "${data}"\nclient_networks = ["127.0.0.0/8"]\n`);
    const server = await startServer(["serve"], { env: { BERTH_CONFIG: path } });
    expect(server.banner).toContain("from 127.0.0.0/8");
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    expect(existsSync(join(data, "state.json"))).toBe(true);
  });
});

test("a second server on the same folder is refused, naming the first", async () => {
  const data = newFolder();
  const first = await startServer(["serve", "--data", data]);
  const said = await runBerth(["serve", "--data", data, "--listen", "127.0.0.1:0"]);
  expect([said.code, said.stdout]).toEqual([1, ""]);
  expect(said.stderr).toContain(`${data} is in use by process ${first.pid} (`);
  expect(said.stderr).toContain(`serve --data ${data}`);
  expect(said.stderr).toContain("berth: hint: stop that process");
  expect((await fetch(`${first.url}/api/v4/health`)).status).toBe(200);
  expect(existsSync(join(data, "berth.sock"))).toBe(true);
});

test("a port in use is exit code 1, and no folder is made for it", async () => {
  const first = await startServer(["serve", "--data", newFolder()]);
  const { host, port } = new URL(first.url);
  const data = newFolder();
  const said = await runBerth(["serve", "--data", data, "--listen", host]);
  expect([said.code, said.stdout]).toEqual([1, ""]);
  // Which of the machine's processes it is.
  const holder = `process ${first.pid} (`;
  expect(said.stderr).toContain(`berth: error: port ${port} on 127.0.0.1 is in use by ${holder}`);
  expect(existsSync(data)).toBe(false);
});

test("a path too long for a socket is warned of; commands do not go behind the server's back", async () => {
  const data = join(tempFolder(), "x".repeat(100), "data");
  const server = await startServer(["serve", "--data", data]);
  expect(existsSync(join(data, "berth.sock"))).toBe(false);
  const said = await runBerth(["status", "--data", data]);
  expect([said.code, said.stdout]).toEqual([1, ""]);
  expect(said.stderr).toContain(`in use by process ${server.pid}`);
  expect((await server.stop()).stderr).toContain("berth: warning: ");
});

test.skipIf(process.getuid?.() !== 0)(
  "what root does in a service's folder stays the service's",
  async () => {
    const NOBODY = 65_534;
    const parent = tempFolder();
    chmodSync(parent, 0o755);
    const data = join(parent, "data");
    await (await demoWith(data)).stop();
    const all = (): string[] => [
      data,
      ...readdirSync(data, { recursive: true }).map((name) => join(data, String(name))),
    ];
    for (const path of all()) chownSync(path, NOBODY, NOBODY);
    expect(await runOrThrow(["status", "--data", data])).toContain("no server is running");
    await runOrThrow(["release", "--data", data, "--user", "ada"]);
    const owners = all().map((path) => [path, statSync(path).uid, statSync(path).gid]);
    expect(owners).toEqual(all().map((path) => [path, NOBODY, NOBODY]));
    const held = await runJsonOrThrow<RegistrationReply[]>(["slots", "--data", data]);
    expect(held.map(({ user }) => user)).toEqual(["bob"]);
  },
);
