import { describe, expect, test } from "bun:test";
import { answerTo, makeRequestCommand, requestIdFor, VENDOR } from "../../support/new-site.ts";
import {
  justBefore,
  borrow,
  consume,
  consumptionTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  remove,
  renew,
  replayEvents,
} from "../../support/scenario.ts";

describe("returning a license", () => {
  const inUse = given(
    licenseInstalled(1, { consumption: consumptionTerms(), slots: 3 }),
    licenseInstalled(2),
  )
    .at(MONDAY)
    .execute(consume(4, { licenseId: 1 }), borrow("ada", hoursLater(8), { licenseId: 1 }));
  const tombstone = { license: 1, serial: 1, vendor: VENDOR.vendor, product: "cad", total: 4 };

  test("removes it and keeps its total in a tombstone", () => {
    const afterBorrow = inUse.at(hoursLater(8));
    afterBorrow
      .when(remove(1))
      .records({ type: "LicenseRemoved", license: 1 })
      .answers({ ...tombstone, at: hoursLater(8), borrows: [] });
    const state = replayEvents(afterBorrow.execute(remove(1)).events);
    expect([...state.licenses.keys()]).toEqual([2]);
    expect(state.products.get("cad")?.map(({ id }) => id)).toEqual([2]);
  });

  test("is refused while its slots are borrowed, unless the borrows are included", () => {
    inUse.at(minutesLater(1)).when(remove(1)).refuses({ code: "slots_borrowed", slots: 1 });
    inUse
      .at(justBefore(hoursLater(8)))
      .when(remove(1))
      .refuses({ code: "slots_borrowed", slots: 1 });
    inUse
      .at(minutesLater(1))
      .when(remove(1, true))
      .answers({ ...tombstone, borrows: ["ada"] });
  });

  test("is not blocked by registrations without a borrow", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .execute(register("ada"))
      .at(MONDAY)
      .when(remove(1))
      .answers({
        borrows: [],
      });
  });

  test("again answers with the same tombstone and writes nothing", () => {
    const removed = inUse.at(minutesLater(1)).execute(remove(1, true));
    const tombstoneBefore = replayEvents(removed.events).tombstones.get(1);
    expect(tombstoneBefore).toMatchObject({ at: minutesLater(1), borrows: ["ada"] });
    removed
      .at(hoursLater(9))
      .when(remove(1))
      .records()
      .answers({ ...tombstoneBefore });
  });

  test("is refused for a license that was never installed", () => {
    inUse.at(MONDAY).when(remove(3)).refuses({ code: "license_not_found" });
  });

  test("prevents its installation with an old serial, and allows a newer one", () => {
    const removed = given(licenseInstalled(1)).at(MONDAY).execute(renew(1, 5), remove(1));
    const withRequest = removed.at(MONDAY).execute(makeRequestCommand("anew"));
    const answerWithSerial = (serial: number) => ({
      ...renew(1, serial),
      answers: answerTo("anew"),
    });
    const lateAnswer = { ...renew(1, 6), answers: answerTo(requestIdFor(1)) };
    removed.at(MONDAY).when(lateAnswer).refuses({ code: "request_unknown" });
    const returned = { license: 1, at: MONDAY };
    removed
      .at(MONDAY)
      .when(answerWithSerial(5))
      .refuses({ code: "stale_license", serial: 5, returned });
    removed
      .at(MONDAY)
      .when(answerWithSerial(4))
      .refuses({ code: "stale_license", serial: 5, returned });
    removed.at(MONDAY).when(renew(1, 6)).refuses({ code: "request_unknown", returned });
    removed.at(MONDAY).when(renew(2, 6)).refuses({ code: "request_unknown" });
    withRequest
      .at(MONDAY)
      .when(answerWithSerial(6))
      .records({ type: "LicenseInstalled", license: 1 });
    const { licenses } = replayEvents(withRequest.at(MONDAY).execute(answerWithSerial(6)).events);
    expect(licenses.get(1)?.counter.total).toBe(0);
  });

  test("removes its product when it was the last license of that product", () => {
    const removed = given(licenseInstalled(1)).at(MONDAY).execute(remove(1));
    removed.at(MONDAY).when(register("ada")).refuses({ code: "license_not_found" });
  });
});
