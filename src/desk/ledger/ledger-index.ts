import { findEndingReceipt } from "../issuing/ending-receipt.ts";
import { comparableLicenseKey } from "../issuing/license-key.ts";
import { OrderIndex } from "../orders/order-index.ts";
import { Groups } from "./groups.ts";
import { licenseAtAppliance, type LicenseAtAppliance } from "./ledger-entries.ts";
import type {
  ForkEntry,
  IssuedEntry,
  KeyEntry,
  LedgerEntry,
  PolicyEntry,
  ReceiptEntry,
  SeenEntry,
  StatementEntry,
  TrustEntry,
  WrittenOffEntry,
} from "./ledger-entries.ts";
import type { StatementIndex, StatementPosition } from "./statement-index.ts";

/**
 * The entries of a ledger by what commands look for: a look-up must not grow with the ledger. Lists
 * are oldest first.
 */
export class LedgerIndex {
  readonly #issued: IssuedEntry[] = [];
  readonly #issuedTo = new Groups<string, IssuedEntry>();
  readonly #issuedAs = new Groups<number, IssuedEntry>();
  readonly #issuedUnder = new Groups<string, IssuedEntry>();
  readonly #receipts: ReceiptEntry[] = [];
  readonly #receiptsFor = new Groups<string, ReceiptEntry>();
  readonly #seenOf = new Groups<string, SeenEntry>();
  readonly #requestsOf = new Groups<string, SeenEntry | ForkEntry>();
  readonly #forks: ForkEntry[] = [];
  readonly #trust: TrustEntry[] = [];
  readonly #keys: KeyEntry[] = [];
  readonly #policies = new Groups<string, PolicyEntry>();
  readonly #statements: StatementIndex;
  readonly orders = new OrderIndex();

  constructor(statements: StatementIndex) {
    this.#statements = statements;
  }

  protected add(entry: LedgerEntry | StatementPosition): void {
    switch (entry.type) {
      case "issued":
        this.#issued.push(entry);
        this.#issuedTo.add(entry.appliance, entry);
        this.#issuedAs.add(entry.license_id, entry);
        if (entry.terms.license_key !== null)
          this.#issuedUnder.add(comparableLicenseKey(entry.terms.license_key), entry);
        return;
      case "received":
        this.#receipts.push(entry);
        return this.#receiptsFor.add(licenseAtAppliance(entry), entry);
      case "seen":
        this.#requestsOf.add(entry.appliance, entry);
        return this.#seenOf.add(entry.appliance, entry);
      case "forked":
        this.#forks.push(entry);
        return this.#requestsOf.add(entry.appliance, entry);
      case "trust":
        this.#trust.push(entry);
        return;
      case "key":
        this.#keys.push(entry);
        return;
      case "policy":
        return this.#policies.add(entry.policy_id, entry);
      case "statement":
      case "position":
        return this.#statements.add(entry);
      case "customer":
      case "customer-merged":
      case "order":
      case "order-closed":
      case "written-off":
      case "restored":
      case "restored-ended":
        return this.orders.add(entry);
      default:
        // A line of a later version with the same format says nothing to this one.
        return entry satisfies never;
    }
  }

  /** Every serial of every license, newest first. */
  issuedEntries(): IssuedEntry[] {
    return this.#issued.toReversed();
  }

  issuedTo(appliance: string): readonly IssuedEntry[] {
    return this.#issuedTo.get(appliance);
  }

  issuedAs(licenseId: number): readonly IssuedEntry[] {
    return this.#issuedAs.get(licenseId);
  }

  issuedUnder(licenseKey: string): readonly IssuedEntry[] {
    return this.#issuedUnder.get(comparableLicenseKey(licenseKey));
  }

  /** The serials of a license at one appliance. */
  serialsOf({ license_id, appliance }: LicenseAtAppliance): readonly IssuedEntry[] {
    return this.issuedAs(license_id).filter((entry) => entry.appliance === appliance);
  }

  /** Whether no serial of this license serves at its site any more, as far as the desk knows. */
  isEnded({ license_id, appliance }: LicenseAtAppliance): boolean {
    return (
      this.findReceipt({ license_id, appliance, serial: Infinity }) !== null ||
      this.findWriteOff({ license_id, appliance }) !== null
    );
  }

  /** Null: it was not written off, or a person issued it to this appliance again. */
  findWriteOff(license: LicenseAtAppliance): WrittenOffEntry | null {
    const writeOffs = this.orders.writeOffsOf(license.appliance);
    if (writeOffs.length === 0) return null;
    const newest = Math.max(...this.serialsOf(license).map(({ serial }) => serial));
    const isOfThis = (entry: WrittenOffEntry): boolean =>
      entry.license_id === license.license_id && entry.serial >= newest;
    return writeOffs.findLast(isOfThis) ?? null;
  }

  /** The receipt that ends this serial, and every renewal of it, at its site. */
  findReceipt(
    license: Pick<IssuedEntry, "license_id" | "appliance" | "serial">,
  ): ReceiptEntry | null {
    const receipts = this.receiptsFor(license);
    if (receipts.length === 0) return null;
    return findEndingReceipt(license.serial, this.serialsOf(license), receipts) ?? null;
  }

  receiptsFor(license: LicenseAtAppliance): readonly ReceiptEntry[] {
    return this.#receiptsFor.get(licenseAtAppliance(license));
  }

  receiptEntries(): readonly ReceiptEntry[] {
    return this.#receipts;
  }

  seenEntries(appliance: string): readonly SeenEntry[] {
    return this.#seenOf.get(appliance);
  }

  /** The `seen` and `forked` lines of an appliance. */
  requestEntries(appliance: string): readonly (SeenEntry | ForkEntry)[] {
    return this.#requestsOf.get(appliance);
  }

  forkEntries(): readonly ForkEntry[] {
    return this.#forks;
  }

  trustEntries(): readonly TrustEntry[] {
    return this.#trust;
  }

  keyEntries(): readonly KeyEntry[] {
    return this.#keys;
  }

  /** The documents that were signed under a name. */
  policiesNamed(policyId: string): readonly PolicyEntry[] {
    return this.#policies.get(policyId);
  }

  policyEntries(): readonly PolicyEntry[] {
    return this.#policies.keys().flatMap((id) => this.policiesNamed(id));
  }

  /** The appliances that sent usage statements. */
  statementSenders(): string[] {
    return this.#statements.senders();
  }

  statementsOf(appliance: string): readonly StatementEntry[] {
    return this.#statements.of(appliance);
  }

  /** The one of any appliance that was received last. */
  lastStatement(): StatementEntry | null {
    return this.#statements.last();
  }
}
