import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buildBinary, runBinary, startBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const LISTEN = ["--listen", "127.0.0.1:0"];

const post = (url: string, path: string, body: object): Promise<Response> =>
  fetch(`${url}/api/v4/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

const run = (...args: string[]) => Bun.spawnSync([buildBinary(), ...args], { cwd: "/", env: {} });

describe("a clean stop", () => {
  test("answers pending requests, exits with 0 and writes every change to state.json", async () => {
    const folder = tempFolder();
    await makeLicensedSite(folder, { product: "cad", slots: 40 });
    const server = await startBinary("serve", "--data", folder, ...LISTEN);
    const requests = Array.from({ length: 30 }, (_, index) =>
      post(server.url, "register", { product: "cad", user: `user-${index}` }),
    );
    await requests[0];
    const code = server.stop();
    const replies = await Promise.allSettled(requests);
    expect(await code).toBe(0);

    const state = JSON.parse(readFileSync(join(folder, "state.json"), "utf8")) as {
      covers: { seq: number };
      registrations: { user: string }[];
    };
    const acknowledged = replies.flatMap((reply, index) =>
      reply.status === "fulfilled" && reply.value.status === 200 ? [`user-${index}`] : [],
    );
    const stored = new Set(state.registrations.map(({ user }) => user));
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(acknowledged.filter((user) => !stored.has(user))).toEqual([]);

    const next = join(folder, `journal-${state.covers.seq + 1}.jsonl`);
    expect(statSync(next).size).toBe(0);
    expect(existsSync(join(folder, "berth.sock"))).toBe(false);
  });

  test("is followed by a start with the same registrations", async () => {
    const folder = tempFolder();
    await makeLicensedSite(folder, { product: "cad" });
    const first = await startBinary("serve", "--data", folder, ...LISTEN);
    expect((await post(first.url, "register", { user: "ada" })).status).toBe(200);
    await first.stop();
    const second = await startBinary("serve", "--data", folder, ...LISTEN);
    const slots = await fetch(`${second.url}/api/admin/v1/registrations`);
    expect(await slots.json()).toMatchObject([{ product: "cad", user: "ada" }]);
    await second.stop();
  });
});

describe("one process per folder and port", () => {
  test("a second server on the folder is refused and names the first process", async () => {
    const folder = tempFolder();
    const server = await startBinary("serve", "--data", folder, ...LISTEN);
    const second = run("serve", "--data", folder, ...LISTEN);
    expect(second.exitCode).toBe(1);
    expect(second.stderr.toString()).toContain(`process ${server.pid} (`);
    await server.stop();
  });

  test("a second server on the port is refused and names the first process, and its folder stays usable", async () => {
    const [folder, other] = [tempFolder(), tempFolder()];
    const server = await startBinary("serve", "--data", folder, ...LISTEN);
    const second = run("serve", "--data", other, "--listen", new URL(server.url).host);
    expect(second.exitCode).toBe(1);
    const message = `on 127.0.0.1 is in use by process ${server.pid} (`;
    expect(second.stderr.toString()).toContain(message);
    expect((await fetch(`${server.url}/api/v4/health`)).status).toBe(200);
    await server.stop();
    const third = await startBinary("serve", "--data", other, ...LISTEN);
    expect(await third.stop()).toBe(0);
  });

  test("a server start waits for the commands that use the stopped folder", async () => {
    const folder = tempFolder();
    await makeLicensedSite(folder, { product: "cad" });
    const ended = new AbortController();
    const commands = Array.from({ length: 4 }, async () => {
      let count = 0;
      for (; !ended.signal.aborted; count += 1) await runBinary(["status", "--data", folder]);
      return count;
    });
    for (let round = 1; round <= 8; round += 1) {
      const server = await startBinary("serve", "--data", folder, ...LISTEN);
      expect(await server.stop()).toBe(0);
    }
    ended.abort();
    for (const count of await Promise.all(commands)) expect(count).toBeGreaterThan(0);
  });

  test("commands on a stopped folder wait for each other", async () => {
    const folder = tempFolder();
    await makeLicensedSite(folder, { product: "cad" });
    const all = await Promise.all(
      Array.from({ length: 8 }, () => runBinary(["status", "--data", folder])),
    );
    expect(all.filter(({ code }) => code !== 0)).toEqual([]);
  });
});

describe("the command line", () => {
  test("reaches a running server through its socket, and a stopped folder directly", async () => {
    const folder = tempFolder();
    await makeLicensedSite(folder, { product: "cad" });
    const server = await startBinary("serve", "--data", folder, ...LISTEN);
    await post(server.url, "register", { user: "ada", os_hostname: "ws-17" });
    await post(server.url, "register", { user: "bob" });
    expect(run("release", "--data", folder, "--user", "bob").exitCode).toBe(0);
    const running = JSON.parse(
      run("slots", "--data", folder, "--json").stdout.toString(),
    ) as object[];
    expect(running).toMatchObject([{ user: "ada", os_hostname: "ws-17", peer: "127.0.0.1" }]);
    const status = JSON.parse(
      run("status", "--data", folder, "--json").stdout.toString(),
    ) as object;
    expect(status).toMatchObject({ pid: server.pid, kind: "site" });
    await server.stop();

    expect(JSON.parse(run("slots", "--data", folder, "--json").stdout.toString())).toEqual(running);
    const refused = run("release", "--data", folder, "--user", "bob");
    expect([refused.exitCode, refused.stderr.toString()]).toEqual([
      1,
      "berth: error: the user holds no such slot (user_not_registered)\n" +
        "berth: hint: berth slots lists the slots in use; user names are case-sensitive\n",
    ]);
  });

  test("changes no file when it reads a stopped folder", async () => {
    const folder = tempFolder();
    await makeLicensedSite(folder, { product: "cad" });
    const names = readdirSync(folder);
    const state = readFileSync(join(folder, "state.json"), "utf8");
    expect(run("status", "--data", folder).exitCode).toBe(0);
    expect(readFileSync(join(folder, "state.json"), "utf8")).toBe(state);
    expect(readdirSync(folder)).toEqual(names);
  });

  test("exits with 78 and names the path when a store file is a folder", async () => {
    for (const name of ["state.json", "journal-"]) {
      const folder = tempFolder();
      await makeLicensedSite(folder, { product: "cad" });
      const names = readdirSync(folder)
        .filter((entry) => entry.startsWith(name))
        .toSorted();
      const path = join(folder, names.at(-1) ?? "");
      rmSync(path);
      mkdirSync(path);
      for (const args of [["serve", ...LISTEN], ["verify"], ["status"]]) {
        const refused = run(...args, "--data", folder);
        expect([args[0], refused.exitCode]).toEqual([args[0], 78]);
        const message = `berth: error: ${path} is a folder instead of a file\n`;
        expect(refused.stderr.toString()).toContain(message);
      }
    }
  });

  test("exits with 78 and prints the command that repairs an empty state.json", async () => {
    const folder = tempFolder();
    await makeLicensedSite(folder, { product: "cad" });
    writeFileSync(join(folder, "state.json"), "");
    const refused = run("serve", "--data", folder, ...LISTEN);
    expect(refused.exitCode).toBe(78);
    const hint = /^berth: hint: (cp -p .* # nothing is lost.*)$/m.exec(
      refused.stderr.toString(),
    )?.[1];
    expect(Bun.spawnSync(["sh", "-c", hint ?? "false"]).exitCode).toBe(0);
    const server = await startBinary("serve", "--data", folder, ...LISTEN);
    expect((await post(server.url, "register", { user: "ada" })).status).toBe(200);
    await server.stop();
  });
});
