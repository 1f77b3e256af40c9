import { signal } from "@preact/signals";
import type { AuditEntryReply } from "../../http/audit-entry.ts";
import type { AuditPageReply } from "../../http/routes/audit-log.ts";

type Ask = (query: Record<string, string>) => Promise<AuditPageReply>;

const PAGE = 50;

/** How often a page without a single event is passed over before somebody is asked. */
const PATIENCE = 5;

/** The record as it is being read: newest first, growing at both ends. */
export class Reading {
  /** Null: nothing has come yet. */
  readonly events = signal<readonly AuditEntryReply[] | null>(null);
  /** Newer than what is shown, and kept back until it can be shown without moving anything. */
  readonly waiting = signal<readonly AuditEntryReply[]>([]);
  /** Where to go on; null: the beginning of the record has been reached. */
  readonly next = signal<string | null>(null);
  /** How far back was looked. */
  readonly reached = signal<string | null>(null);

  readonly #ask: Ask;
  readonly #query: Record<string, string>;
  /** The newest page, when more came at once than fits before what is shown. */
  #restart: AuditPageReply | null = null;

  constructor(ask: Ask, query: Record<string, string>) {
    this.#ask = ask;
    this.#query = { ...query, limit: String(PAGE) };
  }

  /** The newest, or what is older than the oldest shown. */
  async older(): Promise<void> {
    for (let passed = 0; passed < PATIENCE; passed += 1) {
      const before = this.next.value;
      const reply = await this.#ask({ ...this.#query, ...(before !== null && { before }) });
      // Asked twice at once, the same page came twice.
      if (before !== this.next.value) return;
      this.#append(reply);
      if (reply.events.length > 0 || reply.next === null) return;
    }
  }

  /** Something may have happened. */
  async newer(): Promise<void> {
    const shown = this.events.value;
    if (shown === null) return;
    const reply = await this.#ask(this.#query);
    if (this.events.value !== shown) return;
    const known = shown[0]?.seq ?? 0;
    const fresh = reply.events.filter(({ seq }) => seq > known);
    const isGap = fresh.length === reply.events.length && reply.next !== null;
    this.#restart = isGap ? reply : null;
    this.waiting.value = fresh;
  }

  /** What was kept back takes its place on top. */
  show(): void {
    const fresh = this.waiting.value;
    if (fresh.length === 0) return;
    this.waiting.value = [];
    if (this.#restart === null) {
      this.events.value = [...fresh, ...(this.events.value ?? [])];
      return;
    }
    const { next, scanned_until } = this.#restart;
    this.#restart = null;
    this.events.value = fresh;
    this.next.value = next;
    this.reached.value = scanned_until;
  }

  #append({ events, next, scanned_until }: AuditPageReply): void {
    this.events.value = [...(this.events.value ?? []), ...events];
    this.next.value = next;
    this.reached.value = scanned_until;
  }
}
