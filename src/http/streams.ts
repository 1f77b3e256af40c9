import { log } from "../platform/log.ts";
import { faultOf, refuse } from "./faults.ts";
import type { Gate } from "./gate.ts";
import type { StatusReply } from "./status.ts";

/** Every page of every operator is one; a page that was left open elsewhere counts too. */
export const MOST_STREAMS = 32;

const TICK = 1_000;
/** So that neither side, nor anything between them, takes silence for an end. */
const QUIET = 4_000;
/** Whoever has read nothing for so long does not come back for it. */
const STUCK = 60_000;
/** Lines that wait for a slow reader. */
const QUEUE = 4;

export interface Viewer {
  /** Of the listener it came by, which may stop before the others. */
  readonly gate: Gate;
  /** False: it is gone, or would not be let in any more. */
  readonly isWelcome: () => boolean;
  readonly status: () => Promise<StatusReply>;
}

interface Stream extends Viewer {
  readonly lines: ReadableStreamDefaultController<Uint8Array>;
  /** The gist of what was sent last. */
  sent: string;
  /** When the last line was taken. */
  at: number;
}

/**
 * Everybody who watches one appliance, over all its listeners. One look a second serves all of
 * them, and nobody looks while nobody watches.
 */
export class Streams {
  readonly #open = new Set<Stream>();
  #ticking: Timer | null = null;
  #looking = false;

  open(viewer: Viewer, first: StatusReply): ReadableStream<Uint8Array> {
    if (this.#open.size >= MOST_STREAMS) refuse({ code: "too_many_requests", busy: "streams" });
    let gone: (() => void) | null = null;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (lines) => {
          const stream: Stream = { ...viewer, lines, sent: gistOf(first), at: 0 };
          gone = () => this.#forget(stream);
          this.#open.add(stream);
          write(stream, lineOf(first));
        },
        cancel: () => gone?.(),
      },
      new CountQueuingStrategy({ highWaterMark: QUEUE }),
    );
    this.#ticking ??= setInterval(() => this.#tick(), TICK);
    return body;
  }

  /** A listener stops, or wants its callers to come again. */
  end(gate: Gate): void {
    for (const stream of this.#open) if (stream.gate === gate) this.#end(stream);
  }

  #tick(): void {
    for (const stream of this.#open) {
      const quiet = performance.now() - stream.at;
      if (quiet >= STUCK || !stream.isWelcome()) this.#end(stream);
      else if (quiet >= QUIET) write(stream, EMPTY);
    }
    void this.#look();
  }

  async #look(): Promise<void> {
    // They all watch the same appliance: one asks for everybody. A slow disk is asked once.
    const [any] = this.#open;
    if (any === undefined || this.#looking) return;
    this.#looking = true;
    try {
      const reply = await any.status();
      const gist = gistOf(reply);
      const news = [...this.#open].filter(({ sent }) => sent !== gist);
      if (news.length === 0) return;
      const line = lineOf(reply);
      for (const stream of news) if (write(stream, line)) stream.sent = gist;
    } catch (error) {
      // A disk that failed cannot be asked: what there is to tell comes when it can be.
      if (faultOf(error) === null) log.error("status stream update failed", { error });
    } finally {
      this.#looking = false;
    }
  }

  #end(stream: Stream): void {
    this.#forget(stream);
    stream.lines.close();
  }

  #forget(stream: Stream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0 || this.#ticking === null) return;
    clearInterval(this.#ticking);
    this.#ticking = null;
  }
}

/** False: it has not read what it was sent before, and gets the next one instead. */
function write(stream: Stream, line: Uint8Array): boolean {
  if ((stream.lines.desiredSize ?? 0) <= 0) return false;
  stream.lines.enqueue(line);
  stream.at = performance.now();
  return true;
}

const encoder = new TextEncoder();
const EMPTY = encoder.encode("\n");

const lineOf = (status: StatusReply): Uint8Array =>
  encoder.encode(`${JSON.stringify({ status })}\n`);

/** A tenth of a GiB, nearly. */
const ROUGHLY = 2 ** 27;

/** All that is worth a line: not the time, and not what every heartbeat changes. */
function gistOf({ now: _now, storage, ...status }: StatusReply): string {
  const { seq: _seq, journal_bytes: _bytes, slowest_sync_ms: _slowest, ...told } = storage;
  const free = Math.round((told.free_bytes ?? 0) / ROUGHLY);
  return JSON.stringify({ ...status, ...told, free_bytes: free });
}
