import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../../support/binary.ts";
import { runOnTerminal } from "../../support/run-berth.ts";
import { runWrapped, scriptedServer, startWrapped } from "../../support/run-wrapper.ts";
import { granted, refused } from "../../support/scripted-server.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

const QUEUED = { retryAfter: 15, queue: { position: 3, length: 7, eta: null } };

describe("berth run --wait", () => {
  test("joins the queue, then waits in a call, and starts the command with the slot", async () => {
    const server = scriptedServer((_call, number) => (number < 2 ? refused(QUEUED) : granted()));
    const { code, stdout } = await runWrapped(server, ["--wait", "2h"], ["echo", "ran"]);
    expect([code, stdout]).toEqual([0, "ran\n"]);
    const waits = server.calls
      .filter(({ operation }) => operation === "register")
      .map(({ headers }) => headers.get("prefer"));
    expect(waits).toEqual(["wait=0", "wait=50"]);
  });

  test("never waits longer in a call than is left of its time", async () => {
    const server = scriptedServer((_call, number) => (number < 2 ? refused(QUEUED) : granted()));
    await runWrapped(server, ["--wait", "20s"], ["true"]);
    const seconds = Number(server.calls[1]?.headers.get("prefer")?.slice("wait=".length));
    expect(seconds).toBeLessThanOrEqual(20);
  });

  test("waits in a call at once after it joined the queue, and does not pause before", async () => {
    const server = scriptedServer(({ headers }) =>
      headers.get("prefer") === "wait=0" ? refused(QUEUED) : granted(),
    );
    // With a pause, the time would be over before the next call, which could then not wait.
    expect((await runWrapped(server, ["--wait", "9s"], ["true"])).code).toBe(0);
    expect(server.count("register")).toBe(2);
  });

  test("asks again after Retry-After if the server has no queue", async () => {
    const server = scriptedServer((_call, number) =>
      number < 3 ? refused({ retryAfter: 0 }) : granted(),
    );
    const { code } = await runWrapped(server, ["--wait", "2h"], ["true"]);
    expect(code).toBe(0);
    expect(server.count("register")).toBe(3);
  });

  test("takes the first server that answers, and releases the slot there", async () => {
    const server = scriptedServer(() => granted());
    const url = `http://127.0.0.1:1,${server.url}`;
    const command = ["sh", "-c", "echo $BERTH_RUN_SERVER"];
    const wrapper = startWrapped({ url }, ["--wait", "1h"], command);
    expect(await wrapper.end()).toBe(0);
    expect(wrapper.stdout).toBe(`${server.url}\n`);
    expect(server.operations).toEqual(["register", "unregister"]);
  });

  test.each([
    [409, "moved_away"],
    [429, "too_many_requests"],
    [503, "storage_full"],
  ])("tries the next server if one answers %i, %s", async (status, code) => {
    const first = scriptedServer(() => refused({ status, code }));
    const second = scriptedServer(() => granted());
    const wrapper = startWrapped({ url: `${first.url},${second.url}` }, [], ["true"]);
    expect(await wrapper.end()).toBe(0);
    expect(second.operations).toEqual(["register", "unregister"]);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("leaves the queue after %s, and exits with %i", async (signal, exitCode) => {
    const hasJoined = Promise.withResolvers<void>();
    const server = scriptedServer((_call, number) => {
      if (number < 2) return refused(QUEUED);
      hasJoined.resolve();
      return new Promise<Response>(() => {});
    });
    const wrapper = startWrapped(server, ["--wait", "2h"], ["echo", "ran"]);
    await hasJoined.promise;
    wrapper.signal(signal);
    expect([await wrapper.end(), wrapper.stdout]).toEqual([exitCode, ""]);
    expect(server.operations).toEqual(["register", "register", "unregister"]);
  });

  test.each(["SIGUSR1", "SIGUSR2"] as const)("goes on waiting after %s", async (signal) => {
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    const server = scriptedServer(async (_call, number) => {
      if (number < 2) return refused(QUEUED);
      wrapper.signal(signal);
      await isReleased;
      return granted();
    });
    const wrapper = startWrapped(server, ["--wait", "2h"], ["echo", "ran"]);
    await waitUntil(() => server.count("register") === 2);
    // A wait that ends leaves the queue, or the process is gone.
    await Bun.sleep(200);
    release();
    expect([await wrapper.end(), wrapper.stdout]).toEqual([0, "ran\n"]);
  });

  test("prints the position without a terminal once a minute, and nothing with --quiet", async () => {
    const eta = { p50: "2099-03-01T10:00:00.000Z", p90: "2099-03-01T11:29:10.000Z" };
    const reply = { retryAfter: 0, queue: { position: 3, length: 7, eta } };
    const server = scriptedServer((_call, number) => (number % 4 > 0 ? refused(reply) : granted()));
    const env = { TZ: "UTC" };
    const { stderr } = await runWrapped(server, ["--wait", "2h"], ["true"], { env });
    const line = "waiting for a slot of CAD: position 3 of 7, likely by 2099-03-01 11:30";
    expect(stderr).toBe(`berth: note: ${line}\n`);
    const flags = ["--wait", "2h", "--quiet"];
    expect((await runWrapped(server, flags, ["true"], { env })).stderr).toBe("");
  });

  test("replaces one line on a terminal, and clears it before the command starts", async () => {
    const positions = [
      { position: 2, length: 2, eta: null },
      { position: 1, length: 2, eta: null },
    ];
    const server = scriptedServer((_call, number) => {
      const queue = positions[number - 1];
      return queue === undefined ? granted() : refused({ retryAfter: 0, queue });
    });
    const flags = ["run", "--product", "CAD", "--server", server.url, "--wait", "1h"];
    const { code, text } = await runOnTerminal([...flags, "--", "echo", "ran"]);
    expect(code).toBe(0);
    const line = "berth: waiting for a slot of CAD: position";
    expect(text).toBe(`\r${line} 2 of 2\r${line} 1 of 2\r${" ".repeat(line.length + 7)}\rran\r\n`);
  });
});

describe("berth run identifies itself", () => {
  const bodyOf = async (flags: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const server = scriptedServer(() => granted());
    await runWrapped(server, flags, ["true"], { env });
    return server.calls[0]?.body ?? {};
  };

  test("as person#host.process, with another name in each run", async () => {
    const [first, second] = [await bodyOf(["--user", "ada"]), await bodyOf(["--user", "ada"])];
    expect(first["user"]).toMatch(/^ada#[^#]+\.\d+-[0-9a-z]{7}$/);
    expect(first["user"]).not.toBe(second["user"] ?? "");
    expect(first["user"]?.slice("ada#".length)).toStartWith(first["os_hostname"] ?? "none");
    expect(first["user_info"]).toBe("berth run true");
  });

  test("with the name of the user at this machine", async () => {
    const name = Bun.spawnSync(["id", "-un"]).stdout.toString().trim();
    expect((await bodyOf([], { USER: "other" }))["user"]).toStartWith(`${name}#`);
  });

  test("with exactly the name of --user after --exact-user", async () => {
    const body = await bodyOf(["--user", "ada@ws-17", "--exact-user", "--license-id", "12"]);
    expect([body["user"], body["license_id"]]).toEqual(["ada@ws-17", "12"]);
  });

  test("with a name that the server accepts, however long the person's is", async () => {
    const body = await bodyOf(["--user", "ä".repeat(300)]);
    expect(Buffer.byteLength(body["user"] ?? "")).toBeLessThanOrEqual(256);
  });

  test("with --login, and logs in again when its token has ended", async () => {
    const passwordFile = join(tempFolder(), "password");
    writeFileSync(passwordFile, "secret\n");
    let logins = 0;
    const server = scriptedServer(
      ({ headers }) =>
        headers.get("authorization") === "Bearer token-2"
          ? granted()
          : refused({ status: 401, code: "unauthorized" }),
      ({ operation }) => {
        if (operation === "auth") logins += 1;
        return Response.json({ token: `token-${logins}` });
      },
    );
    const flags = ["--login", "ada", "--password-file", passwordFile];
    expect((await runWrapped(server, flags, ["true"])).code).toBe(77);
    const { code } = await runWrapped(server, flags, ["true"]);
    expect(code).toBe(0);
    const [auth] = server.calls;
    expect(auth?.headers.get("authorization")).toBe(`Basic ${btoa("ada:secret")}`);
    expect(
      server.calls.findLast((call) => call.operation === "register")?.body["user"],
    ).toStartWith("ada#");
  });

  test("to its command, with variables that change no command of Berth inside", async () => {
    const server = scriptedServer(() => granted());
    const script = `echo "$BERTH_RUN_USER $BERTH_RUN_PRODUCT $BERTH_RUN_LICENSE_ID"; ${buildBinary()} version`;
    const { code, stdout, stderr } = await runWrapped(server, [], ["sh", "-c", script]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toStartWith(`${server.calls[0]?.body["user"]} CAD 7\nberth `);
  });
});
