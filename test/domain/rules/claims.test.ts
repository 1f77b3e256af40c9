import { describe, expect, test } from "bun:test";
import type { Fault, ReservedSlots } from "../../../src/domain/model/fault.ts";
import type { PoolRules } from "../../../src/domain/model/rules/rule-set.ts";
import type { Register } from "../../../src/domain/slots/register.ts";
import { takePlace } from "../../support/queue-commands.ts";
import { capped, notAllowed } from "../../support/rule-faults.ts";
import {
  applyRules,
  group,
  named,
  NO_RULES,
  poolRules,
  reserve,
  ruleSet,
} from "../../support/rule-sets.ts";
import {
  CONTACT,
  featureTerms,
  given,
  install,
  licenseInstalled,
  minutesLater,
  MONDAY,
  noFreeSlot,
  register,
  registerFeature,
  remove,
  unregister,
  type History,
} from "../../support/scenario.ts";

const GROUPS = [
  group("build", { users: ["bot*"] }),
  group("sim", { users: ["ada", "grace*"] }),
  group("staff", { users: ["ada", "bob", "grace*"] }),
];

/** A site with these slots of `cad`, and with rules for them. */
const ruled = (slots: number, rules: Partial<PoolRules>): History =>
  given(licenseInstalled(1, { slots }))
    .at(MONDAY)
    .execute(applyRules(ruleSet(GROUPS, poolRules("cad", rules))));

const from = (user: string, hostname: string, peer = "10.0.0.7"): Register =>
  register(user, { contact: { ...CONTACT, hostname, peer } });

const withReserved = (slots: number, reserved: readonly ReservedSlots[]): Fault =>
  ({ ...noFreeSlot(slots), reserved }) as Fault;

const reservedFor = (slots: number, ...groups: [string, number][]): Fault =>
  withReserved(
    slots,
    groups.map(([name, count]) => ({ slots: count, groups: [{ group: name, line: 7 }] })),
  );

describe("deny", () => {
  const site = ruled(5, { deny: named("build"), allowOnly: named("build", "sim") });

  test("refuses a member, and names the group and its line", () => {
    site
      .at(MONDAY)
      .when(register("bot-1"))
      .refuses(notAllowed("deny", "build", 1));
  });

  test("wins over allow_only, and does not concern others", () => {
    site.at(MONDAY).when(register("ada")).records({ type: "SlotTaken" });
  });

  test("does not concern another product", () => {
    given(...site.events, licenseInstalled(2, { product: "cam" }))
      .at(MONDAY)
      .when(register("bot-1", { product: "cam" }))
      .records({ type: "SlotTaken" });
  });
});

describe("allow_only", () => {
  const site = ruled(5, { allowOnly: named("sim") });

  test("refuses callers that are in none of its groups", () => {
    site
      .at(MONDAY)
      .when(register("bob"))
      .refuses(notAllowed("allow_only", null, 1));
  });

  test("names its first line, also if that is not the line of its first group by name", () => {
    const groups = [
      { group: "build", line: 9 },
      { group: "sim", line: 4 },
    ];
    ruled(5, { allowOnly: groups })
      .at(MONDAY)
      .when(register("bob"))
      .refuses(notAllowed("allow_only", null, 4));
  });

  test("grants slots to members, and does not count them", () => {
    site.at(MONDAY).when(register("grace.h")).records({ type: "SlotTaken" });
  });
});

describe("a limit for each user", () => {
  const site = ruled(5, { eachUser: { slots: 2, line: 4 } })
    .at(MONDAY)
    .execute(register("ada#1"), register("ada#2"));

  test("counts the instances of a person together", () => {
    site
      .at(MONDAY)
      .when(register("ada"))
      .refuses(capped("each_user", "ada", 2, 4));
    site.at(MONDAY).when(register("adam")).records({ type: "SlotTaken" });
  });

  test("is not reached any more at the end of a slot, written or not", () => {
    site
      .at(minutesLater(29))
      .when(register("ada"))
      .refuses(capped("each_user", "ada", 2, 4));
    site.at(minutesLater(30)).when(register("ada")).records({ type: "SlotTaken" });
  });

  test("is not reached any more after a slot was released", () => {
    site
      .at(MONDAY)
      .execute(unregister("ada#1"))
      .at(MONDAY)
      .when(register("ada"))
      .records({ type: "SlotTaken" });
  });

  test("counts over all licenses of the product", () => {
    given(...site.events, licenseInstalled(2, { slots: 5 }))
      .at(MONDAY)
      .when(register("ada", { licenseId: 2 }))
      .refuses(capped("each_user", "ada", 2, 4));
  });

  test("does not count the slots of a license that was returned", () => {
    given(...site.events, licenseInstalled(2, { slots: 5 }))
      .at(MONDAY)
      .execute(remove(1))
      .at(MONDAY)
      .when(register("ada"))
      .records({ type: "SlotTaken" });
  });
});

