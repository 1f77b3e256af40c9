import { log } from "../../../platform/log.ts";
import { faultOf, refuse } from "../../faults.ts";
import type { Gate } from "../../access/gate.ts";
import type { StatusReply } from "../health/status-schema.ts";

/** Every open operator page uses one stream, also a page in a background tab. */
export const MAX_STREAMS = 32;

const TICK_MS = 1_000;
/** An empty line keeps the connection open at both ends and in proxies between them. */
const KEEPALIVE_MS = 4_000;
/** A viewer that has read nothing for so long is disconnected. */
const STUCK_MS = 60_000;
/** Lines that are buffered for a slow reader. */
const BUFFERED_LINES = 4;

export interface StreamViewer {
  /** Gate of the viewer's listener, which may stop before other listeners. */
  readonly gate: Gate;
  /** False: the viewer disconnected, or its request would be refused now. */
  readonly isStillAdmitted: () => boolean;
  readonly status: () => Promise<StatusReply>;
}

interface StatusStream extends StreamViewer {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  /** Change key of the status that was sent last. */
  lastSentKey: string;
  /** When the last line went into the buffer. */
  lastWrittenAt: number;
}

/**
 * The open status streams of one appliance, over all its listeners. The status is read once a
 * second for all of them, and not at all while no stream is open.
 */
export class StatusStreams {
  readonly #streams = new Set<StatusStream>();
  #timer: Timer | null = null;
  #isReadingStatus = false;

  open(viewer: StreamViewer, first: StatusReply): ReadableStream<Uint8Array> {
    if (this.#streams.size >= MAX_STREAMS) refuse({ code: "too_many_requests", busy: "streams" });
    let removeStream: (() => void) | null = null;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const stream: StatusStream = {
            ...viewer,
            controller,
            lastSentKey: changeKeyOf(first),
            lastWrittenAt: 0,
          };
          removeStream = () => this.#remove(stream);
          this.#streams.add(stream);
          write(stream, lineOf(first));
        },
        cancel: () => removeStream?.(),
      },
      new CountQueuingStrategy({ highWaterMark: BUFFERED_LINES }),
    );
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    return body;
  }

  /** For a listener that stops, or whose callers must connect again. */
  endStreamsOf(gate: Gate): void {
    for (const stream of this.#streams) if (stream.gate === gate) this.#end(stream);
  }

  /** For a host whose status cannot be read, or is not that of the appliance any more. */
  endAll(): void {
    for (const stream of this.#streams) this.#end(stream);
  }

  #tick(): void {
    for (const stream of this.#streams) {
      const silentMs = performance.now() - stream.lastWrittenAt;
      if (silentMs >= STUCK_MS || !stream.isStillAdmitted()) this.#end(stream);
      else if (silentMs >= KEEPALIVE_MS) write(stream, EMPTY_LINE);
    }
    void this.#sendChanges();
  }

  async #sendChanges(): Promise<void> {
    // All streams show the same appliance, so one read serves all. A slow disk gets one read at a
    // time.
    const [anyStream] = this.#streams;
    if (anyStream === undefined || this.#isReadingStatus) return;
    this.#isReadingStatus = true;
    try {
      const reply = await anyStream.status();
      const changeKey = changeKeyOf(reply);
      const outdated = [...this.#streams].filter(({ lastSentKey }) => lastSentKey !== changeKey);
      if (outdated.length === 0) return;
      const line = lineOf(reply);
      for (const stream of outdated) if (write(stream, line)) stream.lastSentKey = changeKey;
    } catch (error) {
      // A viewer that connects again is told why: the disk failed, or does not answer.
      if (faultOf(error) !== null) this.endAll();
      else log.error("status stream update failed", { error });
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

/** False: the buffer is full; the viewer gets a later status instead. */
function write(stream: StatusStream, line: Uint8Array): boolean {
  if ((stream.controller.desiredSize ?? 0) <= 0) return false;
  stream.controller.enqueue(line);
  stream.lastWrittenAt = performance.now();
  return true;
}

const encoder = new TextEncoder();
const EMPTY_LINE = encoder.encode("\n");

const lineOf = (status: StatusReply): Uint8Array =>
  encoder.encode(`${JSON.stringify({ status })}\n`);

/** Free disk space is compared in steps of 128 MiB. */
const FREE_SPACE_STEP = 2 ** 27;

/** Everything whose change is sent: not the time, and not what every heartbeat changes. */
function changeKeyOf({ now: _now, storage, pair, ...status }: StatusReply): string {
  const { seq: _seq, journal_bytes: _bytes, slowest_sync_ms: _slowest, ...shown } = storage;
  const free = Math.round((shown.free_bytes ?? 0) / FREE_SPACE_STEP);
  return JSON.stringify({ ...status, ...shown, free_bytes: free, pair: pair && pairKeyOf(pair) });
}

/** Without what changes with each report of a host. */
const pairKeyOf = ({ hosts, ...pair }: NonNullable<StatusReply["pair"]>) => ({
  ...pair,
  hosts: hosts.map(({ name, role, version, url }) => ({ name, role, version, url })),
});
