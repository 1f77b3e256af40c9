// `berth run` with two servers: the hosts of a pair are one appliance, unrelated servers are two.
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scriptedServer, startWrapped, untilFile } from "../../support/run-wrapper.ts";
import { granted, refused, type ScriptedServer } from "../../support/scripted-server.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** A reply of the appliance with this ID. */
function ofAppliance(id: string, reply: Response): Response {
  reply.headers.set("berth-appliance", id);
  return reply;
}

/** A slot that is renewed after a second. */
const shortSlot = (): Response => granted(0.05);

/** A server that grants one slot, and then answers that its disk is full. */
const grantsOnce = (id: string): ScriptedServer =>
  scriptedServer((_call, number) =>
    ofAppliance(id, number === 1 ? shortSlot() : refused({ status: 503, code: "storage_full" })),
  );

const grantsAlways = (id: string): ScriptedServer =>
  scriptedServer(
    () => ofAppliance(id, shortSlot()),
    () => ofAppliance(id, new Response("done")),
  );

describe("berth run with two servers", () => {
  test("renews and releases the slot at the other server of the same appliance", async () => {
    const [first, second] = [grantsOnce("AAAA"), grantsAlways("AAAA")];
    const file = join(tempFolder(), "go");
    const wrapper = startWrapped({ url: `${first.url},${second.url}` }, [], untilFile(file));
    await waitUntil(() => second.count("register") >= 2, "heartbeats at the second server");
    writeFileSync(file, "");
    expect([await wrapper.end(), wrapper.stderr]).toEqual([0, ""]);
    expect(second.count("unregister")).toBe(1);
  });

  test("neither renews nor releases the slot at a server of another appliance", async () => {
    const [first, second] = [grantsOnce("AAAA"), grantsAlways("BBBB")];
    const file = join(tempFolder(), "go");
    const wrapper = startWrapped({ url: `${first.url},${second.url}` }, [], untilFile(file));
    await wrapper.waitForStderr("is lost");
    expect(wrapper.stderr).toContain(`${second.url} is another appliance: BBBB, not AAAA`);
    writeFileSync(file, "");
    expect(await wrapper.end()).toBe(0);
    expect(first.count("unregister")).toBeGreaterThan(0);
  });

  test("accepts servers of an older version, which do not name their appliance", async () => {
    const first = scriptedServer((_call, number) =>
      number === 1 ? shortSlot() : refused({ status: 503, code: "storage_full" }),
    );
    const second = scriptedServer(shortSlot);
    const file = join(tempFolder(), "go");
    const wrapper = startWrapped({ url: `${first.url},${second.url}` }, [], untilFile(file));
    await waitUntil(() => second.count("register") >= 2, "heartbeats at the second server");
    writeFileSync(file, "");
    expect([await wrapper.end(), wrapper.stderr]).toEqual([0, ""]);
  });
});
