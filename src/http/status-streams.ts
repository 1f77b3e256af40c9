import { log } from "../platform/log.ts";
import { faultOf, refuse } from "./faults.ts";
import type { Gate } from "./gate.ts";
import type { StatusReply } from "./status.ts";

/** Every page of every operator is one; a page that was left open elsewhere counts too. */
export const MAX_STREAMS = 32;

const TICK = 1_000;
/** So that neither side, nor anything between them, takes silence for an end. */
const QUIET = 4_000;
/** Whoever has read nothing for so long does not come back for it. */
const STUCK = 60_000;
/** Lines that wait for a slow reader. */
const QUEUE = 4;

export interface StreamViewer {
  /** Of the listener it came by, which may stop before the others. */
  readonly gate: Gate;
  /** False: it is gone, or would not be let in any more. */
  readonly isStillAdmitted: () => boolean;
  readonly status: () => Promise<StatusReply>;
}

interface StatusStream extends StreamViewer {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  /** The gist of what was sent last. */
  lastSentKey: string;
  /** When the last line was taken. */
  lastWrittenAt: number;
}

/**
 * Everybody who watches one appliance, over all its listeners. One look a second serves all of
 * them, and nobody looks while nobody watches.
 */
export class StatusStreams {
  readonly #streams = new Set<StatusStream>();
  #timer: Timer | null = null;
  #isReadingStatus = false;

  open(viewer: StreamViewer, first: StatusReply): ReadableStream<Uint8Array> {
    if (this.#streams.size >= MAX_STREAMS) refuse({ code: "too_many_requests", busy: "streams" });
    let gone: (() => void) | null = null;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (lines) => {
          const stream: StatusStream = {
            ...viewer,
            controller: lines,
            lastSentKey: changeKeyOf(first),
            lastWrittenAt: 0,
          };
          gone = () => this.#remove(stream);
          this.#streams.add(stream);
          write(stream, lineOf(first));
        },
        cancel: () => gone?.(),
      },
      new CountQueuingStrategy({ highWaterMark: QUEUE }),
    );
    this.#timer ??= setInterval(() => this.#tick(), TICK);
    return body;
  }

  /** A listener stops, or wants its callers to come again. */
  endStreamsOf(gate: Gate): void {
    for (const stream of this.#streams) if (stream.gate === gate) this.#end(stream);
  }

  #tick(): void {
    for (const stream of this.#streams) {
      const quiet = performance.now() - stream.lastWrittenAt;
      if (quiet >= STUCK || !stream.isStillAdmitted()) this.#end(stream);
      else if (quiet >= QUIET) write(stream, EMPTY);
    }
    void this.#sendChanges();
  }

  async #sendChanges(): Promise<void> {
    // They all watch the same appliance: one asks for everybody. A slow disk is asked once.
    const [any] = this.#streams;
    if (any === undefined || this.#isReadingStatus) return;
    this.#isReadingStatus = true;
    try {
      const reply = await any.status();
      const gist = changeKeyOf(reply);
      const news = [...this.#streams].filter(({ lastSentKey }) => lastSentKey !== gist);
      if (news.length === 0) return;
      const line = lineOf(reply);
      for (const stream of news) if (write(stream, line)) stream.lastSentKey = gist;
    } catch (error) {
      // A disk that failed cannot be asked: what there is to tell comes when it can be.
      if (faultOf(error) === null) log.error("status stream update failed", { error });
    } finally {
      this.#isReadingStatus = false;
    }
  }

  #end(stream: StatusStream): void {
    this.#remove(stream);
    stream.controller.close();
  }

  #remove(stream: StatusStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

/** False: it has not read what it was sent before, and gets the next one instead. */
function write(stream: StatusStream, line: Uint8Array): boolean {
  if ((stream.controller.desiredSize ?? 0) <= 0) return false;
  stream.controller.enqueue(line);
  stream.lastWrittenAt = performance.now();
  return true;
}

const encoder = new TextEncoder();
const EMPTY = encoder.encode("\n");

const lineOf = (status: StatusReply): Uint8Array =>
  encoder.encode(`${JSON.stringify({ status })}\n`);

/** A tenth of a GiB, nearly. */
const ROUGHLY = 2 ** 27;

/** All that is worth a line: not the time, and not what every heartbeat changes. */
function changeKeyOf({ now: _now, storage, ...status }: StatusReply): string {
  const { seq: _seq, journal_bytes: _bytes, slowest_sync_ms: _slowest, ...told } = storage;
  const free = Math.round((told.free_bytes ?? 0) / ROUGHLY);
  return JSON.stringify({ ...status, ...told, free_bytes: free });
}
