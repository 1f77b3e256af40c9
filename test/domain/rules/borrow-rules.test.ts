import { describe, test } from "bun:test";
import type { BorrowRules } from "../../../src/domain/model/rules/rule-set.ts";
import { HOUR, later } from "../../../src/domain/time.ts";
import { capped, notAllowed } from "../../support/rule-faults.ts";
import {
  applyRules,
  borrowRules,
  group,
  named,
  poolRules,
  ruleSet,
} from "../../support/rule-sets.ts";
import {
  borrow,
  given,
  hoursLater,
  licenseInstalled,
  MONDAY,
  register,
  renew,
  unregister,
  type History,
} from "../../support/scenario.ts";

const GROUPS = [group("field", { users: ["ada", "eve"] }), group("lab", { users: ["bob"] })];
const UNRULED = given(licenseInstalled(1, { slots: 4, borrowHours: 72 }));

const withRules = (site: History, rules: Partial<BorrowRules>): History =>
  site
    .at(MONDAY)
    .execute(applyRules(ruleSet(GROUPS, poolRules("cad", { borrow: borrowRules(rules) }))));

describe("rules about who may borrow", () => {
  const denied = withRules(UNRULED, { deny: named("lab") });
  const allowed = withRules(UNRULED, { allowOnly: named("field") });

  test("refuse the borrow of a denied group, not its use", () => {
    denied
      .at(MONDAY)
      .when(borrow("bob"))
      .refuses(notAllowed("borrow_deny", "lab", 1));
    denied.at(MONDAY).when(borrow("ada")).records({ type: "SlotTaken" }, { type: "SlotBorrowed" });
    denied.at(MONDAY).when(register("bob")).records({ type: "SlotTaken" });
  });

  test("refuse the borrow of others than those of allow_only", () => {
    allowed
      .at(MONDAY)
      .when(borrow("bob"))
      .refuses(notAllowed("borrow_allow_only", null, 1));
    allowed.at(MONDAY).when(borrow("ada")).records({ type: "SlotTaken" }, { type: "SlotBorrowed" });
  });

  test("refuse to borrow a slot that the user holds already", () => {
    denied
      .at(MONDAY)
      .execute(register("bob"))
      .at(MONDAY)
      .when(borrow("bob"))
      .refuses(notAllowed("borrow_deny", "lab", 1));
  });

  test("refuse a later end of a borrow, and no earlier one, and no return", () => {
    const borrowed = UNRULED.at(MONDAY).execute(borrow("bob", hoursLater(8)));
    const site = withRules(borrowed, { deny: named("lab") });
    site
      .at(MONDAY)
      .when(borrow("bob", hoursLater(9)))
      .refuses(notAllowed("borrow_deny", "lab", 1));
    site
      .at(MONDAY)
      .when(borrow("bob", hoursLater(8)))
      .records({ type: "SlotBorrowed" });
    site
      .at(MONDAY)
      .when(borrow("bob", hoursLater(7)))
      .records({ type: "SlotBorrowed", early: true });
    site.at(MONDAY).when(unregister("bob")).records({ type: "SlotReleased" });
    site.at(MONDAY).when(register("bob")).records({ type: "SlotRenewed" });
  });
});

describe("a rule about the length of borrows", () => {
  const site = withRules(UNRULED, { maxHours: { hours: 8, line: 5 } });

  test("limits an end that is later, and names the rule", () => {
    site
      .at(MONDAY)
      .when(borrow("ada", hoursLater(8)))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", until: hoursLater(8) });
    site
      .at(MONDAY)
      .when(borrow("ada", hoursLater(9)))
      .refuses({
        code: "borrow_until_not_valid",
        latest: hoursLater(8),
        rule: { hours: 8, line: 5 },
      });
  });

  test("is the length of a borrow without an end", () => {
    site
      .at(MONDAY)
      .when(borrow("ada"))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed", until: hoursLater(8) });
  });

  test("allows a borrow that is longer already to be shortened to any end", () => {
    const borrowed = UNRULED.at(MONDAY).execute(borrow("ada", hoursLater(48)));
    const longer = withRules(borrowed, { maxHours: { hours: 8, line: 5 } });
    longer
      .at(MONDAY)
      .when(borrow("ada", hoursLater(40)))
      .records({ type: "SlotBorrowed", until: hoursLater(40) });
    longer
      .at(MONDAY)
      .when(borrow("ada", hoursLater(49)))
      .refuses({
        code: "borrow_until_not_valid",
        latest: hoursLater(48),
        rule: { hours: 8, line: 5 },
      });
  });

  test("does not lengthen what the license allows", () => {
    withRules(UNRULED, { maxHours: { hours: 500, line: 5 } })
      .at(MONDAY)
      .when(borrow("ada", hoursLater(100)))
      .refuses({ code: "borrow_until_not_valid", latest: later(MONDAY, 72 * HOUR) });
  });
});

describe("a rule about the number of borrows", () => {
  const one = withRules(UNRULED, { maxSlots: { slots: 1, line: 6 } })
    .at(MONDAY)
    .execute(borrow("ada", hoursLater(8)));

  test("refuses one more than it allows, until one ends", () => {
    one
      .at(MONDAY)
      .when(borrow("bob"))
      .refuses(capped("borrow_max_slots", "cad", 1, 6));
    one
      .at(hoursLater(8))
      .when(borrow("bob"))
      .records({ type: "SlotTaken" }, { type: "SlotBorrowed" });
  });

  test("does not count the caller's borrow against it", () => {
    one
      .at(MONDAY)
      .when(borrow("ada", hoursLater(9)))
      .records({ type: "SlotBorrowed" });
  });

  test("counts over all licenses of the product", () => {
    given(...one.events, licenseInstalled(2, { borrowHours: 72 }))
      .at(MONDAY)
      .when(borrow("bob", null, { licenseId: 2 }))
      .refuses(capped("borrow_max_slots", "cad", 1, 6));
  });

  test("leaves as many slots as keep_home says for use at the site", () => {
    const three = withRules(UNRULED, { keepHome: { slots: 1, line: 7 } })
      .at(MONDAY)
      .execute(borrow("ada"), borrow("bob"), borrow("eve"));
    three
      .at(MONDAY)
      .when(borrow("zoe"))
      .refuses(capped("borrow_keep_home", "cad", 1, 7));
    three.at(MONDAY).when(register("zoe")).records({ type: "SlotTaken" });
  });

  test("keeps no slot with keep_home = 0, even if fewer slots are left than are borrowed", () => {
    const shrunk = withRules(UNRULED, { keepHome: { slots: 0, line: 7 } })
      .at(MONDAY)
      .execute(borrow("ada"), borrow("bob"), register("zoe"), renew(1, 2, { slots: 1 }));
    shrunk.at(MONDAY).when(borrow("zoe")).records({ type: "SlotBorrowed" });
  });

  test("does not count the slots of a license that has ended for keep_home", () => {
    const validUntil = hoursLater(1);
    const ended = licenseInstalled(2, { slots: 4, borrowHours: 72, validUntil });
    const three = withRules(given(...UNRULED.events, ended), { keepHome: { slots: 1, line: 7 } })
      .at(MONDAY)
      .execute(...["ada", "bob", "eve"].map((user) => borrow(user, null, { licenseId: 1 })));
    three.at(MONDAY).when(borrow("zoe")).records({ type: "SlotTaken" }, { type: "SlotBorrowed" });
    three
      .at(validUntil)
      .when(borrow("zoe"))
      .refuses(capped("borrow_keep_home", "cad", 1, 7));
  });
});
