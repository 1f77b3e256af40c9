// The clocks of the client for JavaScript: the time of day can be set, and a machine can sleep.
import { afterEach, describe, expect, setSystemTime, spyOn, test, onTestFinished } from "bun:test";
import os from "node:os";
import { Client, type Slot } from "../../src/clients/berth.js";
import { openSharedAppliance } from "../support/appliance.ts";

const TWO_HOURS = 7_200_000;

const appliance = openSharedAppliance();

interface Holding {
  readonly client: Client;
  readonly slot: Slot;
  readonly countRequests: () => number;
}

/** A client that holds a slot for 30 minutes. */
async function holdSlot(): Promise<Holding> {
  let count = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      count += 1;
      return appliance().app.handle(request);
    },
  });
  const client = new Client(server.url.origin, "cad");
  onTestFinished(async () => {
    await client.close();
    await server.stop(true);
  });
  return { client, slot: await client.acquire("ada"), countRequests: () => count };
}

/** From now on, the machine has been up for two hours longer. */
function letMachineSleep(): void {
  const uptime = os.uptime() + TWO_HOURS / 1000;
  const spy = spyOn(os, "uptime").mockImplementation(() => uptime);
  onTestFinished(() => spy.mockRestore());
}

describe("a slot of the client for JavaScript", () => {
  afterEach(() => {
    setSystemTime();
  });

  test.each([TWO_HOURS, -TWO_HOURS])(
    "needs no renewal if the time of day is set by %p ms",
    async (step) => {
      const { client, slot, countRequests } = await holdSlot();
      setSystemTime(Date.now() + step);
      expect(slot.isHeld).toBe(true);
      await client.acquire("ada");
      expect(countRequests()).toBe(1);
    },
  );

  test("is renewed before it is shared if the machine slept past its end", async () => {
    const { client, slot, countRequests } = await holdSlot();
    letMachineSleep();
    expect(slot.isHeld).toBe(true);
    await client.acquire("ada");
    expect(countRequests()).toBe(2);
    expect(slot.isHeld).toBe(true);
  });
});
