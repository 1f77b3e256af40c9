// What `berth run` does about servers that fail; each test waits for a time limit.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { runWrapped, scriptedServer, startWrapped, untilFile } from "../../support/run-wrapper.ts";
import { granted, refused } from "../../support/scripted-server.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const QUEUED = { retryAfter: 15, queue: { position: 3, length: 7, eta: null } };

/** Minutes: the first heartbeat follows after four seconds, and there are eight more to repeat it. */
const OUTLASTS_A_RETRY = 0.2;

describe("berth run --wait", () => {
  test("exits with 75 when the time is over, and leaves the queue", async () => {
    const server = scriptedServer(() => refused({ ...QUEUED, hint: "berth queue" }));
    const { code, stdout, stderr } = await runWrapped(server, ["--wait", "1s"], ["echo", "ran"]);
    expect([code, stdout]).toEqual([75, ""]);
    expect(stderr).toContain("no slot of CAD became free in time: all 5 slots are in use");
    expect(stderr).toContain("hint: berth queue\n");
    expect(server.operations.at(-1)).toBe("unregister");
  });

  test("waits for a server that does not answer, and exits with 69 if none ever does", async () => {
    const wrapper = startWrapped({ url: "http://127.0.0.1:1" }, ["--wait", "1s"], ["true"]);
    expect(await wrapper.end()).toBe(69);
    expect(wrapper.stderr).toContain("note: waiting for a server: http://127.0.0.1:1 does not");
  });

  test("continues after an error of the server and after a lost connection", async () => {
    const server = scriptedServer((_call, number) => {
      if (number === 1) return refused({ status: 503, code: "storage_full" });
      if (number === 2) return refused({ status: 429, code: "too_many_requests" });
      return granted();
    });
    const { code } = await runWrapped(server, ["--wait", "2h"], ["true"]);
    expect(code).toBe(0);
  });
});

describe("berth run", () => {
  test("keeps the slot while the server is away for less than the time-out", async () => {
    const server = scriptedServer((_call, number) => {
      if (number === 2) return refused({ status: 503, code: "storage_full" });
      return granted(number === 1 ? OUTLASTS_A_RETRY : 15);
    });
    const end = join(tempFolder(), "end");
    const wrapper = startWrapped(server, ["--on-loss", "kill"], untilFile(end));
    await wrapper.waitForStderr("the slot is renewed again");
    await Bun.write(end, "");
    expect(await wrapper.end()).toBe(0);
    expect(wrapper.stderr).toContain("the slot cannot be renewed: ");
    expect(wrapper.stderr).not.toContain("lost");
  });

  test("warns if the slot could not be released, and says when it ends", async () => {
    const server = scriptedServer(
      () => granted(),
      () => refused({ status: 503, code: "storage_full" }),
    );
    const { code, stderr } = await runWrapped(server, [], ["true"], { env: { TZ: "UTC" } });
    expect(code).toBe(0);
    expect(stderr).toContain("the slot of CAD was not released; it ends at 2099-01-01 08:15\n");
  });
});
