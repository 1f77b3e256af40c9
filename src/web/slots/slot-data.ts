import { signal } from "@preact/signals";
import { admin, unwrapReply, errorMessageOf } from "../api.ts";
import { serverStatus } from "../status-stream.ts";
import { pauseAfterRead } from "./read-interval.ts";
import { rowOf, type SlotRow } from "./rows.ts";

/** The slots in use, as last read; null: not read yet. */
export const slotRows = signal<readonly SlotRow[] | null>(null);

/** Why the last read failed; empty: it succeeded. */
export const slotLoadError = signal("");

/** Heartbeats change the end of a slot without a status update: reads again after this time. */
const MAX_IDLE_TIME = 30_000;

/** Reads the slots now and after each status update, until stopped. */
export async function pollSlots(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const statusBefore = serverStatus.peek();
    const startedAt = performance.now();
    try {
      slotRows.value = await readAll(stopped);
      slotLoadError.value = "";
    } catch (error) {
      if (!stopped.aborted) slotLoadError.value = errorMessageOf(error);
    }
    await pause(pauseAfterRead(performance.now() - startedAt), stopped);
    await waitForStatus(statusBefore, stopped);
  }
}

/** Removes a released slot from the list without waiting for the next read. */
export function removeRow(row: SlotRow): void {
  slotRows.value = slotRows.value?.filter((other) => other !== row) ?? null;
}

/** Reads in slices, so that neither the server nor the page is blocked for long. */
async function readAll(stopped: AbortSignal): Promise<readonly SlotRow[]> {
  // A user who released a slot and took another meanwhile is in two slices: the later one counts.
  const rows = new Map<string, SlotRow>();
  for (let after: number | null = 0; after !== null;) {
    stopped.throwIfAborted();
    const slice: Slice = await unwrapReply(admin.registrations.slice.get({ query: { after } }));
    for (const registration of slice.registrations) {
      const row = rowOf(registration);
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

/** Waits for a status update that is newer than `seen`. */
async function waitForStatus(seen: typeof serverStatus.value, stopped: AbortSignal): Promise<void> {
  const updated = new AbortController();
  const unsubscribe = serverStatus.subscribe((status) => status !== seen && updated.abort());
  await pause(MAX_IDLE_TIME, AbortSignal.any([stopped, updated.signal]));
  unsubscribe();
}
