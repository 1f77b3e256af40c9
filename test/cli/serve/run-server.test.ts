import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chownSync, chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { RegistrationReply } from "../../../src/http/routes/slots/registrations.ts";
import type { StatusReply } from "../../../src/http/routes/health/status-schema.ts";
import {
  runBerth,
  runOrThrow,
  runJsonOrThrow,
  startServer,
  type RunningServer,
} from "../../support/run-berth.ts";
import {
  contentsOf,
  copyFolder,
  modeOf,
  tempFolder,
  type AtEnd,
} from "../../support/temp-folder.ts";

const cleanups: (() => void | Promise<void>)[] = [];
const atEnd: AtEnd = (cleanup) => void cleanups.unshift(cleanup);

let running: { readonly data: string; readonly demo: RunningServer };
/** The folder of a demo that was stopped while ada and bob were registered. */
let stoppedFolder: string;

beforeAll(async () => {
  stoppedFolder = join(tempFolder(atEnd), "data");
  const stopped = await startServer(["demo", "--data", stoppedFolder], {}, atEnd);
  await registerBoth(stopped);
  expect((await stopped.stop()).code).toBe(0);
  const data = join(tempFolder(atEnd), "data");
  running = { data, demo: await startServer(["demo", "--data", data], {}, atEnd) };
});

afterAll(async () => {
  expect((await running.demo.stop()).code).toBe(0);
  for (const cleanup of cleanups) await cleanup();
});

async function registerBoth(demo: RunningServer): Promise<void> {
  for (const user of ["ada", "bob"]) {
    expect((await demo.post("register", { user, os_hostname: "ws-1" })).status).toBe(200);
  }
}

const newFolder = (): string => join(tempFolder(), "data");

