// What becomes of the slot when `berth run` or its command is killed. The slot of a killed
// `berth run` ends at its time-out, which is a minute at least.
import { expect, onTestFinished, test } from "bun:test";
import { join } from "node:path";
import { startBinary } from "../support/binary.ts";
import { childOf, startWrapped, untilFile } from "../support/run-wrapper.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

interface Row {
  readonly user: string;
  readonly registered_at: string;
  readonly expires_at: string;
}

/** A server with one slot. */
async function openSite() {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, { product: "CAD", slots: 1, timeoutMinutes: 1 });
  const server = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0");
  onTestFinished(() => server.kill());
  const listSlots = async (): Promise<readonly Row[]> => {
    const response = await fetch(`${server.url}/api/admin/v1/registrations`);
    return (await response.json()) as readonly Row[];
  };
  return { server, listSlots };
}

const SLEEP = ["sh", "-c", "echo started; exec sleep 100000"];

test("the slot of a killed command is released at once", async () => {
  const { server, listSlots } = await openSite();
  const job = startWrapped(server, [], SLEEP);
  await job.waitForStdout("started");
  expect(await listSlots()).toHaveLength(1);
  process.kill(childOf(job.pid), "SIGKILL");
  expect(await job.end()).toBe(137);
  expect(await listSlots()).toEqual([]);
});

test("the slot of a killed berth run goes to the next one at its time-out", async () => {
  const { server, listSlots } = await openSite();
  const job = startWrapped(server, [], SLEEP);
  await job.waitForStdout("started");
  job.signal("SIGKILL");
  await job.exited;
  const [killed] = await listSlots();
  const end = join(tempFolder(), "end");
  const next = startWrapped(server, ["--wait", "1h"], untilFile(end));
  await next.waitForStdout("started");
  const slots = await listSlots();
  expect(slots).toHaveLength(1);
  // The time-out frees the slot, and nothing earlier: the killed process could not release it.
  expect(slots[0]?.registered_at).not.toBe(killed?.registered_at ?? "");
  expect(Date.parse(slots[0]?.registered_at ?? "")).toBeGreaterThanOrEqual(
    Date.parse(killed?.expires_at ?? ""),
  );
  await Bun.write(end, "");
  expect(await next.end()).toBe(0);
});
