import { signal } from "@preact/signals";
import { admin, done, sentenceOf } from "../api.ts";
import { status } from "../live.ts";
import { pauseAfter } from "./pace.ts";
import { rowOf, type Row } from "./rows.ts";

/** Who holds what, as it was last read; null: not read yet. */
export const taken = signal<readonly Row[] | null>(null);

/** Why it could not be read; empty: it could. */
export const readingFault = signal("");

/** A heartbeat moves the end of a slot and is no news to anybody else. */
const WITHOUT_NEWS = 30_000;

/** Reads it now and whenever the server says that something is different, until told to stop. */
export async function keepReading(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const seen = status.peek();
    const began = performance.now();
    try {
      taken.value = await readAll(stopped);
      readingFault.value = "";
    } catch (error) {
      if (!stopped.aborted) readingFault.value = sentenceOf(error);
    }
    await pause(pauseAfter(performance.now() - began), stopped);
    await news(seen, stopped);
  }
}

/** Gone from the list at once: the server has said so. */
export function forget(row: Row): void {
  taken.value = taken.value?.filter((one) => one !== row) ?? null;
}

/** In slices, between which both server and page do other things. */
async function readAll(stopped: AbortSignal): Promise<readonly Row[]> {
  // Whoever gave a slot back and took another meanwhile is in two slices: the later one counts.
  const rows = new Map<string, Row>();
  for (let after: number | null = 0; after !== null;) {
    stopped.throwIfAborted();
    const slice: Slice = await done(admin.registrations.slice.get({ query: { after } }));
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
async function news(seen: typeof status.value, stopped: AbortSignal): Promise<void> {
  const heard = new AbortController();
  const unsubscribe = status.subscribe((now) => now !== seen && heard.abort());
  await pause(WITHOUT_NEWS, AbortSignal.any([stopped, heard.signal]));
  unsubscribe();
}