describe("a limit for each host", () => {
  const site = ruled(5, { eachHost: { slots: 1, line: 6 } })
    .at(MONDAY)
    .execute(from("ada", "ws-1"));

  test("counts the host at the grant, wherever the holder calls from later", () => {
    const moved = site.at(MONDAY).execute(from("ada", "ws-2"));
    moved
      .at(MONDAY)
      .when(from("bob", "ws-1"))
      .refuses(capped("each_host", "ws-1", 1, 6));
    moved.at(MONDAY).when(from("bob", "ws-2")).records({ type: "SlotTaken" });
  });

  test("does not count callers that send no host", () => {
    site
      .at(MONDAY)
      .execute(from("bob", ""))
      .at(MONDAY)
      .when(from("eve", ""))
      .records({ type: "SlotTaken" });
  });
});

describe("a limit for a group", () => {
  const limits = [{ group: "build", slots: 1, line: 8 }];
  const site = ruled(5, { groupLimits: limits }).at(MONDAY).execute(register("bot-1"));

  test("counts all members together, and no others", () => {
    site
      .at(MONDAY)
      .when(register("bot-2"))
      .refuses(capped("group", "build", 1, 8));
    site.at(MONDAY).when(register("ada")).records({ type: "SlotTaken" });
  });

  test("of 0 grants no member a slot", () => {
    const none = [{ group: "build", slots: 0, line: 8 }];
    ruled(5, { groupLimits: none })
      .at(MONDAY)
      .when(register("bot-1"))
      .refuses(capped("group", "build", 0, 8));
  });

  test("is checked for each group of a caller", () => {
    const both = [
      { group: "sim", slots: 9, line: 1 },
      { group: "staff", slots: 1, line: 2 },
    ];
    ruled(5, { groupLimits: both })
      .at(MONDAY)
      .execute(register("bob"))
      .at(MONDAY)
      .when(register("ada"))
      .refuses(capped("group", "staff", 1, 2));
  });
});

describe("a reservation that keeps idle slots", () => {
  const site = ruled(3, { reservations: [reserve("sim", 2)] });

  test("leaves the other slots to all callers", () => {
    site.at(MONDAY).when(register("eve")).records({ type: "SlotTaken" });
  });

  test("keeps its slots free for the group, and says so", () => {
    const one = site.at(MONDAY).execute(register("eve"));
    one
      .at(MONDAY)
      .when(register("bob"))
      .refuses(reservedFor(3, ["sim", 2]));
    one
      .at(MONDAY)
      .when(register("ada"))
      .records({ type: "SlotTaken", home: "sim" })
      .answers({ slotsInUse: 2 });
  });

  test("keeps as many as its members do not use", () => {
    const members = site.at(MONDAY).execute(register("ada"), register("grace"));
    members.at(MONDAY).when(register("eve")).records({ type: "SlotTaken", home: undefined });
    const all = members.at(MONDAY).execute(register("eve"));
    all.at(MONDAY).when(register("grace2")).refuses(noFreeSlot(3));
  });

  test("names only the slots that are free, if the group is entitled to more", () => {
    const full = given(licenseInstalled(1, { slots: 3 }))
      .at(MONDAY)
      .execute(register("eve"), register("bob"));
    const rules = ruleSet(GROUPS, poolRules("cad", { reservations: [reserve("sim", 2)] }));
    full
      .at(MONDAY)
      .execute(applyRules(rules))
      .at(MONDAY)
      .when(register("zoe"))
      .refuses(reservedFor(3, ["sim", 1]));
  });

  test("lets members have more than the reserved slots, as all callers may", () => {
    const members = site.at(MONDAY).execute(register("ada"), register("grace"));
    members.at(MONDAY).when(register("grace2")).records({ type: "SlotTaken", home: "sim" });
  });

  test("keeps them again as soon as the slot of a member ends", () => {
    const full = site.at(MONDAY).execute(register("ada"), register("grace"));
    const later = full.at(minutesLater(20)).execute(register("eve"));
    later
      .at(minutesLater(30))
      .when(register("bob"))
      .refuses(reservedFor(3, ["sim", 2]));
  });

  test("evicts no holder and refuses no heartbeat when it is applied to a full site", () => {
    const full = given(licenseInstalled(1, { slots: 2 }))
      .at(MONDAY)
      .execute(register("eve"), register("bob"));
    const after = full
      .at(MONDAY)
      .execute(
        applyRules(
          ruleSet(
            GROUPS,
            poolRules("cad", { reservations: [reserve("sim", 2)], deny: named("staff") }),
          ),
        ),
      );
    after.at(minutesLater(1)).when(register("eve")).records({ type: "SlotRenewed" });
    after.at(minutesLater(1)).when(register("bob")).records({ type: "SlotRenewed" });
  });

  test("counts what members took before it was applied", () => {
    given(licenseInstalled(1, { slots: 2 }))
      .at(MONDAY)
      .execute(register("ada"))
      .at(MONDAY)
      .execute(applyRules(ruleSet(GROUPS, poolRules("cad", { reservations: [reserve("sim", 1)] }))))
      .at(MONDAY)
      .when(register("eve"))
      .records({ type: "SlotTaken" });
  });

  test("ends when the rules are cleared", () => {
    site
      .at(MONDAY)
      .execute(register("eve"), applyRules(NO_RULES))
      .at(MONDAY)
      .when(register("bob"))
      .records({ type: "SlotTaken" });
  });
});

