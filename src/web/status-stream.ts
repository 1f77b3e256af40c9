import { computed, signal } from "@preact/signals";
import { DEFAULT_WARNING_DAYS } from "../domain/licenses/end-date.ts";
import type { StatusReply } from "../http/routes/health/status-schema.ts";
import { fetchResponse, ApiError } from "./api.ts";
import { standbyNotice } from "./pair/standby.ts";
import { accessState } from "./session.ts";

/** The last status that the server sent; null: none yet. */
export const serverStatus = signal<StatusReply | null>(null);

/** So many days before its end, a license, certificate or token is reported. */
export const expiryWarningDays = computed(
  () => serverStatus.value?.expiry_warning_days ?? DEFAULT_WARNING_DAYS,
);

/** Whether the status shown is current. */
export const isConnected = signal(false);

/** When the server was last heard, in milliseconds since 1970; null: never. */
export const lastContactAt = signal<number | null>(null);

/** Whether the last attempt to connect failed. */
export const isUnreachable = signal(false);

/** Whether the server answers, but cannot use its disk: it shows nothing that could be lost. */
export const isDiskAway = signal(false);

const SILENCE_TIMEOUT = 15_000;
const MIN_RETRY_DELAY = 500;
const MAX_RETRY_DELAY = 10_000;

let watchController: AbortController | null = null;

/** Follows the server's status until stopped, and reconnects after any failure. */
export async function watchStatus(): Promise<void> {
  watchController?.abort();
  const { signal: stopped } = (watchController = new AbortController());
  let delay = MIN_RETRY_DELAY;
  while (!stopped.aborted) {
    try {
      await followStream(stopped, () => (delay = MIN_RETRY_DELAY));
    } catch (error) {
      isDiskAway.value = error instanceof ApiError && error.code === "storage_failed";
      const isRefused = error instanceof ApiError && error.status !== 0 && !isDiskAway.value;
      // Access is denied: signing in starts the stream again.
      if (isRefused && accessState.value !== "open") return;
    }
    isConnected.value = false;
    if (stopped.aborted) return;
    isUnreachable.value = true;
    await new Promise((resolve) => setTimeout(resolve, delay));
    delay = Math.min(delay * 2, MAX_RETRY_DELAY);
  }
}

async function followStream(stopped: AbortSignal, onData: () => void): Promise<void> {
  const silenceController = new AbortController();
  // A server that vanished does not close the connection.
  let silenceTimer = setTimeout(() => silenceController.abort(), SILENCE_TIMEOUT);
  try {
    const response = await fetchResponse("/api/admin/v1/stream", {
      signal: AbortSignal.any([stopped, silenceController.signal]),
      timeout: null,
    });
    let isFirstLine = true;
    for await (const line of readLines(response)) {
      clearTimeout(silenceTimer);
      silenceTimer = setTimeout(() => silenceController.abort(), SILENCE_TIMEOUT);
      if (stopped.aborted) return;
      onData();
      // Only a new stream says that this host leads: one that was open before may still end.
      if (isFirstLine) standbyNotice.value = null;
      isFirstLine = false;
      isConnected.value = true;
      isUnreachable.value = false;
      isDiskAway.value = false;
      lastContactAt.value = Date.now();
      accessState.value = "open";
      if (line !== "")
        serverStatus.value = (JSON.parse(line) as { readonly status: StatusReply }).status;
    }
  } finally {
    clearTimeout(silenceTimer);
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
