import type { Instant } from "../../src/domain/time.ts";
import { PRODUCTS } from "./generate.ts";
import type { SharingModel } from "./model.ts";
import type { RealSite } from "./real-site.ts";

interface Slot {
  readonly license: number;
  readonly feature: string | null;
  readonly user: string;
  readonly end: Instant;
  readonly borrowedUntil: Instant | null;
}

/** Who holds what, and who waits, of the rules and of the model; both lists must be equal. */
export function listDifferences(
  real: RealSite,
  model: SharingModel,
  at: Instant,
): { readonly realList: readonly string[]; readonly modelList: readonly string[] } {
  const describe = ({ license, feature, user, end, borrowedUntil }: Slot): string => {
    const borrow = borrowedUntil !== null && borrowedUntil > at ? borrowedUntil : null;
    return JSON.stringify(["slot", license, feature, user, end, borrow]);
  };
  const isLive = ({ end }: Slot): boolean => end > at;
  const realPlaces = PRODUCTS.flatMap((product) =>
    [...(real.state.queues.get(product)?.places ?? [])].map(({ user, licenseId, hold }) =>
      JSON.stringify(["place", product, user, licenseId, hold?.license ?? null]),
    ),
  );
  const modelPlaces = model.places.map(({ product, user, licenseId, hold }) =>
    JSON.stringify(["place", product, user, licenseId, hold]),
  );
  const realOrder = PRODUCTS.map((product) => real.listByService(product, at));
  const modelOrder = PRODUCTS.map((product) => model.listByService(product, at));
  return {
    realList: [
      ...real.listHolders().filter(isLive).map(describe),
      ...realPlaces,
      ...realOrder.map(describeOrder),
    ].toSorted(),
    modelList: [
      ...model.holders.filter(isLive).map(describe),
      ...modelPlaces,
      ...modelOrder.map(describeOrder),
    ].toSorted(),
  };
}

const describeOrder = (users: readonly string[], index: number): string =>
  JSON.stringify(["order", PRODUCTS[index], users]);