describe("two licenses of one product", () => {
  const site = given(licenseInstalled(1, { slots: 2 }), licenseInstalled(2, { slots: 2 }))
    .at(MONDAY)
    .execute(applyRules(ruleSet(GROUPS, poolRules("cad", { reservations: [reserve("sim", 2)] }))));

  test("keep two slots for a reservation of two, not four", () => {
    const two = site.at(MONDAY).execute(register("eve"), register("bob"));
    two
      .at(MONDAY)
      .when(register("zoe"))
      .refuses(reservedFor(4, ["sim", 2]));
    two.at(MONDAY).when(register("ada")).records({ type: "SlotTaken" });
  });

  test("need a free slot of the selected license, and what the product keeps stays kept", () => {
    const one = site.at(MONDAY).execute(register("eve", { licenseId: 1 }));
    one
      .at(MONDAY)
      .when(register("bob", { licenseId: 1 }))
      .records({ type: "SlotTaken" });
    const two = one.at(MONDAY).execute(register("bob", { licenseId: 1 }));
    two
      .at(MONDAY)
      .when(register("zoe", { licenseId: 2 }))
      .refuses(reservedFor(2, ["sim", 2]));
    two
      .at(MONDAY)
      .when(register("ada", { licenseId: 2 }))
      .records({ type: "SlotTaken" });
    two
      .at(MONDAY)
      .when(register("zoe", { licenseId: 1 }))
      .refuses(noFreeSlot(2));
    // The product has free slots, so the group's lent slots are not the reason.
    two
      .at(MONDAY)
      .when(register("ada", { licenseId: 1 }))
      .refuses(noFreeSlot(2));
  });
});

describe("the home of a caller in several reserved groups", () => {
  test("is the first of them by name", () => {
    ruled(5, { reservations: [reserve("sim", 1), reserve("staff", 1)] })
      .at(MONDAY)
      .when(register("ada"))
      .records({ type: "SlotTaken", home: "sim" });
  });

  test("keeps the slots of the other group for that group", () => {
    const site = ruled(2, { reservations: [reserve("sim", 1), reserve("staff", 1)] });
    const one = site.at(MONDAY).execute(register("ada"));
    one
      .at(MONDAY)
      .when(register("grace"))
      .refuses(reservedFor(2, ["staff", 1]));
    one.at(MONDAY).when(register("bob")).records({ type: "SlotTaken", home: "staff" });
  });
});

