import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scriptedServer, startWrapped, untilFile } from "../../support/run-wrapper.ts";
import { granted, refused, type ScriptedServer } from "../../support/scripted-server.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

const standby = (): Response =>
  refused({ status: 503, code: "standby", message: "this host is on standby" });

/** A slot that is renewed after three to four seconds, and lasts eight more. */
const shortSlot = (): Response => granted(0.2);

/** Two hosts, of which the first leads until `takeover`, and none for some calls after it. */
function makePair(callsWithoutLeader: number) {
  let leader: "alpha" | "beta" | null = "alpha";
  let remaining = callsWithoutLeader;
  const answer = (host: "alpha" | "beta", reply: () => Response) => (): Response => {
    if (leader === null && host === "beta") {
      remaining -= 1;
      if (remaining < 0) leader = "beta";
    }
    return leader === host ? reply() : standby();
  };
  const released = (): Response => new Response("done");
  return {
    alpha: scriptedServer(answer("alpha", shortSlot), answer("alpha", released)),
    beta: scriptedServer(answer("beta", shortSlot), answer("beta", released)),
    takeover: (): void => void (leader = null),
  };
}

const both = (alpha: ScriptedServer, beta: ScriptedServer) => ({ url: `${alpha.url},${beta.url}` });

describe("berth run with both hosts of a pair", () => {
  test("holds its slot through a takeover, prints nothing, and releases it at the new leader", async () => {
    const { alpha, beta, takeover } = makePair(1);
    const file = join(tempFolder(), "go");
    const wrapper = startWrapped(both(alpha, beta), [], untilFile(file));
    await wrapper.waitForStdout("started");
    takeover();
    await waitUntil(() => beta.count("register") >= 2, "a heartbeat at the new leader");
    writeFileSync(file, "");
    expect([await wrapper.end(), wrapper.stderr]).toEqual([0, ""]);
    expect([alpha.count("unregister"), beta.count("unregister")]).toEqual([0, 1]);
  });

  test("waits for the end of a takeover before it starts the command, also without --wait", async () => {
    const { alpha, beta, takeover } = makePair(1);
    takeover();
    const wrapper = startWrapped(both(alpha, beta), ["--quiet"], ["true"]);
    expect([await wrapper.end(), wrapper.stderr]).toEqual([0, ""]);
    expect(alpha.count("register")).toBeGreaterThan(1);
    expect(beta.operations.at(-1)).toBe("unregister");
  });

  test("releases the slot at the new leader if the command ends during a takeover", async () => {
    const file = join(tempFolder(), "go");
    let isOver = false;
    const alpha = scriptedServer(
      () => (isOver ? standby() : granted()),
      () => standby(),
    );
    const beta = scriptedServer(standby, (_call, number) =>
      number < 3 ? standby() : new Response("done"),
    );
    const wrapper = startWrapped(both(alpha, beta), [], untilFile(file));
    await wrapper.waitForStdout("started");
    isOver = true;
    writeFileSync(file, "");
    expect([await wrapper.end(), wrapper.stderr]).toEqual([0, ""]);
    expect(beta.count("unregister")).toBe(3);
  });

  test("does not count a slot as released because another server never had it", async () => {
    const file = join(tempFolder(), "go");
    const first = scriptedServer(() => granted());
    const other = scriptedServer(standby, () => refused({ code: "user_not_registered" }));
    const wrapper = startWrapped(both(first, other), [], untilFile(file));
    await wrapper.waitForStdout("started");
    await first.stop();
    writeFileSync(file, "");
    expect(await wrapper.end()).toBe(0);
    expect(wrapper.stderr).toContain("the slot of CAD was not released");
  });
});
