import { signal } from "@preact/signals";
import type { StatusReply } from "../http/status.ts";
import { call, Refused } from "./api.ts";
import { door } from "./session.ts";

/** How the server is, as it last said; null: it has not yet. */
export const status = signal<StatusReply | null>(null);

/** Whether what is shown is true now. */
export const connected = signal(false);

const SILENCE = 15_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 10_000;

let watching: AbortController | null = null;

/** Follows the server until told to stop; whatever breaks, it tries again. */
export async function watch(): Promise<void> {
  watching?.abort();
  const { signal: stopped } = (watching = new AbortController());
  let pause = FIRST_PAUSE;
  while (!stopped.aborted) {
    try {
      await follow(stopped, () => (pause = FIRST_PAUSE));
    } catch (error) {
      // Somebody has to sign in first: that starts it anew.
      if (error instanceof Refused && door.value !== "open" && error.status !== 0) return;
    }
    connected.value = false;
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

export function stopWatching(): void {
  watching?.abort();
  connected.value = false;
  status.value = null;
}

async function follow(stopped: AbortSignal, alive: () => void): Promise<void> {
  const broken = new AbortController();
  const response = await call("/api/admin/v1/stream", {
    signal: AbortSignal.any([stopped, broken.signal]),
  });
  // A server that vanished says nothing, not even that it did.
  let silence = setTimeout(() => broken.abort(), SILENCE);
  try {
    for await (const line of linesOf(response)) {
      clearTimeout(silence);
      silence = setTimeout(() => broken.abort(), SILENCE);
      if (stopped.aborted) return;
      alive();
      connected.value = true;
      door.value = "open";
      if (line !== "") status.value = (JSON.parse(line) as { readonly status: StatusReply }).status;
    }
  } finally {
    clearTimeout(silence);
  }
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