describe.each(["a running server", "a stopped folder"])("commands on %s", (which) => {
  const isRunning = which === "a running server";

  /** With ada and bob registered. */
  async function makeFolder(): Promise<string> {
    if (!isRunning) return copyFolder(stoppedFolder);
    await registerBoth(running.demo);
    return running.data;
  }

  test("status and slots show licenses, registered users and the serving process", async () => {
    const data = await makeFolder();
    const status = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
    expect(status).toMatchObject({
      kind: "demo",
      storage: { fault: null, recovery_notes: [] },
      licenses: [{ product: "DEMO", floating_slots_in_use: 2, floating_users: 5 }],
    });
    const { pid } = running.demo;
    expect(status.pid === pid).toBe(isRunning);
    const text = await runOrThrow(["status"], { env: { BERTH_DATA: data } });
    expect(text).toContain(isRunning ? `served by process ${pid}` : "no server is running");
    expect(text).toMatch(/^DEMO .* 2\/5 .*ok$/m);
    const slots = await runJsonOrThrow<RegistrationReply[]>(["slots", "--data", data]);
    expect(slots.map(({ user, os_hostname }) => [user, os_hostname])).toEqual([
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

  test("release releases the slot of one user and of no other", async () => {
    const data = await makeFolder();
    const words = ["release", "--data", data, "--product", "DEMO", "--user"];
    expect(await runOrThrow([...words, "ada"])).toBe("the slot of ada is released\n");
    const slots = await runJsonOrThrow<RegistrationReply[]>(["slots", "--data", data]);
    expect(slots.map(({ user }) => user)).toEqual(["bob"]);
    const again = await runBerth([...words, "ada"]);
    expect([again.code, again.stdout]).toEqual([1, ""]);
    expect(again.stderr).toContain("user_not_registered");
    const last = await runJsonOrThrow<object>(["release", "--data", data, "--user", "bob"]);
    expect(last).toEqual({ released: 1 });
    expect(await runOrThrow(["slots", "--data", data])).toBe("no slot is in use\n");
  });

  test("release releases the slots of several users, and fails if one is refused", async () => {
    const data = await makeFolder();
    const words = ["release", "--data", data, "--user", "ada", "--user", "nobody", "--user", "bob"];
    const result = await runBerth(words);
    expect([result.code, result.stdout]).toEqual([
      1,
      "the slot of ada is released\nthe slot of bob is released\n",
    ]);
    expect(result.stderr).toContain("berth: error: the slot of nobody is not released: ");
    expect(result.stderr).toContain("(user_not_registered)");
    expect(await runOrThrow(["slots", "--data", data])).toBe("no slot is in use\n");
    const none = await runBerth(words);
    expect([none.code, none.stdout]).toEqual([1, ""]);
    const again = await runBerth([...words, "--json"]);
    expect([again.code, JSON.parse(again.stdout).released]).toEqual([1, 0]);
  });

  test("release --all --yes releases all slots of the product", async () => {
    const data = await makeFolder();
    const words = ["release", "--data", data, "--all", "--yes", "--product"];
    expect((await runBerth([...words, "OTHER"])).stderr).toContain("unknown_product");
    expect(await runOrThrow([...words, "DEMO"])).toBe("2 slots of DEMO released\n");
    expect(await runOrThrow(["slots", "--data", data])).toBe("no slot is in use\n");
    const again = await runJsonOrThrow<object>([...words, "DEMO"]);
    expect(again).toEqual({ released: 0, remaining: 0 });
  });
});

test("status and slots leave the files of a stopped folder unchanged", async () => {
  const data = copyFolder(stoppedFolder);
  const before = contentsOf(data);
  await runOrThrow(["status", "--data", data]);
  await runOrThrow(["slots", "--data", data]);
  const { lock: lockBefore, ...filesBefore } = before;
  const { lock: lockAfter, ...filesAfter } = contentsOf(data);
  expect(filesAfter["state.json"]).toBe(filesBefore["state.json"] ?? "");
  expect(Object.keys(filesAfter)).toEqual(Object.keys(filesBefore));
  expect([lockBefore, lockAfter].every((text) => text?.startsWith("600 "))).toBe(true);
});

describe("exit code 78", () => {
  test("is used when serve refuses the folder of a demo, which it leaves unchanged", async () => {
    const data = copyFolder(stoppedFolder);
    const result = await runBerth(["serve", "--data", data, "--listen", "127.0.0.1:0"]);
    expect([result.code, result.stdout]).toEqual([78, ""]);
    expect(result.stderr).toContain(`${data} was created by berth demo`);
    expect(result.stderr).toContain("berth: hint: ");
    expect(await runJsonOrThrow<unknown[]>(["slots", "--data", data])).toHaveLength(2);
  });

  test("is used when demo refuses the folder of a site", async () => {
    const data = newFolder();
    expect((await (await startServer(["serve", "--data", data])).stop()).code).toBe(0);
    const result = await runBerth(["demo", "--data", data, "--listen", "127.0.0.1:0"]);
    expect([result.code, result.stdout]).toEqual([78, ""]);
    expect(result.stderr).toContain(`${data} was created by berth serve`);
    expect((await runJsonOrThrow<StatusReply>(["status", "--data", data])).kind).toBe("site");
  });

  test.each(["status", "slots", "release"])(
    "is used when %s refuses a missing folder, which it does not create",
    async (command) => {
      const data = newFolder();
      const words = command === "release" ? ["--user", "ada"] : [];
      const result = await runBerth([command, "--data", data, ...words]);
      expect([result.code, result.stdout]).toEqual([78, ""]);
      expect(result.stderr).toContain(`berth: error: ${data} is not a data folder`);
      expect(existsSync(data)).toBe(false);
    },
  );

  test("is used when status refuses an empty folder, to which it writes no state", async () => {
    const data = newFolder();
    mkdirSync(data);
    expect((await runBerth(["status", "--data", data])).code).toBe(78);
    expect(existsSync(join(data, "state.json"))).toBe(false);
  });
});

describe("berth serve", () => {
  test("creates a folder for its owner only, prints a banner, and exits with 0 after SIGINT", async () => {
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

  test("refuses a caller outside --client-networks", async () => {
    const words = ["serve", "--data", newFolder(), "--client-networks", "10.0.0.0/8"];
    const server = await startServer(words);
    expect(server.banner).toContain("from 10.0.0.0/8");
    expect((await fetch(`${server.url}/api/v4/license`)).status).toBe(403);
    // Operators at the machine itself are not locked out.
    for (const path of ["/", "/api/v4/health", "/api/admin/v1/status"])
      expect([path, (await fetch(`${server.url}${path}`)).status]).toEqual([path, 200]);
  });

  test("lets an operator at the machine exclude it from the client networks, and undo that", async () => {
    const server = await startServer(["serve", "--data", newFolder()]);
    const change = async (networks: string[] | null) => {
      const response = await fetch(`${server.url}/api/admin/v1/settings`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ changes: { client_networks: networks } }),
      });
      return response.status;
    };
    const statuses = () =>
      Promise.all(
        ["/", "/api/v4/health", "/api/v4/license"].map(
          async (path) => (await fetch(`${server.url}${path}`)).status,
        ),
      );
    expect(await change(["10.0.0.0/8"])).toBe(200);
    expect(await statuses()).toEqual([200, 200, 403]);
    expect(await change(null)).toBe(200);
    expect(await statuses()).toEqual([200, 200, 400]);
  });

  test("reads its settings from the file that BERTH_CONFIG names", async () => {
    const data = newFolder();
    const path = join(data, "..", "berth.toml");
    await Bun.write(path, `data = "${data}"\nclient_networks = ["127.0.0.0/8"]\n`);
    const server = await startServer(["serve"], { env: { BERTH_CONFIG: path } });
    expect(server.banner).toContain("from 127.0.0.0/8");
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    expect(existsSync(join(data, "state.json"))).toBe(true);
  });
});

test("serve refuses a folder in use by another server and names its process", async () => {
  const data = newFolder();
  const first = await startServer(["serve", "--data", data]);
  const result = await runBerth(["serve", "--data", data, "--listen", "127.0.0.1:0"]);
  expect([result.code, result.stdout]).toEqual([1, ""]);
  expect(result.stderr).toContain(`${data} is in use by process ${first.pid} (`);
  expect(result.stderr).toContain(`serve --data ${data}`);
  expect(result.stderr).toContain("berth: hint: stop that process");
  expect((await fetch(`${first.url}/api/v4/health`)).status).toBe(200);
  expect(existsSync(join(data, "berth.sock"))).toBe(true);
});

test("serve exits with 1 for a port in use, names the process and creates no folder", async () => {
  const first = await startServer(["serve", "--data", newFolder()]);
  const { host, port } = new URL(first.url);
  const data = newFolder();
  const result = await runBerth(["serve", "--data", data, "--listen", host]);
  expect([result.code, result.stdout]).toEqual([1, ""]);
  const holder = `process ${first.pid} (`;
  expect(result.stderr).toContain(`berth: error: port ${port} on 127.0.0.1 is in use by ${holder}`);
  expect(existsSync(data)).toBe(false);
});

test("serve warns about a path too long for a socket, and status refuses to open the folder", async () => {
  const data = join(tempFolder(), "x".repeat(100), "data");
  const server = await startServer(["serve", "--data", data]);
  expect(existsSync(join(data, "berth.sock"))).toBe(false);
  const result = await runBerth(["status", "--data", data]);
  expect([result.code, result.stdout]).toEqual([1, ""]);
  expect(result.stderr).toContain(`in use by process ${server.pid}`);
  expect((await server.stop()).stderr).toContain("berth: warning: ");
});

test.skipIf(process.getuid?.() !== 0)(
  "files that root writes into a service's folder belong to the service's user",
  async () => {
    const NOBODY = 65_534;
    const data = copyFolder(stoppedFolder);
    chmodSync(dirname(data), 0o755);
    const all = (): string[] => [
      data,
      ...readdirSync(data, { recursive: true }).map((name) => join(data, String(name))),
    ];
    for (const path of all()) chownSync(path, NOBODY, NOBODY);
    expect(await runOrThrow(["status", "--data", data])).toContain("no server is running");
    await runOrThrow(["release", "--data", data, "--user", "ada"]);
    const owners = all().map((path) => [path, statSync(path).uid, statSync(path).gid]);
    expect(owners).toEqual(all().map((path) => [path, NOBODY, NOBODY]));
    const slots = await runJsonOrThrow<RegistrationReply[]>(["slots", "--data", data]);
    expect(slots.map(({ user }) => user)).toEqual(["bob"]);
  },
);
