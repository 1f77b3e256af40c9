// What the generator was acknowledged must be what the server says afterwards: every slot once,
// every count once, and never more slots than there are.
import { CONTESTED_PRODUCT, CONTESTED_SLOTS, FULL_PRODUCT, PRODUCT } from "./populated-site.ts";
import type { LoadKind, LoadOutcome } from "./load-plan.ts";

interface LicenseTotals {
  readonly floating_users: number;
  readonly floating_in_use_devices: number;
  readonly total_consumptions: number;
}

/** One for each server that lends slots. */
export class ExpectedTotals {
  readonly #url: string;
  readonly #wrong: string[] = [];
  #held: number;
  #consumed = 0;

  /** `held`: how many slots are taken before anything is asked. */
  constructor(url: string, held: number) {
    this.#url = url;
    this.#held = held;
  }

  get mismatches(): readonly string[] {
    return this.#wrong;
  }

  /** After a run: what does the server say? */
  async compareAfterRun(kind: LoadKind, what: string, outcome: LoadOutcome): Promise<void> {
    const { granted, released, consumed, mostHeld, errors } = outcome;
    for (const [error, count] of Object.entries(errors)) {
      this.#wrong.push(`${what}: ${count} times ${error}`);
    }
    const contested = kind === "contest";
    if (!contested) this.#held += granted - released;
    this.#consumed += consumed;
    const [main, full, fought] = await Promise.all(
      [PRODUCT, FULL_PRODUCT, CONTESTED_PRODUCT].map(this.#show),
    );
    const left = contested ? granted - released : 0;
    this.#expect(`${what}: slots held`, main?.floating_in_use_devices, this.#held);
    this.#expect(`${what}: consumption`, main?.total_consumptions, this.#consumed);
    this.#expect(`${what}: slots held of the full license`, full?.floating_in_use_devices, 1);
    this.#expect(`${what}: slots held of the contested one`, fought?.floating_in_use_devices, left);
    const slots = main?.floating_users ?? 0;
    this.#limit(what, mostHeld, contested ? CONTESTED_SLOTS : slots);
    this.#limit(what, this.#held, slots);
  }

  #limit(what: string, held: number, slots: number): void {
    if (held > slots) this.#wrong.push(`${what}: ${held} slots were held at once, of ${slots}`);
  }

  #expect(what: string, found: number | undefined, expected: number): void {
    if (found !== expected) this.#wrong.push(`${what}: ${found}, acknowledged: ${expected}`);
  }

  readonly #show = async (product: string): Promise<LicenseTotals> => {
    const response = await fetch(`${this.#url}/api/v4/license?product=${product}`);
    return (await response.json()) as LicenseTotals;
  };
}
