import { expect, test } from "bun:test";
import { startBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { chooseSize } from "../support/suite-harness.ts";

const CLIENTS = 256;
const SLOTS = 10;
const CALLS = chooseSize(20_000, 100_000);
/** All clients have the same address, so its audit budget must not limit them. */
const LISTEN = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];

interface Slot {
  readonly user: string;
}

/** The slots in use, as far as clients can know. */
class ObservedCalls {
  /** Granted and not yet released: these users certainly have a slot. */
  readonly holders = new Set<string>();
  /** Their last call had no reply when the server was killed: with or without a slot is correct. */
  readonly unansweredUsers = new Set<string>();
  maxHolders = 0;
  calls = 0;
  grants = 0;
  readonly statuses = new Map<number, number>();

  recordStatus(status: number): void {
    this.calls += 1;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  recordGrant(user: string): void {
    if (!this.holders.has(user)) this.grants += 1;
    this.holders.add(user);
    this.maxHolders = Math.max(this.maxHolders, this.holders.size);
  }
}

test(`${CLIENTS} clients never hold more than ${SLOTS} slots, and a kill loses no granted slot`, async () => {
  const folder = tempFolder();
  await makeLicensedSite(folder, { product: "cad", slots: SLOTS });
  const first = await startBinary("serve", "--data", folder, ...LISTEN);
  const observed = new ObservedCalls();
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    competeForSlot(first.url, `user-${index}`, observed),
  );
  // The server is killed while every connection has a pending request.
  while (observed.calls < CALLS) await Bun.sleep(5);
  await first.kill();
  await Promise.all(clients);

  expect(observed.maxHolders).toBe(SLOTS);
  expect([...observed.statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 400]);
  expect(observed.grants).toBeGreaterThan(SLOTS);

  const second = await startBinary("serve", "--data", folder, ...LISTEN);
  const response = await fetch(`${second.url}/api/admin/v1/registrations`);
  const users = ((await response.json()) as Slot[]).map(({ user }) => user);
  expect(await second.stop()).toBe(0);

  const lost = [...observed.holders].filter(
    (user) => !observed.unansweredUsers.has(user) && !users.includes(user),
  );
  const invented = users.filter(
    (user) => !observed.holders.has(user) && !observed.unansweredUsers.has(user),
  );
  expect({ lost, invented }).toEqual({ lost: [], invented: [] });
  expect(users.length).toBeLessThanOrEqual(SLOTS);
});

/** Takes a slot, sends three heartbeats and releases it, repeatedly, until the server is gone. */
async function competeForSlot(url: string, user: string, observed: ObservedCalls): Promise<void> {
  const call = async (path: string): Promise<boolean> => {
    observed.unansweredUsers.add(user);
    const response = await fetch(`${url}/api/v4/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ product: "cad", user }),
    });
    await response.arrayBuffer();
    observed.unansweredUsers.delete(user);
    observed.recordStatus(response.status);
    return response.status === 200;
  };
  try {
    for (;;) {
      if (!(await call("register"))) continue;
      observed.recordGrant(user);
      for (let beat = 0; beat < 3; beat += 1) expect(await call("register")).toBe(true);
      observed.holders.delete(user);
      // Until the reply, the slot may be taken or released; after it, the slot is released.
      expect(await call("unregister")).toBe(true);
    }
  } catch (error) {
    if (error instanceof TypeError || isConnectionError(error)) return;
    throw error;
  }
}

const isConnectionError = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  /ECONN|ConnectionClosed|ConnectionRefused/.test(String(error.code));
