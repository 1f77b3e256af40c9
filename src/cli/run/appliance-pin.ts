import { APPLIANCE_HEADER } from "../../http/appliance-header.ts";

/**
 * The appliance that answered first. Several servers of one command are the hosts of a pair, which
 * are one appliance: a slot at an unrelated server would be a second slot.
 */
export class AppliancePin {
  #id: string | null = null;

  /** Why a reply is not used; null: it is of the same appliance, or of the first one. */
  findOther({ headers }: Response): string | null {
    const id = headers.get(APPLIANCE_HEADER);
    if (this.#id === null || id === null || id === this.#id) return null;
    return `is another appliance: ${id}, not ${this.#id}`;
  }

  /** Keeps the appliance of the first reply that decided. */
  keep({ headers }: Response): void {
    this.#id ??= headers.get(APPLIANCE_HEADER);
  }
}
