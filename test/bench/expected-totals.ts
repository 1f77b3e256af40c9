// Compares what the load generator was acknowledged with what the server shows afterwards: every
// slot once, every consumption once, and never more slots than there are.
import { CONTESTED_PRODUCT, CONTESTED_SLOTS, FULL_PRODUCT, PRODUCT } from "./populated-site.ts";
import { describeErrors, type LoadKind, type LoadOutcome } from "./load-plan.ts";

interface LicenseTotals {
  readonly floating_users: number;
  readonly floating_in_use_devices: number;
  readonly total_consumptions: number;
}

/** One for each license server. */
export class ExpectedTotals {
  readonly #url: string;
  readonly #mismatches: string[] = [];
  #slotsHeld: number;
  #consumed = 0;

  /** `slotsHeld`: how many slots are in use before the first run. */
  constructor(url: string, slotsHeld: number) {
    this.#url = url;
    this.#slotsHeld = slotsHeld;
  }

  get mismatches(): readonly string[] {
    return this.#mismatches;
  }

  /** `run` names the run in the mismatches. */
  async compareAfterRun(kind: LoadKind, run: string, outcome: LoadOutcome): Promise<void> {
    const { granted, released, consumed, mostHeld } = outcome;
    this.#mismatches.push(...describeErrors(run, outcome));
    const isContested = kind === "contest";
    if (!isContested) this.#slotsHeld += granted - released;
    this.#consumed += consumed;
    const [main, full, contested] = await Promise.all(
      [PRODUCT, FULL_PRODUCT, CONTESTED_PRODUCT].map(this.#readTotals),
    );
    const contestedHeld = isContested ? granted - released : 0;
    this.#expect(`${run}: slots held`, main?.floating_in_use_devices, this.#slotsHeld);
    this.#expect(`${run}: consumption`, main?.total_consumptions, this.#consumed);
    this.#expect(`${run}: slots held of the full license`, full?.floating_in_use_devices, 1);
    this.#expect(
      `${run}: slots held of the contested license`,
      contested?.floating_in_use_devices,
      contestedHeld,
    );
    const slots = main?.floating_users ?? 0;
    this.#checkLimit(run, mostHeld, isContested ? CONTESTED_SLOTS : slots);
    this.#checkLimit(run, this.#slotsHeld, slots);
  }

  async readSlotsHeld(): Promise<number> {
    return (await this.#readTotals(PRODUCT)).floating_in_use_devices;
  }

  #checkLimit(run: string, slotsHeld: number, slots: number): void {
    if (slotsHeld > slots)
      this.#mismatches.push(`${run}: ${slotsHeld} slots were held at once, of ${slots}`);
  }

  #expect(total: string, shown: number | undefined, expected: number): void {
    if (shown !== expected) this.#mismatches.push(`${total}: ${shown}, acknowledged: ${expected}`);
  }

  readonly #readTotals = async (product: string): Promise<LicenseTotals> => {
    const response = await fetch(`${this.#url}/api/v4/license?product=${product}`);
    return (await response.json()) as LicenseTotals;
  };
}
