// A copy of the list of slots that is kept current as the documentation of the changes says.
import type { RegistrationReply } from "../../../../src/http/routes/slots/registrations.ts";
import type { RegistrationChangesReply } from "../../../../src/http/routes/slots/registrations-changes.ts";
import { expectOk, type Appliance } from "../../../support/appliance.ts";

export class RegistrationList {
  readonly #rows = new Map<string, RegistrationReply>();
  #cursor: string | null = null;
  /** How often the whole list was read. */
  reloads = 0;

  async update(site: Appliance): Promise<RegistrationChangesReply> {
    const since = this.#cursor === null ? "" : `?since=${this.#cursor}`;
    const reply = expectOk(
      await site.get<RegistrationChangesReply>(`/api/admin/v1/registrations/changes${since}`),
    );
    this.#cursor = reply.next;
    if (reply.reload) await this.#reload(site);
    else this.#apply(reply);
    return reply;
  }

  get rows(): readonly RegistrationReply[] {
    return sorted([...this.#rows.values()]);
  }

  async #reload(site: Appliance): Promise<void> {
    this.reloads += 1;
    this.#rows.clear();
    for (const row of expectOk(await site.registrations())) this.#rows.set(keyOf(row), row);
  }

  #apply({ changed, removed, renewed, now }: RegistrationChangesReply): void {
    for (const slot of removed) this.#rows.delete(keyOf(slot));
    for (const row of changed) this.#rows.set(keyOf(row), row);
    for (const renewal of renewed) {
      const row = this.#rows.get(keyOf(renewal));
      if (row !== undefined) this.#rows.set(keyOf(row), { ...row, ...renewal });
    }
    for (const [key, row] of this.#rows) {
      const isOver = row.borrowed_until !== null && row.borrowed_until <= now;
      if (isOver) this.#rows.set(key, { ...row, borrowed_until: null });
    }
  }
}

export const sorted = (rows: readonly RegistrationReply[]): readonly RegistrationReply[] =>
  rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

const keyOf = ({ license_id, user }: Pick<RegistrationReply, "license_id" | "user">): string =>
  `${license_id} ${user}`;
