import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  childOf,
  runWrapped,
  scriptedServer,
  startWrapped,
  untilFile,
} from "../../support/run-wrapper.ts";
import { granted, refused } from "../../support/scripted-server.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** 0.6 seconds: heartbeats follow after at most a fifth of a second. */
const SHORT = 0.01;

const endFile = (): string => join(tempFolder(), "end");

describe("berth run", () => {
  test("renews the slot while the command runs, and releases it once at the end", async () => {
    const server = scriptedServer(() => granted(SHORT));
    const end = endFile();
    const wrapper = startWrapped(server, [], untilFile(end));
    await waitUntil(() => server.count("register") >= 4);
    await Bun.write(end, "");
    expect([await wrapper.end(), wrapper.stderr]).toEqual([0, ""]);
    expect(server.operations.at(-1)).toBe("unregister");
    expect(server.count("unregister")).toBe(1);
    expect(new Set(server.calls.map(({ body }) => body["user"])).size).toBe(1);
  });

  test("warns when the slot is lost, goes on, and takes a slot again", async () => {
    const later = "2099-01-01T09:00:00.000Z";
    const server = scriptedServer((_call, number) => {
      if (number === 1) return granted(SHORT);
      return number < 4 ? refused({ retryAfter: 0 }) : granted(SHORT, later);
    });
    const end = endFile();
    const wrapper = startWrapped(server, [], untilFile(end));
    await wrapper.waitForStderr("note: CAD: a slot is held again");
    await Bun.write(end, "");
    expect(await wrapper.end()).toBe(0);
    const warning =
      "berth: warning: the slot of CAD is lost: all 5 slots are in use (floating_not_available); " +
      "the command continues without it\n";
    expect(wrapper.stderr.split(warning)).toHaveLength(2);
  });

  test("joins the queue for a lost slot if it waited for the first one", async () => {
    const server = scriptedServer((_call, number) => {
      if (number === 1) return granted(SHORT);
      return number < 4 ? refused({ retryAfter: 0 }) : granted();
    });
    const end = endFile();
    const wrapper = startWrapped(server, ["--wait", "1h"], untilFile(end));
    await wrapper.waitForStderr("a slot is held again");
    await Bun.write(end, "");
    await wrapper.end();
    const registers = server.calls.filter(({ operation }) => operation === "register");
    expect(registers.map(({ headers }) => headers.get("prefer"))).toEqual([
      "wait=0",
      null,
      "wait=0",
      "wait=0",
    ]);
  });

  test.each([
    ["stop", 143],
    ["kill", 137],
  ] as const)(
    "ends the command with --on-loss %s when a heartbeat is refused",
    async (action, code) => {
      const server = scriptedServer((_call, number) =>
        number === 1 ? granted(SHORT) : refused({ code: "license_expired", message: "it ended" }),
      );
      const result = await runWrapped(server, ["--on-loss", action], ["sleep", "1000"]);
      expect(result.code).toBe(code);
      expect(result.stderr).toContain(
        "the slot of CAD is lost: it ended (license_expired); the command is",
      );
      expect(server.operations.at(-1)).toBe("unregister");
    },
  );

  test("ends the command with --on-loss stop when the time-out passes without a server", async () => {
    const server = scriptedServer((_call, number) => {
      if (number === 1) return granted(SHORT);
      return refused({ status: 503, code: "storage_failed" });
    });
    const result = await runWrapped(server, ["--on-loss", "stop"], ["sleep", "1000"]);
    expect(result.code).toBe(143);
    expect(result.stderr).toContain("the slot of CAD is lost: it could not be renewed in time");
  });

  test("counts the time-out from the last heartbeat that the server accepted", async () => {
    const server = scriptedServer((_call, number) => {
      if (number === 1) return granted(SHORT);
      return number === 3 ? refused({ status: 503, code: "storage_failed" }) : granted();
    });
    const end = endFile();
    const wrapper = startWrapped(server, ["--on-loss", "kill"], untilFile(end));
    await waitUntil(() => server.count("register") === 2);
    // Longer than the time-out of the first reply.
    await Bun.sleep(700);
    wrapper.signal("SIGCONT");
    await waitUntil(() => /is renewed again|is lost/.test(wrapper.stderr));
    await Bun.write(end, "");
    expect([await wrapper.end(), wrapper.stderr]).toEqual([0, expect.not.stringContaining("lost")]);
    expect(wrapper.stderr).toContain("note: CAD: the slot cannot be renewed");
  });

  test("says that a slot was released by others, and taken again", async () => {
    const server = scriptedServer((_call, number) =>
      number < 3 ? granted(SHORT) : granted(SHORT, "2099-01-01T09:00:00.000Z"),
    );
    const end = endFile();
    const wrapper = startWrapped(server, [], untilFile(end));
    await wrapper.waitForStderr("note: CAD: the slot was released, and has been taken again");
    await Bun.write(end, "");
    expect(await wrapper.end()).toBe(0);
  });

  test("counts a slot that is already released as released", async () => {
    const server = scriptedServer(
      () => granted(),
      () => refused({ code: "user_not_registered" }),
    );
    expect((await runWrapped(server, [], ["true"])).stderr).toBe("");
    expect(server.count("unregister")).toBe(1);
  });
});

