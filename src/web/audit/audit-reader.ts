import { signal } from "@preact/signals";
import type { AuditEntryReply } from "../../http/routes/audit/audit-entry.ts";
import type { AuditPageReply } from "../../http/routes/audit/audit-log.ts";

type FetchAuditPage = (query: Record<string, string>) => Promise<AuditPageReply>;

const PAGE_SIZE = 50;

/** How many pages without a match are skipped before the user has to ask for more. */
const MAX_EMPTY_PAGES = 5;

/** The entries of the audit log that are loaded: newest first, growing at both ends. */
export class AuditReader {
  /** Null: no page is loaded yet. */
  readonly events = signal<readonly AuditEntryReply[] | null>(null);
  /** Newer than the shown events; held back until showing them does not move the list. */
  readonly pendingEvents = signal<readonly AuditEntryReply[]>([]);
  /** Where the next page starts; null: the start of the audit log is reached. */
  readonly nextCursor = signal<string | null>(null);
  /** How far back the server has searched. */
  readonly scannedUntil = signal<string | null>(null);

  readonly #fetchPage: FetchAuditPage;
  readonly #query: Record<string, string>;
  /** The newest page, when it does not connect to the shown events without a gap. */
  #replacement: AuditPageReply | null = null;

  constructor(fetchPage: FetchAuditPage, query: Record<string, string>) {
    this.#fetchPage = fetchPage;
    this.#query = { ...query, limit: String(PAGE_SIZE) };
  }

  /**
   * Loads the newest page first, then older ones. Lines before the period do not end the search at
   * once: after the server's time was set back, older lines can have later times.
   */
  async loadOlder(): Promise<void> {
    for (let pages = 0; pages < MAX_EMPTY_PAGES; pages += 1) {
      const before = this.nextCursor.value;
      const reply = await this.#fetchPage({ ...this.#query, ...(before !== null && { before }) });
      // Two concurrent calls fetched the same page: keep it once.
      if (before !== this.nextCursor.value) return;
      this.#append(reply);
      if (reply.next === null || (reply.events.length > 0 && !this.#isBeforePeriod(reply))) return;
    }
  }

  /** Fetches events that are newer than the shown ones. */
  async loadNewer(): Promise<void> {
    const shown = this.events.value;
    if (shown === null) return;
    const reply = await this.#fetchPage(this.#query);
    if (this.events.value !== shown) return;
    const newestSeq = shown[0]?.seq ?? 0;
    const newEvents = reply.events.filter(({ seq }) => seq > newestSeq);
    const isGap = newEvents.length === reply.events.length && reply.next !== null;
    this.#replacement = isGap ? reply : null;
    this.pendingEvents.value = newEvents;
  }

  /** Moves the pending events to the top of the list. */
  showPending(): void {
    const pending = this.pendingEvents.value;
    if (pending.length === 0) return;
    this.pendingEvents.value = [];
    if (this.#replacement === null) {
      this.events.value = [...pending, ...(this.events.value ?? [])];
      return;
    }
    const { next, scanned_until } = this.#replacement;
    this.#replacement = null;
    this.events.value = pending;
    this.nextCursor.value = next;
    this.scannedUntil.value = scanned_until;
  }

  #isBeforePeriod({ scanned_until }: AuditPageReply): boolean {
    const { since } = this.#query;
    return since !== undefined && Date.parse(scanned_until ?? since) < Date.parse(since);
  }

  #append({ events, next, scanned_until }: AuditPageReply): void {
    this.events.value = [...(this.events.value ?? []), ...events];
    this.nextCursor.value = next;
    this.scannedUntil.value = scanned_until;
  }
}
