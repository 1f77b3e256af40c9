import { signal } from "@preact/signals";
import type { AuditEntryReply } from "../../http/audit-entry.ts";
import type { AuditPageReply } from "../../http/routes/audit-log.ts";

type FetchAuditPage = (query: Record<string, string>) => Promise<AuditPageReply>;

const PAGE_SIZE = 50;

/** How often a page without a single event is passed over before somebody is asked. */
const MAX_EMPTY_PAGES = 5;

/** The record as it is being read: newest first, growing at both ends. */
export class AuditReader {
  /** Null: nothing has come yet. */
  readonly events = signal<readonly AuditEntryReply[] | null>(null);
  /** Newer than what is shown, and kept back until it can be shown without moving anything. */
  readonly pendingEvents = signal<readonly AuditEntryReply[]>([]);
  /** Where to go on; null: the beginning of the record has been reached. */
  readonly nextCursor = signal<string | null>(null);
  /** How far back was looked. */
  readonly scannedUntil = signal<string | null>(null);

  readonly #ask: FetchAuditPage;
  readonly #query: Record<string, string>;
  /** The newest page, when more came at once than fits before what is shown. */
  #restart: AuditPageReply | null = null;

  constructor(ask: FetchAuditPage, query: Record<string, string>) {
    this.#ask = ask;
    this.#query = { ...query, limit: String(PAGE_SIZE) };
  }

  /** The newest, or what is older than the oldest shown. */
  async loadOlder(): Promise<void> {
    for (let passed = 0; passed < MAX_EMPTY_PAGES; passed += 1) {
      const before = this.nextCursor.value;
      const reply = await this.#ask({ ...this.#query, ...(before !== null && { before }) });
      // Asked twice at once, the same page came twice.
      if (before !== this.nextCursor.value) return;
      this.#append(reply);
      if (reply.events.length > 0 || reply.next === null) return;
    }
  }

  /** Something may have happened. */
  async loadNewer(): Promise<void> {
    const shown = this.events.value;
    if (shown === null) return;
    const reply = await this.#ask(this.#query);
    if (this.events.value !== shown) return;
    const known = shown[0]?.seq ?? 0;
    const fresh = reply.events.filter(({ seq }) => seq > known);
    const isGap = fresh.length === reply.events.length && reply.next !== null;
    this.#restart = isGap ? reply : null;
    this.pendingEvents.value = fresh;
  }

  /** What was kept back takes its place on top. */
  showPending(): void {
    const fresh = this.pendingEvents.value;
    if (fresh.length === 0) return;
    this.pendingEvents.value = [];
    if (this.#restart === null) {
      this.events.value = [...fresh, ...(this.events.value ?? [])];
      return;
    }
    const { next, scanned_until } = this.#restart;
    this.#restart = null;
    this.events.value = fresh;
    this.nextCursor.value = next;
    this.scannedUntil.value = scanned_until;
  }

  #append({ events, next, scanned_until }: AuditPageReply): void {
    this.events.value = [...(this.events.value ?? []), ...events];
    this.nextCursor.value = next;
    this.scannedUntil.value = scanned_until;
  }
}