/** The system ignores SIGTSTP in a process group that no shell of the same session watches. */
const WITH_JOB_CONTROL = [
  "bash",
  "-c",
  // 148 says that the job is suspended.
  'set -m; "$@" & while wait -f $!; code=$?; [ $code = 148 ]; do :; done; exit $code',
  "bash",
];

const stateOf = (pid: number): string =>
  /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "";

describe("berth run passes on", () => {
  const trapping = (signal: string, folder: string): string[] => [
    "sh",
    "-c",
    `trap 'echo got ${signal}; touch ${folder}/end' ${signal}; echo started
     while [ ! -e ${folder}/end ]; do sleep 0.02; done; exit 5`,
  ];

  test.each(["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"])(
    "SIG%s to the command, and ends when the command does",
    async (name) => {
      const server = scriptedServer(() => granted());
      const wrapper = startWrapped(server, [], trapping(name, tempFolder()));
      await wrapper.waitForStdout("started");
      wrapper.signal(`SIG${name}` as NodeJS.Signals);
      expect(await wrapper.end()).toBe(5);
      expect(wrapper.stdout).toBe(`started\ngot ${name}\n`);
      expect(server.operations.at(-1)).toBe("unregister");
    },
  );

  test("a suspension to the command, and renews the slot when it continues", async () => {
    const server = scriptedServer(() => granted());
    const end = endFile();
    const shell = startWrapped(server, [], untilFile(end), { prefix: WITH_JOB_CONTROL });
    await shell.waitForStdout("started");
    const wrapper = childOf(shell.pid);
    const processes = [wrapper, childOf(wrapper)];
    process.kill(wrapper, "SIGTSTP");
    await waitUntil(() => processes.every((pid) => stateOf(pid) === "T"));
    process.kill(wrapper, "SIGCONT");
    await waitUntil(() => server.count("register") === 2);
    process.kill(wrapper, "SIGTSTP");
    await waitUntil(() => processes.every((pid) => stateOf(pid) === "T"));
    process.kill(wrapper, "SIGCONT");
    await Bun.write(end, "");
    expect(await shell.end()).toBe(0);
  });

  test("the ignored SIGHUP of nohup: neither of the two ends", async () => {
    const server = scriptedServer(() => granted());
    const end = endFile();
    const wrapper = startWrapped(server, [], untilFile(end), { prefix: ["nohup"] });
    await wrapper.waitForStdout("started");
    const child = childOf(wrapper.pid);
    wrapper.signal("SIGHUP");
    process.kill(child, "SIGHUP");
    await Bun.write(end, "");
    expect(await wrapper.end()).toBe(0);
    expect(existsSync(`/proc/${child}`)).toBe(false);
  });
});
