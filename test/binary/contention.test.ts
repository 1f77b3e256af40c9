import { expect, test } from "bun:test";
import { startBinary } from "../support/binary.ts";
import { makeSite } from "../support/site-folder.ts";
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
class Ledger {
  /** Granted and not yet given back: certainly taken. */
  readonly held = new Set<string>();
  /** Asked, and not answered when the server died: either is right. */
  readonly open = new Set<string>();
  mostHeld = 0;
  calls = 0;
  grants = 0;
  readonly statuses = new Map<number, number>();

  answered(status: number): void {
    this.calls += 1;
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }

  granted(user: string): void {
    if (!this.held.has(user)) this.grants += 1;
    this.held.add(user);
    this.mostHeld = Math.max(this.mostHeld, this.held.size);
  }
}

test(`${CLIENTS} clients fight for ${SLOTS} slots over ${CALLS} calls, then the server is killed`, async () => {
  const folder = tempFolder();
  await makeSite(folder, { product: "cad", slots: SLOTS });
  const first = await startBinary("serve", "--data", folder, ...LISTEN);
  const ledger = new Ledger();
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    fight(first.url, `user-${index}`, ledger),
  );
  // In the middle of it: requests are under way on every connection.
  while (ledger.calls < CALLS) await Bun.sleep(5);
  await first.kill();
  await Promise.all(clients);

  expect(ledger.mostHeld).toBe(SLOTS);
  expect([...ledger.statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 400]);
  expect(ledger.grants).toBeGreaterThan(SLOTS);

  const second = await startBinary("serve", "--data", folder, ...LISTEN);
  const response = await fetch(`${second.url}/api/admin/v1/registrations`);
  const found = ((await response.json()) as Slot[]).map(({ user }) => user);
  expect(await second.stop()).toBe(0);

  const lost = [...ledger.held].filter((user) => !ledger.open.has(user) && !found.includes(user));
  const invented = found.filter((user) => !ledger.held.has(user) && !ledger.open.has(user));
  expect({ lost, invented }).toEqual({ lost: [], invented: [] });
  expect(found.length).toBeLessThanOrEqual(SLOTS);
});

/** Takes a slot, keeps it for a few heartbeats, gives it back, and again, until nobody answers. */
async function fight(url: string, user: string, ledger: Ledger): Promise<void> {
  const call = async (path: string): Promise<boolean> => {
    ledger.open.add(user);
    const response = await fetch(`${url}/api/v4/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ product: "cad", user }),
    });
    await response.arrayBuffer();
    ledger.open.delete(user);
    ledger.answered(response.status);
    return response.status === 200;
  };
  try {
    for (;;) {
      if (!(await call("register"))) continue;
      ledger.granted(user);
      for (let beat = 0; beat < 3; beat += 1) expect(await call("register")).toBe(true);
      ledger.held.delete(user);
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