describe("a reservation that lends idle slots", () => {
  const site = ruled(1, { reservations: [reserve("sim", 1, "lend")] });
  const lent = site.at(MONDAY).execute(register("eve"));
  const recall = {
    type: "RecallReservation",
    product: "cad",
    feature: null,
    group: "sim",
  } as const;
  const refusal: Fault = { ...noFreeSlot(1), recall: "sim" } as Fault;

  test("serves others while its group does not need them", () => {
    site.at(MONDAY).when(register("eve")).records({ type: "SlotTaken" });
  });

  test("is to be recalled when a member is refused, but not when another is", () => {
    lent.at(MONDAY).when(register("ada")).refuses(refusal);
    lent.at(MONDAY).when(register("bob")).refuses(noFreeSlot(1));
  });

  test("acts as keep for ten minutes after it was recalled", () => {
    const recalled = lent.at(MONDAY).execute(recall, unregister("eve"));
    recalled
      .at(minutesLater(9))
      .when(register("bob"))
      .refuses(reservedFor(1, ["sim", 1]));
    recalled.at(minutesLater(10)).when(register("bob")).records({ type: "SlotTaken" });
    recalled.at(minutesLater(9)).when(register("ada")).records({ type: "SlotTaken" });
  });

  test("gives no member a slot that another group keeps, and is to be recalled then", () => {
    const reservations = [reserve("build", 1, "keep"), reserve("sim", 1, "lend")];
    const full = ruled(2, { reservations }).at(MONDAY).execute(register("eve"));
    full
      .at(MONDAY)
      .when(register("ada"))
      .refuses({ ...reservedFor(2, ["build", 1]), recall: "sim" } as Fault);
    full
      .at(MONDAY)
      .execute(recall)
      .at(MONDAY)
      .when(register("ada"))
      .refuses(reservedFor(2, ["build", 1]));
    const released = full.at(MONDAY).execute(recall, unregister("eve")).at(MONDAY);
    released.when(register("bob")).refuses(reservedFor(2, ["build", 1], ["sim", 1]));
    released.when(register("ada")).records({ type: "SlotTaken" });
  });

  test("lends again as soon as a member got a slot", () => {
    lent
      .at(MONDAY)
      .execute(recall, unregister("eve"), register("ada"), unregister("ada"))
      .at(minutesLater(1))
      .when(register("bob"))
      .records({ type: "SlotTaken" });
  });

  test("is recalled once: a second call changes nothing, and neither does one for `keep`", () => {
    const until = minutesLater(10);
    lent.at(MONDAY).when(recall).records({ type: "ReservationRecalled", until });
    lent.at(MONDAY).execute(recall).at(minutesLater(1)).when(recall).records();
    lent
      .at(MONDAY)
      .execute(recall)
      .at(minutesLater(1))
      .when(register("ada"))
      .refuses(noFreeSlot(1));
    ruled(1, { reservations: [reserve("sim", 1)] })
      .at(MONDAY)
      .when(recall)
      .records();
  });

  test("is to be recalled again when a member is refused after the ten minutes", () => {
    const later = lent.at(MONDAY).execute(recall).at(minutesLater(10));
    later.when(register("ada")).refuses(refusal);
    later.when(recall).records({ type: "ReservationRecalled", until: minutesLater(20) });
  });

  test("is not recalled while another group lends idle slots and its own are all in use", () => {
    ruled(2, { reservations: [reserve("build", 1, "lend"), reserve("sim", 1, "lend")] })
      .at(MONDAY)
      .execute(register("ada"), register("eve"))
      .at(MONDAY)
      .when(recall)
      .records();
  });

  test("lends again as soon as rules are applied", () => {
    const rules = ruleSet(
      GROUPS,
      poolRules("cad", { reservations: [reserve("sim", 1, "lend")], deny: named("build") }),
    );
    lent
      .at(MONDAY)
      .execute(recall, unregister("eve"), applyRules(rules))
      .at(minutesLater(1))
      .when(register("bob"))
      .records({ type: "SlotTaken" });
  });
});

