// The program of on_event and syslog, with the executable, real processes and real sockets.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { StatusReply } from "../../src/http/routes/health/status-schema.ts";
import { isRunning } from "../../src/platform/system/processes.ts";
import { openDatagramSocket } from "../support/datagram-socket.ts";
import { EventProgram } from "../support/event-program.ts";
import { runBerth, runJsonOrThrow, startServer } from "../support/run-berth.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { isEventuallyTrue, waitUntil } from "../support/wait-until.ts";

/** Without a token, `admin_open` is a warning that every start raises. */
async function makeSite(): Promise<string> {
  const data = join(tempFolder(), "data");
  await makeLicensedSite(data, { product: "CAD", slots: 10 });
  return data;
}

const HANG = "trap '' TERM INT HUP; while :; do sleep 3600; done";

describe("a program of on_event that hangs", () => {
  test("delays no request, and ends with the server", async () => {
    const [data, program] = [await makeSite(), new EventProgram(HANG)];
    const server = await startServer(["serve", "--data", data, "--on-event", program.path]);
    const { pid } = await program.waitForRun("raised", "admin_open");
    // Every reply arrives while the program runs: it never ends by itself.
    for (let beat = 0; beat < 50; beat += 1) {
      const response = await server.post("register", { product: "CAD", user: `user-${beat % 5}` });
      expect(response.status).toBe(200);
    }
    expect(isRunning(pid)).toBe(true);
    expect((await server.stop()).code).toBe(0);
    expect(await isEventuallyTrue(() => !isRunning(pid))).toBe(true);
  });

  test("does not keep the data folder locked if the server is killed", async () => {
    const [data, program] = [await makeSite(), new EventProgram(HANG)];
    const flags = ["serve", "--data", data, "--on-event", program.path];
    const server = await startServer(flags);
    const { pid } = await program.waitForRun("raised", "admin_open");
    process.kill(server.pid, "SIGKILL");
    await waitUntil(() => !isRunning(server.pid));
    const next = await startServer(["serve", "--data", data]);
    expect(isRunning(pid)).toBe(true);
    process.kill(-pid, "SIGKILL");
    expect((await next.stop()).code).toBe(0);
  });
});

describe("events", () => {
  test("go to the program with no secret of the server's environment, and to syslog", async () => {
    const [data, program] = [await makeSite(), new EventProgram()];
    const socket = join(tempFolder(), "log");
    const messages = openDatagramSocket(socket);
    const flags = ["--on-event", program.path, "--on-event", "a, b", "--event-syslog", socket];
    const env = { CREDENTIALS_DIRECTORY: tempFolder(), SECRET: "s3cret", BERTH_SITE_NAME: "P 4" };
    const server = await startServer(["serve", "--data", data, ...flags], { env });
    const { event, variables } = await program.waitForRun("raised", "admin_open");
    expect(event).toMatchObject({ severity: "warning", subject: null, site_name: "P 4" });
    expect(variables.map((line) => line.split("=")[0]).join(" ")).toBe(
      "EVENT EVENT_AT EVENT_CODE EVENT_COMMAND EVENT_REMEDY EVENT_SEVERITY EVENT_SITE_NAME " +
        "EVENT_SUBJECT EVENT_SUMMARY EVENT_SUPPRESSED LANG PATH PWD",
    );
    expect(variables).toContain("EVENT_CODE=admin_open");
    await waitUntil(() => messages().length > 0);
    expect(messages()[0]).toMatch(
      /^<28>\w{3} [ \d]\d [\d:]{8} berth\[\d+\]: admin_open raised: Administration is open to /,
    );
    expect((await server.stop()).code).toBe(0);
  });

  test("that fail are a finding until a test is delivered", async () => {
    const [data, program] = [await makeSite(), new EventProgram("echo no mail server >&2; exit 3")];
    const server = await startServer(["serve", "--data", data, "--on-event", program.path]);
    await program.waitForRun("raised", "admin_open");
    const failed = await runBerth(["events", "test", "--data", data]);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toBe(
      "on_event: not delivered: it exited with code 3\n  no mail server\n",
    );
    const findNotificationFailure = async () => {
      const { findings } = await runJsonOrThrow<StatusReply>(["status", "--data", data]);
      return findings.find(({ code }) => code === "notification_failed");
    };
    expect(await findNotificationFailure()).toMatchObject({
      severity: "warning",
      subject: "on_event",
      command: "berth events test",
    });
    program.behave("echo sent");
    const delivered = await runBerth(["events", "test", "--data", data]);
    expect(delivered.code).toBe(0);
    expect(delivered.stdout).toMatch(/^on_event: delivered in \d+ ms, exit code 0\n {2}sent\n$/);
    expect(await findNotificationFailure()).toBeUndefined();
    const { stderr } = await server.stop();
    const logged = stderr.split("\n").filter((line) => line.includes("was not delivered"));
    // Both runs failed, and only the first is in the log.
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('"reason":"it exited with code 3"');
  });

  test("of a program that does not exist are a finding, and the server works", async () => {
    const data = await makeSite();
    const missing = join(tempFolder(), "missing");
    const server = await startServer(["serve", "--data", data, "--on-event", missing]);
    const { code, stdout } = await runBerth(["events", "test", "--data", data]);
    expect([code, stdout]).toEqual([
      1,
      "on_event: not delivered: it cannot be started: the file does not exist (ENOENT)\n",
    ]);
    expect((await server.post("register", { product: "CAD", user: "ada" })).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  });
});

describe("berth events test", () => {
  test("says what to set if the server sends no events", async () => {
    const data = await makeSite();
    await startServer(["serve", "--data", data]);
    const { code, stderr } = await runBerth(["events", "test", "--data", data]);
    expect(code).toBe(1);
    expect(stderr).toContain("neither on_event nor event_syslog is set");
  });

  test("is refused if no server runs", async () => {
    const { code, stderr } = await runBerth(["events", "test", "--data", await makeSite()]);
    expect(code).toBe(1);
    expect(stderr).toContain("no server is running");
  });
});
