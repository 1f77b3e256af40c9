import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DoctorReply } from "../../../src/http/running-server.ts";
import { runBerth, startServer } from "../../support/run-berth.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const newFolder = (): string => join(tempFolder(), "data");

describe("a server does not start", () => {
  test.each([
    [
      ["--on-event", "notify.sh"],
      'on-event must begin with an absolute path; "notify.sh" is none',
      'for a shell, ["/bin/sh", "-c", "…"]',
    ],
    [["--on-event", ""], 'on-event must begin with an absolute path; "" is none', "for example"],
    [
      ["--events", "error,pool_full,disk_lo"],
      "--events must be a list of events; disk_lo is not an event",
      "did you mean disk_low?",
    ],
    [
      ["--event-syslog", "syslog"],
      "--event-syslog must be local, the path of a socket, or HOST:PORT for UDP",
      "for example local, or 10.1.0.9:514",
    ],
    [
      ["--event-syslog", "10.1.0.9:0"],
      "--event-syslog must be local, the path of a socket, or HOST:PORT for UDP",
      "for example local",
    ],
    [
      ["--pool-full-minutes", "0"],
      "--pool-full-minutes must be a number of minutes from 1 to 9999",
      "for example 15",
    ],
  ])("with %j", async (flags, problem, hint) => {
    const { code, stderr } = await runBerth(["serve", "--data", newFolder(), ...flags]);
    expect(code).toBe(2);
    expect(stderr).toContain(problem);
    expect(stderr).toContain(hint);
  });
});

describe("the settings of notifications", () => {
  const EDITS = [
    ["on_event", ["/bin/sh", "-c", "id"], "it runs a program on the server's machine"],
    ["event_syslog", "10.1.0.9:514", "notifications must not be redirected from the page"],
    ["events", ["error"], "notifications must not be silenced from the page"],
    ["pool_full_minutes", "9999", "notifications must not be silenced from the page"],
  ] as const;

  test("cannot be changed by an administrator of a running server", async () => {
    const data = newFolder();
    const server = await startServer(["serve", "--data", data, "--on-event", "/bin/true"]);
    for (const [name, value, reason] of EDITS) {
      const response = await fetch(`${server.url}/api/admin/v1/settings`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ changes: { [name]: value } }),
      });
      const reply = (await response.json()) as { readonly code: string; readonly message: string };
      expect([name, response.status, reply.code]).toEqual([name, 400, "setting_not_editable"]);
      expect(reply.message).toContain(reason);
    }
    const { code, stderr } = await runBerth([
      "config",
      "set",
      "on_event",
      "/bin/sh",
      "--data",
      data,
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain("it runs a program on the server's machine");
  });

  test("can be in the settings file, with arguments that contain spaces and commas", async () => {
    const file = join(tempFolder(), "berth.toml");
    writeFileSync(file, 'on_event = ["/bin/sh", "-c", "echo a, b"]\nevents = ["error", "note"]\n');
    const { stdout } = await runBerth(["config", "--config", file, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      on_event: { value: ["/bin/sh", "-c", "echo a, b"], source: file },
      events: { value: ["error", "note"], source: file },
    });
  });
});

describe("berth doctor", () => {
  const findProblem = async (program: string, data: string): Promise<string | undefined> => {
    const { stdout } = await runBerth(["doctor", "--data", data, "--on-event", program, "--json"]);
    const { findings } = JSON.parse(stdout) as DoctorReply;
    return findings.find(({ code }) => code === "on_event_unusable")?.summary;
  };

  test("checks that the program of on_event can be run, and that others cannot change it", async () => {
    const [data, folder] = [newFolder(), tempFolder()];
    const server = await startServer(["serve", "--data", data]);
    await server.stop();
    const program = join(folder, "program");
    expect(await findProblem(program, data)).toBe(`${program} of on_event cannot be run (ENOENT)`);
    writeFileSync(program, "#!/bin/sh\n");
    chmodSync(program, 0o644);
    expect(await findProblem(program, data)).toBe(
      `The server may not run ${program} of on_event (EACCES)`,
    );
    chmodSync(program, 0o777);
    expect(await findProblem(program, data)).toBe(
      `Other users can change ${program}, which the server runs (on_event)`,
    );
    chmodSync(program, 0o755);
    expect(await findProblem(program, data)).toBeUndefined();
    const directory = join(folder, "directory");
    mkdirSync(directory, { mode: 0o755 });
    expect(await findProblem(directory, data)).toBe(`${directory} of on_event is no file`);
  });
});
