import { isReadableKey } from "../../domain/text/invisible-characters.ts";
import type { Instant } from "../../domain/time.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import type { DeskRecords } from "../desk-records.ts";
import { DeskRefused } from "../desk-refused.ts";
import type { CustomerEntry } from "../ledger/ledger-entries.ts";
import type { Customer, OrderIndex } from "./order-index.ts";

/** Not like a number that the vendor gave its customers before. */
const CUSTOMER_ID = /^cust-[1-9]\d*$/;
const MAX_NAME_LENGTH = 256;

/** The customers of the ledger, and those that are about to be added. */
export class CustomerBook {
  readonly #index: OrderIndex;
  readonly #at: string;
  #names: Map<string, Customer> | null = null;
  readonly added: CustomerEntry[] = [];

  constructor(index: OrderIndex, at: string) {
    this.#index = index;
    this.#at = at;
  }

  /** Made when it is needed first: many changes name no customer. */
  get #byName(): Map<string, Customer> {
    this.#names ??= new Map(this.#index.customers().map((known) => [foldName(known.name), known]));
    return this.#names;
  }

  find(id: string): Customer | null {
    const added = this.added.find(({ customer }) => customer === id);
    return added === undefined ? this.#index.findCustomer(id) : { id, name: added.name };
  }

  /** Finds by id or by name, whose case does not matter; adds a new name. */
  findOrAdd(idOrName: string): Customer {
    const known = this.findKnown(idOrName);
    if (known !== null) return known;
    const name = readName(idOrName);
    const id = this.#index.nextCustomerId(this.added.length);
    this.added.push({ type: "customer", at: this.#at, customer: id, name });
    this.#byName.set(foldName(name), { id, name });
    return { id, name };
  }

  /** Null: a name that no customer has. */
  findKnown(idOrName: string): Customer | null {
    const text = idOrName.trim();
    if (!CUSTOMER_ID.test(text)) return this.#byName.get(foldName(text)) ?? null;
    const known = this.#index.findCustomer(text);
    if (known === null) throw unknownCustomer(text);
    return known;
  }

  get(idOrName: string): Customer {
    const known = this.findKnown(idOrName);
    if (known === null) throw unknownCustomer(idOrName);
    return known;
  }
}

const unknownCustomer = (text: string): DeskRefused =>
  new DeskRefused(
    `there is no customer ${text}`,
    "berth vendor customer list shows the customers and their ids",
  );

const foldName = (name: string): string => name.trim().normalize("NFC").toLowerCase();

function readName(text: string): string {
  const name = text.trim().normalize("NFC");
  if (name === "")
    throw new DeskRefused("the customer's name is empty", "name the customer, for example Initech");
  if (name.length > MAX_NAME_LENGTH || !isReadableKey(name)) {
    throw new DeskRefused(
      `the customer's name ${JSON.stringify(text)} has more than ${MAX_NAME_LENGTH} or invisible characters`,
      "choose a name that can be typed",
    );
  }
  return name;
}

export function renameCustomer(
  desk: DeskRecords,
  idOrName: string,
  newName: string,
  now: Instant,
): Promise<{ readonly before: Customer; readonly after: Customer }> {
  return desk.ledger.transact(async (append) => {
    const book = new CustomerBook(desk.ledger.orders, rfc3339(now));
    const before = book.get(idOrName);
    const name = readName(newName);
    if (CUSTOMER_ID.test(name)) {
      throw new DeskRefused(
        `${name} would be taken for the id of a customer`,
        `choose another name; berth vendor customer merge ${before.id} --into ID makes two customers one`,
      );
    }
    const other = book.findKnown(name);
    if (other !== null && other.id !== before.id) {
      throw new DeskRefused(
        `${name} is the name of customer ${other.id}`,
        `berth vendor customer merge ${before.id} --into ${other.id} makes them one`,
      );
    }
    if (name !== before.name)
      await append({ type: "customer", at: rfc3339(now), customer: before.id, name });
    return { before, after: { id: before.id, name } };
  });
}

/** From here on, the orders of the first customer are those of the second. */
export function mergeCustomers(
  desk: DeskRecords,
  idOrName: string,
  into: string,
  now: Instant,
): Promise<{ readonly merged: Customer; readonly into: Customer }> {
  return desk.ledger.transact(async (append) => {
    const book = new CustomerBook(desk.ledger.orders, rfc3339(now));
    const [merged, remaining] = [book.get(idOrName), book.get(into)];
    if (merged.id === remaining.id) {
      throw new DeskRefused(
        `both are customer ${remaining.id}, ${remaining.name}`,
        "name two different customers",
      );
    }
    const at = rfc3339(now);
    await append({ type: "customer-merged", at, customer: merged.id, into: remaining.id });
    return { merged, into: remaining };
  });
}