describe("rules for a floating feature", () => {
  const features = [featureTerms("render", { floating: { slots: 2, timeoutMinutes: 20 } })];
  const pool = poolRules("cad", {
    feature: "render",
    deny: named("build"),
    reservations: [reserve("sim", 1)],
  });
  const site = given(licenseInstalled(1, { slots: 9, features }))
    .at(MONDAY)
    .execute(
      applyRules(ruleSet(GROUPS, pool)),
      ...["ada", "bob", "eve", "bot-1"].map((user) => register(user)),
    );

  test("judge the feature's slots and not those of the product", () => {
    site
      .at(MONDAY)
      .when(registerFeature("bot-1", "render"))
      .refuses({ ...notAllowed("deny", "build", 1), feature: "render" });
    const one = site.at(MONDAY).execute(registerFeature("eve", "render"));
    one
      .at(MONDAY)
      .when(registerFeature("bob", "render"))
      .refuses(reservedFor(2, ["sim", 1]));
    one
      .at(MONDAY)
      .when(registerFeature("ada", "render"))
      .records({ type: "FeatureTaken", home: "sim" });
  });

  test("never judge the heartbeat of a feature's slot", () => {
    site
      .at(MONDAY)
      .execute(
        registerFeature("eve", "render"),
        applyRules(ruleSet(GROUPS, { ...pool, allowOnly: [] })),
      )
      .at(minutesLater(5))
      .when(registerFeature("eve", "render"))
      .records({ type: "FeatureRenewed" });
  });

  test("do not name the users who wait for the product in the refusal of a feature", () => {
    given(licenseInstalled(1, { slots: 3, features }))
      .at(MONDAY)
      .execute(
        ...["ada", "bob", "eve"].map((user) => register(user)),
        takePlace("zoe"),
        ...["ada", "bob"].map((user) => registerFeature(user, "render")),
      )
      .at(MONDAY)
      .when(registerFeature("eve", "render"))
      .refuses(noFreeSlot(2));
  });
});

describe("ApplyRules", () => {
  const rules = ruleSet(GROUPS, poolRules("cad", { reservations: [reserve("sim", 2)] }));
  const site = given(licenseInstalled(1, { slots: 2 }));
  const command = applyRules(rules);

  test("records the text and the rules", () => {
    const { text, digest } = command;
    site.at(MONDAY).when(command).records({ type: "RulesApplied", text, digest, rules });
  });

  test("records nothing if the same rules are applied", () => {
    site.at(MONDAY).execute(command).at(MONDAY).when(command).records();
    site.at(MONDAY).when(applyRules(NO_RULES)).records();
  });

  test("is refused if other rules were applied since they were read", () => {
    const { digest } = command;
    const applied = site.at(MONDAY).execute(command);
    applied
      .at(MONDAY)
      .when(applyRules(NO_RULES, { expected: null }))
      .refuses({ code: "rules_changed", digest });
    applied
      .at(MONDAY)
      .when(applyRules(NO_RULES, { expected: digest }))
      .records({ type: "RulesApplied" });
    site
      .at(MONDAY)
      .when({ ...command, expected: digest })
      .refuses({ code: "rules_changed", digest: null });
    site
      .at(MONDAY)
      .when({ ...command, expected: null })
      .records({ type: "RulesApplied" });
  });

  test("is refused if more is reserved than the licenses have, and not at as much", () => {
    const more = ruleSet(GROUPS, poolRules("cad", { reservations: [reserve("sim", 3)] }));
    const pools = [{ product: "cad", feature: null, reserved: 3, slots: 2 }];
    site.at(MONDAY).when(applyRules(more)).refuses({ code: "rules_over_reserved", pools });
    given(...site.events, licenseInstalled(2, { slots: 1 }))
      .at(MONDAY)
      .when(applyRules(more))
      .records({ type: "RulesApplied" });
  });

  test("allows rules for a product that is not installed yet", () => {
    const other = ruleSet(GROUPS, poolRules("cae", { reservations: [reserve("sim", 3)] }));
    site.at(MONDAY).when(applyRules(other)).records({ type: "RulesApplied" });
  });
});

test("a renewal with fewer slots than are reserved serves the first caller of the groups", () => {
  const site = given(licenseInstalled(1, { slots: 4 }))
    .at(MONDAY)
    .execute(
      applyRules(
        ruleSet(
          GROUPS,
          poolRules("cad", { reservations: [reserve("build", 2), reserve("sim", 2)] }),
        ),
      ),
      install(1, { slots: 1 }),
    );
  site.at(MONDAY).when(register("ada")).records({ type: "SlotTaken" });
  site.at(MONDAY).when(register("bot-1")).records({ type: "SlotTaken" });
  site
    .at(MONDAY)
    .when(register("eve"))
    .refuses(
      withReserved(1, [
        {
          slots: 1,
          groups: [
            { group: "build", line: 7 },
            { group: "sim", line: 7 },
          ],
        },
      ]),
    );
  expect(site.events.at(-1)?.type).toBe("LicenseInstalled");
});
