import { signal } from "@preact/signals";
import { admin, unwrapReply, errorMessageOf } from "../api.ts";
import { serverStatus } from "../status-stream.ts";
import { pauseAfterRead } from "./read-interval.ts";
import { rowOf, type SlotRow } from "./rows.ts";

/** Who holds what, as it was last read; null: not read yet. */
export const slotRows = signal<readonly SlotRow[] | null>(null);

/** Why it could not be read; empty: it could. */
export const slotLoadError = signal("");

/** A heartbeat moves the end of a slot and is no news to anybody else. */
const MAX_IDLE_TIME = 30_000;

/** Reads it now and whenever the server says that something is different, until told to stop. */
export async function pollSlots(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const seen = serverStatus.peek();
    const began = performance.now();
    try {
      slotRows.value = await readAll(stopped);
      slotLoadError.value = "";
    } catch (error) {
      if (!stopped.aborted) slotLoadError.value = errorMessageOf(error);
    }
    await pause(pauseAfterRead(performance.now() - began), stopped);
    await waitForStatus(seen, stopped);
  }
}

/** Gone from the list at once: the server has said so. */
export function removeRow(row: SlotRow): void {
  slotRows.value = slotRows.value?.filter((one) => one !== row) ?? null;
}

/** In slices, between which both server and page do other things. */
async function readAll(stopped: AbortSignal): Promise<readonly SlotRow[]> {
  // Whoever gave a slot back and took another meanwhile is in two slices: the later one counts.
  const rows = new Map<string, SlotRow>();
  for (let after: number | null = 0; after !== null;) {
    stopped.throwIfAborted();
    const slice: Slice = await unwrapReply(admin.registrations.slice.get({ query: { after } }));
    for (const held of slice.registrations) {
      const row = rowOf(held);
      rows.delete(row.key);
      rows.set(row.key, row);
    }
    after = slice.next;
  }
  return [...rows.values()];
}

type Slice = NonNullable<Awaited<ReturnType<typeof admin.registrations.slice.get>>["data"]>;

const pause = (length: number, stopped: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (stopped.aborted) return resolve();
    const timer = setTimeout(resolve, length);
    stopped.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

/** Until the server has said something since. */
async function waitForStatus(seen: typeof serverStatus.value, stopped: AbortSignal): Promise<void> {
  const heard = new AbortController();
  const unsubscribe = serverStatus.subscribe((now) => now !== seen && heard.abort());
  await pause(MAX_IDLE_TIME, AbortSignal.any([stopped, heard.signal]));
  unsubscribe();
}
