import { expect, test } from "bun:test";
import { startBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CLIENTS = 256;
const SLOTS = 10;
const CALLS = 100_000;
/** All of them have one address. */
const LISTEN = ["--listen", "127.0.0.1:0", "--audit-budget", "0"];

interface Slot {
  readonly user: string;
}

/** Who holds what, as far as somebody outside can know it. */
class ObservedCalls {
  /** Granted and not yet given back: certainly taken. */
  readonly holders = new Set<string>();
  /** Asked, and not answered when the server died: either is right. */
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

test(`${CLIENTS} clients fight for ${SLOTS} slots over ${CALLS} calls, then the server is killed`, async () => {
  const folder = tempFolder();
  await makeLicensedSite(folder, { product: "cad", slots: SLOTS });
  const first = await startBinary("serve", "--data", folder, ...LISTEN);
  const ledger = new ObservedCalls();
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    competeForSlot(first.url, `user-${index}`, ledger),
  );
  // In the middle of it: requests are under way on every connection.
  while (ledger.calls < CALLS) await Bun.sleep(5);
  await first.kill();
  await Promise.all(clients);

  expect(ledger.maxHolders).toBe(SLOTS);
  expect([...ledger.statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 400]);
  expect(ledger.grants).toBeGreaterThan(SLOTS);

  const second = await startBinary("serve", "--data", folder, ...LISTEN);
  const response = await fetch(`${second.url}/api/admin/v1/registrations`);
  const found = ((await response.json()) as Slot[]).map(({ user }) => user);
  expect(await second.stop()).toBe(0);

  const lost = [...ledger.holders].filter(
    (user) => !ledger.unansweredUsers.has(user) && !found.includes(user),
  );
  const invented = found.filter(
    (user) => !ledger.holders.has(user) && !ledger.unansweredUsers.has(user),
  );
  expect({ lost, invented }).toEqual({ lost: [], invented: [] });
  expect(found.length).toBeLessThanOrEqual(SLOTS);
});

/** Takes a slot, keeps it for a few heartbeats, gives it back, and again, until nobody answers. */
async function competeForSlot(url: string, user: string, ledger: ObservedCalls): Promise<void> {
  const call = async (path: string): Promise<boolean> => {
    ledger.unansweredUsers.add(user);
    const response = await fetch(`${url}/api/v4/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ product: "cad", user }),
    });
    await response.arrayBuffer();
    ledger.unansweredUsers.delete(user);
    ledger.recordStatus(response.status);
    return response.status === 200;
  };
  try {
    for (;;) {
      if (!(await call("register"))) continue;
      ledger.recordGrant(user);
      for (let beat = 0; beat < 3; beat += 1) expect(await call("register")).toBe(true);
      ledger.holders.delete(user);
      // Between here and the answer the slot may be either; then it is certainly not ours.
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
