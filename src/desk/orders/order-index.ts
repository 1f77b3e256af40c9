import { compareTexts } from "../../domain/text/compare-texts.ts";
import { comparableLicenseKey } from "../issuing/license-key.ts";
import { Groups } from "../ledger/groups.ts";
import { licenseAtAppliance, type LicenseAtAppliance } from "../ledger/ledger-entries.ts";
import type {
  CustomerEntry,
  CustomerMergedEntry,
  OrderClosedEntry,
  OrderEntry,
  RestoredEndedEntry,
  RestoredEntry,
  WrittenOffEntry,
} from "../ledger/ledger-entries.ts";

export type OrderLine =
  | CustomerEntry
  | CustomerMergedEntry
  | OrderEntry
  | OrderClosedEntry
  | WrittenOffEntry
  | RestoredEntry
  | RestoredEndedEntry;

export interface Customer {
  readonly id: string;
  readonly name: string;
}

/** What the ledger says of customers, orders and write-offs. */
export class OrderIndex {
  readonly #customers = new Map<string, Customer>();
  readonly #mergedInto = new Map<string, string>();
  readonly #orders = new Map<string, OrderEntry>();
  readonly #closed = new Map<string, OrderClosedEntry>();
  /** The key of the order that an adopted license belongs to. */
  readonly #adoptedBy = new Map<string, string>();
  readonly #writeOffs: WrittenOffEntry[] = [];
  readonly #writeOffsOf = new Groups<string, WrittenOffEntry>();
  #customerCount = 0;
  /** Licenses that the ledger lacks, and that began the state of a restored desk already. */
  readonly #unknown = new Set<string>();
  #restored: RestoredEntry | null = null;

  add(entry: OrderLine): void {
    switch (entry.type) {
      case "customer":
        if (!this.#customers.has(entry.customer)) this.#customerCount += 1;
        this.#customers.set(entry.customer, { id: entry.customer, name: entry.name });
        return;
      case "customer-merged":
        this.#mergedInto.set(entry.customer, entry.into);
        return;
      case "order":
        this.#orders.set(entry.license_key, entry);
        for (const license of entry.adopted ?? [])
          this.#adoptedBy.set(licenseAtAppliance(license), entry.license_key);
        return;
      case "order-closed":
        this.#closed.set(entry.license_key, entry);
        return;
      case "written-off":
        this.#writeOffs.push(entry);
        return this.#writeOffsOf.add(entry.appliance, entry);
      case "restored":
        this.#restored ??= entry;
        if (entry.license !== undefined) this.#unknown.add(nameSerial(entry.license));
        return;
      case "restored-ended":
        this.#restored = null;
        return;
      default:
        return entry satisfies never;
    }
  }

  /** Those that were not merged into another one, by name. */
  customers(): Customer[] {
    return [...this.#customers.values()]
      .filter(({ id }) => !this.#mergedInto.has(id))
      .toSorted((a, b) => compareTexts(a.name, b.name));
  }

  /** The customer with this id, or the one that it was merged into. */
  findCustomer(id: string): Customer | null {
    let found = id;
    for (let next = this.#mergedInto.get(found); next !== undefined;)
      next = this.#mergedInto.get((found = next));
    return this.#customers.get(found) ?? null;
  }

  /** An id that no customer has had. */
  nextCustomerId(count = 0): string {
    return `cust-${this.#customerCount + count + 1}`;
  }

  /** Oldest first. */
  orders(): OrderEntry[] {
    return [...this.#orders.values()];
  }

  findOrder(licenseKey: string): OrderEntry | null {
    return this.#orders.get(comparableLicenseKey(licenseKey)) ?? null;
  }

  /** Null: the order is open, or there is none. */
  findClosing(licenseKey: string): OrderClosedEntry | null {
    return this.#closed.get(comparableLicenseKey(licenseKey)) ?? null;
  }

  /** The key of the order that a license belongs to although it was issued without its key. */
  adoptingKey(license: LicenseAtAppliance): string | null {
    return this.#adoptedBy.get(licenseAtAppliance(license)) ?? null;
  }

  /** Oldest first. */
  writeOffs(): readonly WrittenOffEntry[] {
    return this.#writeOffs;
  }

  writeOffsOf(appliance: string): readonly WrittenOffEntry[] {
    return this.#writeOffsOf.get(appliance);
  }

  /** Whether it is on the ledger that a site has this license. */
  isKnownUnknown(license: NonNullable<RestoredEntry["license"]>): boolean {
    return this.#unknown.has(nameSerial(license));
  }

  /** Why only holders are answered automatically; null: they are not the only ones. */
  get restored(): RestoredEntry | null {
    return this.#restored;
  }
}

const nameSerial = ({ serial, ...license }: NonNullable<RestoredEntry["license"]>): string =>
  `${licenseAtAppliance(license)} ${serial}`;
