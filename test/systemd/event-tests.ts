// Notifications of the service, on the machine that `run.ts` boots: what the sandbox of the unit
// allows the program of `on_event`, and lines in the journal of systemd.
import { afterAll, beforeAll, describe, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import type { EventTestsReply } from "../../src/http/routes/health/events.ts";
import { isEventuallyTrue } from "../support/wait-until.ts";
import { expectTrue, run, runOrThrow, SERVICE, waitForAnswer } from "./machine.ts";

const SETTINGS_FILE = "/etc/berth/berth.toml";
const PROGRAM = "/usr/local/bin/berth-event";

/** Says who runs it and what it can do, one fact per line. */
const SCRIPT = `#!/bin/sh
id -un
echo "code $EVENT_CODE"
cat | grep -c '"code":"test"'
touch /usr/local/bin/written 2>/dev/null && echo wrote || echo read-only
ls /root >/dev/null 2>&1 && echo home || echo no home
echo "$EVENT_CODE" > /tmp/event && echo tmp
env | grep -c CREDENTIALS
exit 0
`;

const FACTS = ["berth", "code test", "1", "read-only", "no home", "tmp", "0"];

/** The service is installed. */
export function testEvents(): void {
  describe("events of the service", () => {
    let settings: string;

    beforeAll(async () => {
      settings = readFileSync(SETTINGS_FILE, "utf8");
      writeFileSync(PROGRAM, SCRIPT, { mode: 0o755 });
      const added = `on_event = ["${PROGRAM}"]\nevent_syslog = "local"\n`;
      writeFileSync(SETTINGS_FILE, `${settings}${added}`);
      runOrThrow("systemctl", "restart", SERVICE);
      await waitForAnswer();
    });

    afterAll(async () => {
      writeFileSync(SETTINGS_FILE, settings);
      runOrThrow("systemctl", "restart", SERVICE);
      await waitForAnswer();
    });

    test("run the program as the service's user, in its sandbox and without its credentials", () => {
      const result = run("berth", "events", "test", "--json");
      const { tests } = JSON.parse(result.output) as EventTestsReply;
      const program = tests.find(({ setting }) => setting === "on_event");
      expectTrue(
        result.code === 0 && program?.exit_code === 0 && program.output.trim() === FACTS.join("\n"),
        { result, program },
      );
    });

    test("reach the journal of systemd by the local syslog socket", async () => {
      const tested = run("berth", "events", "test");
      const readLines = (): string => run("journalctl", "-t", "berth", "--no-pager").output;
      const isLogged = await isEventuallyTrue(() =>
        readLines().includes("test test: This is a test of the notifications"),
      );
      expectTrue(tested.code === 0 && isLogged, { tested, lines: readLines().slice(-500) });
    });
  });
}
