import { signal } from "@preact/signals";
import type { StatusReply } from "../http/status.ts";
import { fetchResponse, ApiError } from "./api.ts";
import { accessState } from "./session.ts";

/** How the server is, as it last said; null: it has not yet. */
export const serverStatus = signal<StatusReply | null>(null);

/** Whether what is shown is true now. */
export const isConnected = signal(false);

const SILENCE_TIMEOUT = 15_000;
const MIN_RETRY_DELAY = 500;
const MAX_RETRY_DELAY = 10_000;

let watchController: AbortController | null = null;

/** Follows the server until told to stop; whatever breaks, it tries again. */
export async function watchStatus(): Promise<void> {
  watchController?.abort();
  const { signal: stopped } = (watchController = new AbortController());
  let pause = MIN_RETRY_DELAY;
  while (!stopped.aborted) {
    try {
      await followStream(stopped, () => (pause = MIN_RETRY_DELAY));
    } catch (error) {
      // Somebody has to sign in first: that starts it anew.
      if (error instanceof ApiError && accessState.value !== "open" && error.status !== 0) return;
    }
    isConnected.value = false;
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, MAX_RETRY_DELAY);
  }
}

export function stopWatchingStatus(): void {
  watchController?.abort();
  isConnected.value = false;
  serverStatus.value = null;
}

async function followStream(stopped: AbortSignal, alive: () => void): Promise<void> {
  const broken = new AbortController();
  const response = await fetchResponse("/api/admin/v1/stream", {
    signal: AbortSignal.any([stopped, broken.signal]),
  });
  // A server that vanished says nothing, not even that it did.
  let silence = setTimeout(() => broken.abort(), SILENCE_TIMEOUT);
  try {
    for await (const line of readLines(response)) {
      clearTimeout(silence);
      silence = setTimeout(() => broken.abort(), SILENCE_TIMEOUT);
      if (stopped.aborted) return;
      alive();
      isConnected.value = true;
      accessState.value = "open";
      if (line !== "")
        serverStatus.value = (JSON.parse(line) as { readonly status: StatusReply }).status;
    }
  } finally {
    clearTimeout(silence);
  }
}

async function* readLines(response: Response): AsyncGenerator<string> {
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
