// Somebody who watches a server: the lines of its stream as they come.
import { onTestFinished } from "bun:test";
import type { StatusReply } from "../../src/http/status.ts";
import { PATIENCE } from "./patience.ts";

export const STREAM_PATH = "/api/admin/v1/stream";

/** All that was answered; of a stream, which has no end, its beginning. */
export async function readText(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "application/x-ndjson") return response.text();
  for await (const part of response.body ?? []) return new TextDecoder().decode(part);
  return "";
}

export class StatusStream {
  readonly response: Response;
  /** Every line so far, the empty ones too. */
  readonly lines: string[] = [];
  /** Comes true when the server ends it, false when it breaks. */
  readonly ended: Promise<boolean>;
  readonly #abort: AbortController;

  static async open(url: string, init: BunFetchRequestInit = {}): Promise<StatusStream> {
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const response = await fetch(`${url}${STREAM_PATH}`, { ...init, signal: leaving.signal });
    return new StatusStream(response, leaving);
  }

  private constructor(response: Response, leaving: AbortController) {
    this.response = response;
    this.#abort = leaving;
    this.ended = this.#read().then(
      () => true,
      () => false,
    );
  }

  /** What was told, oldest first. */
  get statuses(): StatusReply[] {
    return this.lines
      .filter((line) => line !== "")
      .map((line) => (JSON.parse(line) as { status: StatusReply }).status);
  }

  /** Waits until it holds of what was told last. */
  async waitForStatus(wanted: (status: StatusReply) => boolean): Promise<StatusReply> {
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const last = this.statuses.at(-1);
      if (last !== undefined && wanted(last)) return last;
      if (performance.now() > deadline) throw new Error(`it never came: ${JSON.stringify(last)}`);
      await Bun.sleep(10);
    }
  }

  /** The way a page goes that is closed. */
  disconnect(): void {
    this.#abort.abort();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const part of this.response.body ?? []) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      this.lines.push(...lines);
    }
  }
}
