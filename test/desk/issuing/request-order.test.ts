import { describe, expect, test } from "bun:test";
import type { Desk } from "../../../src/desk/desk.ts";
import { receiveReceipt } from "../../../src/desk/issuing/receive-receipt.ts";
import { findPairWarnings, findSplits } from "../../../src/desk/issuing/pair-continuity.ts";
import {
  buildSeenEntry,
  describeNewRestores,
  findRequestWarnings,
} from "../../../src/desk/issuing/request-continuity.ts";
import { sortRequests } from "../../../src/desk/issuing/request-order.ts";
import type { LicenseRequest } from "../../../src/license/requests/request.ts";
import { expectOk } from "../../support/appliance.ts";
import { issueTestLicense, makeRequestFrom, openDeskAndSite } from "../../support/desk-and-site.ts";
import { catchDeskRefusal } from "../../support/desk-refusal.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { hoursLater } from "../../support/scenario.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { SimulatedRequests } from "../../support/simulated-requests.ts";

const NOW = hoursLater(12);

const FORKED =
  "the site's audit log does not continue the last one seen: it is a restored copy or a cloned machine";

/** Everything that the desk tells the vendor about a request. */
const findWarnings = (desk: Desk, request: LicenseRequest): string[] => [
  ...findRequestWarnings(desk, request, NOW),
  ...findPairWarnings(desk, request),
  ...findSplits(desk, request),
  ...describeNewRestores(desk, request),
];

/** What is the same in all simulated requests: it has one license of the vendor. */
async function openDesk() {
  const { desk, site } = await openDeskAndSite();
  const request = await makeRequestFrom(site);
  const license = { license_id: 7, product: "sim", vendor: desk.vendor.vendor, serial: 1 };
  const template = { ...request, licenses: [{ ...license, total_consumptions: 0 }] };
  const answer = (answered: LicenseRequest, acceptForkReason: string | null = null) =>
    issueTestLicense(desk, answered, { isNew: true, now: NOW, acceptForkReason });
  const expectAnswered = async (...requests: readonly LicenseRequest[]): Promise<void> => {
    for (const answered of requests) {
      expect(findWarnings(desk, answered)).toEqual([]);
      await answer(answered);
    }
  };
  const expectRefused = async (...requests: readonly LicenseRequest[]): Promise<void> => {
    for (const refused of requests)
      expect((await catchDeskRefusal(answer(refused))).message).toBe(FORKED);
  };
  const simulate = (appliance = "site") => new SimulatedRequests(template, appliance);
  const recordedHeads = ({ appliance, request_id }: LicenseRequest) =>
    desk.ledger.seenEntries(appliance).findLast((entry) => entry.request_id === request_id)?.heads;
  return { desk, answer, expectAnswered, expectRefused, simulate, recordedHeads };
}

type Restore = NonNullable<LicenseRequest["restores"]>[number];

const headOf = ({ request_id, audit }: LicenseRequest) => ({
  request_id,
  audit_seq: audit.seq,
  sum: audit.sum,
});

/** The same request with other requests before it. */
const withHeads = (request: LicenseRequest, ...before: readonly LicenseRequest[]) => ({
  ...request,
  heads: [...before.map(headOf), headOf(request)],
});

describe("a request that is answered after a newer one", () => {
  test("is accepted without a warning, and the site installs both answers", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site), {
      terms: { consumption: { max: 100, overages: 0, negative: false, period: null } },
    });
    expectOk(await site.upload(first.document));
    const older = await makeRequestFrom(site, "sim");
    site.clock.now = hoursLater(5);
    expectOk(await site.addConsumption({ product: "sim", consumptions: "80" }));
    const newer = await makeRequestFrom(site, "ray");
    const answers = [];
    for (const request of [newer, older]) {
      expect(findWarnings(desk, request)).toEqual([]);
      answers.push(await issueTestLicense(desk, request, { now: NOW }));
      expect(findWarnings(desk, request)).toEqual([]);
    }
    for (const { document } of answers) expectOk(await site.upload(document));
    expect(findWarnings(desk, await makeRequestFrom(site))).toEqual([]);
  });

  test("is accepted if the site returned a license after it, and requested another", async () => {
    const { desk, site } = await openDeskAndSite();
    const first = await issueTestLicense(desk, await makeRequestFrom(site));
    expectOk(await site.upload(first.document));
    const older = await makeRequestFrom(site, "ray");
    site.clock.now = hoursLater(1);
    const receipt = unwrap(await site.licensing.removeLicense(first.license_id, false, "test"));
    const newer = await makeRequestFrom(site, "sim");
    await receiveReceipt(desk, receipt, NOW);
    expect([older.licenses.length, newer.licenses.length]).toEqual([1, 0]);
    for (const request of [newer, older]) {
      expect(findWarnings(desk, request)).toEqual([]);
      expectOk(await site.upload((await issueTestLicense(desk, request, { now: NOW })).document));
    }
  });

  test("gets no second warning of a restore that the newer one reported", async () => {
    const { desk, answer, expectAnswered, simulate } = await openDesk();
    const restore = { at: "2026-03-02T12:00:00.000Z", seq: 24, replaced: 31 };
    const [one, two, three] = ["1", "2", "3"].map((digit) => ({
      ...restore,
      lineage: digit.repeat(32),
    })) as [Restore, Restore, Restore];
    const site = simulate();
    const oldest = site.request();
    const older = site.request({ restores: [one] });
    const newer = site.request({ restores: [one, two] });
    expect(describeNewRestores(desk, newer)).toHaveLength(2);
    await answer(newer);
    await expectAnswered(older, oldest);
    const newest = site.request({ restores: [one, two, three] });
    expect(describeNewRestores(desk, newest)).toHaveLength(1);
    // As it was before the answer.
    expect(describeNewRestores(desk, newer)).toHaveLength(2);
  });

  test("gets no warning of a restore that newer requests no longer list", async () => {
    const { answer, expectAnswered, simulate } = await openDesk();
    const restores = (digit: string): Partial<LicenseRequest> => ({
      restores: [
        { lineage: digit.repeat(32), at: "2026-03-02T12:00:00.000Z", seq: 24, replaced: 31 },
      ],
    });
    const site = simulate();
    await answer(site.request(restores("1")));
    const older = site.request(restores("1"));
    await answer(site.request(restores("2")));
    await expectAnswered(older);
  });

  test("is compared with the request before it: a total that fell since then is a warning", async () => {
    const { desk, answer, simulate } = await openDesk();
    const site = simulate().work(9);
    const first = site.request();
    const older = site.work(9).request();
    const newer = site.work(9).request();
    await answer(first);
    await answer(newer);
    const licenses = older.licenses.map((license) => ({ ...license, total_consumptions: 8 }));
    expect(findRequestWarnings(desk, { ...older, licenses }, NOW)).toEqual([
      "license 7: the consumption was 9 at the last request seen and is only 8 now; an old copy may have been restored",
    ]);
    const dated = { ...older, created_at: "2026-03-02T08:00:00.000Z" };
    expect(findRequestWarnings(desk, dated, NOW)).toEqual([
      `the request is dated ${dated.created_at}, before the last request seen (${first.created_at})`,
    ]);
    // Only with requests that the site made before it, so the newer one gets no warning either.
    expect(findRequestWarnings(desk, newer, NOW)).toEqual([]);
  });
});

describe("a `seen` line", () => {
  test("has the earlier requests that no other line has", async () => {
    const { answer, simulate, recordedHeads } = await openDesk();
    const [a, b, c, d, e] = simulate().requests(5) as [
      LicenseRequest,
      LicenseRequest,
      LicenseRequest,
      LicenseRequest,
      LicenseRequest,
    ];
    for (const request of [a, c, b, e, d]) await answer(request);
    expect([a, b, c, d, e].map(recordedHeads)).toEqual([
      undefined,
      undefined,
      [headOf(b)],
      undefined,
      [headOf(d)],
    ]);
  });

  test("has all of them after an accepted fork", async () => {
    const { answer, simulate, recordedHeads } = await openDesk();
    const site = simulate();
    const [first] = site.requests(1) as [LicenseRequest];
    const clone = site.copy();
    await answer(first);
    await answer(site.work(1).request());
    const request = clone.work(2).request();
    await answer(request, "a drill");
    expect(recordedHeads(request)).toEqual([headOf(first)]);
  });
});

describe("a request whose answer was interrupted after its `seen` line", () => {
  test("is answered when the command runs again", async () => {
    const { desk, answer, expectAnswered, simulate } = await openDesk();
    const site = simulate();
    const [first, second] = site.requests(2) as [LicenseRequest, LicenseRequest];
    const at = "2026-03-02T12:00:00.000Z";
    await desk.transact((append) => append(buildSeenEntry(desk, first, at, [])));
    await expectAnswered(second, first);
    const clone = site.copy();
    await answer(site.request());
    const accepted = clone.work(1).request();
    const { request_id, appliance } = accepted;
    await desk.transact((append) =>
      append(
        { type: "forked", at, appliance, request_id, reason: "a test" },
        buildSeenEntry(desk, accepted, at, []),
      ),
    );
    await expectAnswered(accepted);
  });
});

describe("a clone of a site", () => {
  /** The site made three requests, of which the last and the first were answered, in this order. */
  async function openCloned() {
    const opened = await openDesk();
    const site = opened.simulate();
    const first = site.work(3).request();
    const cloneOfFirst = site.copy();
    const second = site.work(3).request();
    const third = site.work(3).request();
    await opened.expectAnswered(third, first);
    return { ...opened, site, cloneOfFirst, first, second, third };
  }

  test("is found after an older request was answered last", async () => {
    const { expectRefused, cloneOfFirst } = await openCloned();
    await expectRefused(cloneOfFirst.work(1).request(), cloneOfFirst.work(20).request());
  });

  test("is found by a request with the sequence of another one, and another sum or id", async () => {
    const { expectRefused, expectAnswered, first, second, third, cloneOfFirst } =
      await openCloned();
    const other = { request_id: "0".repeat(32), sum: "0".repeat(64) };
    const audit = { ...second.audit, sum: other.sum };
    await expectRefused(
      cloneOfFirst.work(3).request(),
      withHeads({ ...second, audit }, first),
      withHeads({ ...second, audit: { ...second.audit, seq: second.audit.seq + 1 } }, first),
      withHeads({ ...second, request_id: other.request_id }, first),
      withHeads({ ...third, request_id: other.request_id }, first, second),
    );
    await expectAnswered(second);
  });

  test("is found although it lists the newest request, if it leaves out one before", async () => {
    const { expectRefused, expectAnswered, site, first, second, third } = await openCloned();
    const next = site.work(1).request();
    await expectRefused(
      withHeads(next, first, third),
      withHeads(next, first, { ...second, audit: { ...second.audit, seq: 7 } }, third),
    );
    await expectAnswered(withHeads(next, second, third));
  });

  test("is not accepted by the requests that another appliance lists", async () => {
    const { expectRefused, simulate, expectAnswered, cloneOfFirst } = await openCloned();
    const forged = cloneOfFirst.work(1).request();
    const other = simulate("other");
    await expectAnswered(withHeads(other.work(40).request(), forged));
    await expectRefused(forged);
  });
});

describe("a request with invented heads", () => {
  test("makes room for one request with each of them, which is answered once", async () => {
    const { desk, answer, expectRefused, simulate } = await openDesk();
    const site = simulate();
    const first = site.request();
    const clone = site.copy();
    await answer(first);
    const invented = clone.work(5).request();
    const forged = withHeads(site.work(9).request(), first, invented);
    await answer(forged);
    // The same as with a copy that lists the newest request: the site's key signs both.
    const { document } = await answer(invented);
    expect((await answer({ ...invented, nonce: "0".repeat(32) })).document).toBe(document);
    await expectRefused(clone.work(1).request(), clone.work(20).request());
    // The site itself does not list what it did not make.
    await expectRefused(site.work(1).request());
    expect(desk.ledger.forkEntries()).toEqual([]);
  });

  test("does not make room for them if they are not in order, as in a first request", async () => {
    const { answer, expectRefused, simulate, recordedHeads } = await openDesk();
    const site = simulate();
    const [one, two] = site.copy().requests(2) as [LicenseRequest, LicenseRequest];
    const first = site.work(9).request();
    await answer({ ...first, heads: [two, one, first].map(headOf) });
    expect(recordedHeads(first)).toBeUndefined();
    await expectRefused(one, two);
  });
});

describe("an accepted fork", () => {
  /** A site and its clone, of which the vendor accepted the clone. */
  async function acceptClone() {
    const opened = await openDesk();
    const site = opened.simulate();
    const common = site.work(1).request();
    const clone = site.copy();
    const [open, answered] = site.requests(2) as [LicenseRequest, LicenseRequest];
    await opened.expectAnswered(answered);
    const accepted = clone.work(1).request();
    await opened.expectRefused(accepted);
    await opened.answer(accepted, "the disk was replaced");
    return { ...opened, site, clone, common, open };
  }

  test("is what later requests are compared with, and no longer the requests before", async () => {
    const { expectAnswered, expectRefused, site, clone, common, open } = await acceptClone();
    await expectRefused(open, site.work(1).request());
    await expectAnswered(clone.work(1).request(), common, clone.work(30).request());
    await expectRefused(open, site.work(90).request());
  });

  test("does not count without the line of its request", async () => {
    const { desk, expectAnswered, expectRefused, site, clone } = await acceptClone();
    const { request_id, appliance } = site.work(1).request();
    const forked = { type: "forked", at: "2026-03-02T12:00:00.000Z", reason: "a test" } as const;
    await desk.transact((append) => append({ ...forked, appliance, request_id }));
    await expectRefused(site.work(1).request());
    await expectAnswered(clone.work(1).request());
  });
});

describe("a second restore of a serial with a grace period", () => {
  const restoreAs = (digit: string) => ({
    restores: [
      {
        lineage: digit.repeat(32),
        at: `2026-03-02T1${digit}:00:00.000Z`,
        seq: 24,
        replaced: null,
        grace: [{ license_id: 7, serial: 1 }],
      },
    ],
  });

  const TWICE =
    "license 7, serial 1, was restored on other hardware twice (2026-03-02T11:00:00.000Z and 2026-03-02T12:00:00.000Z), but its grace period is for one restore";

  test("is refused, and once accepted it is not refused again in later requests", async () => {
    const { answer, simulate } = await openDesk();
    const site = simulate();
    await answer(site.request(restoreAs("1")));
    const second = site.request(restoreAs("2"));
    expect((await catchDeskRefusal(answer(second))).message).toBe(TWICE);
    await answer(second, "two machines died");
    await answer(site.request(restoreAs("2")));
    const first = site.request(restoreAs("1"));
    expect((await catchDeskRefusal(answer(first))).message).toContain("restored on other hardware");
  });

  test("is refused also if its request was made first and answered last", async () => {
    const { answer, simulate } = await openDesk();
    const site = simulate();
    const [older, newer] = [site.request(restoreAs("2")), site.request(restoreAs("1"))];
    await answer(newer);
    expect((await catchDeskRefusal(answer(older))).message).toBe(TWICE);
  });

  test("is not found in a request of the time before the restore", async () => {
    const { answer, expectAnswered, simulate } = await openDesk();
    const site = simulate();
    const older = site.request();
    await answer(site.request(restoreAs("1")));
    await expectAnswered(older);
    await answer(site.request(restoreAs("1")));
  });
});

describe("more requests than one can list", () => {
  test("are all accepted by the site's order", async () => {
    const { expectAnswered, simulate } = await openDesk();
    await expectAnswered(...sortRequests(simulate().requests(70).toReversed()));
  });

  test("are accepted if each is listed by a request that was answered before", async () => {
    const { expectAnswered, simulate } = await openDesk();
    const requests = simulate().requests(140);
    await expectAnswered(...[63, 126, 139, 0, 62, 64, 125, 1].flatMap((n) => requests[n] ?? []));
  });

  test("are refused if 64 newer ones were made before the first answer", async () => {
    const { expectAnswered, expectRefused, simulate } = await openDesk();
    const [oldest, second, ...rest] = simulate().requests(65);
    const newest = rest.at(-1);
    if (oldest === undefined || second === undefined || newest === undefined)
      throw new Error("there are no requests");
    await expectAnswered(newest);
    // The site, too, has dropped it: it keeps 64 open requests.
    await expectRefused(oldest);
    await expectAnswered(second);
  });
});

test("sortRequests sorts by appliance, and then by the site's order", async () => {
  const { simulate } = await openDesk();
  const [one, two] = [simulate("one").requests(12), simulate("two").requests(12)].toSorted(
    ([a], [b]) => ((a?.appliance ?? "") < (b?.appliance ?? "") ? -1 : 1),
  ) as [LicenseRequest[], LicenseRequest[]];
  const mixed = one.flatMap((request, index) => [two[index] ?? request, request]).toReversed();
  expect(sortRequests(mixed)).toEqual([...one, ...two]);
  expect(sortRequests([])).toEqual([]);
});

const shuffle = <T>(random: SeededRandom, items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, place: random.chance(0.5) ? random.intBelow(100) : 50 }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);

describe("random orders of arrival", () => {
  test("never accuse an honest site", async () => {
    const { expectAnswered, simulate } = await openDesk();
    for (let seed = 1; seed <= 25; seed += 1) {
      const random = new SeededRandom(seed);
      const site = simulate(`site ${seed}`);
      // Some requests never reach the vendor.
      const sent = Array.from({ length: random.intBetween(2, 30) }, () =>
        site.work(random.intBelow(4)).request(),
      ).filter(() => random.chance(0.8));
      await expectAnswered(...shuffle(random, sent));
    }
  });

  test("always show a clone, with the first request that the others do not list", async () => {
    const { answer, expectAnswered, expectRefused, simulate } = await openDesk();
    const results = { accepted: 0, refused: 0, forks: 0 };
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = new SeededRandom(seed);
      const site = simulate(`site ${seed}`);
      const makeSome = (from: SimulatedRequests) =>
        Array.from({ length: random.intBetween(1, 6) }, () =>
          from.work(random.intBelow(4)).request(),
        );
      const common = random.chance(0.7) ? makeSome(site) : [];
      const clone = site.copy();
      const sent = shuffle(random, [...common, ...makeSome(site), ...makeSome(clone)]);
      let accepted: LicenseRequest[] = [];
      for (const request of sent) {
        const isForked = accepted.some((other) => !lists(other, request) && !lists(request, other));
        if (!isForked) {
          await expectAnswered(request);
          accepted.push(request);
          results.accepted += 1;
          continue;
        }
        await expectRefused(request);
        results.refused += 1;
        if (!random.chance(0.4)) continue;
        await answer(request, "a drill");
        accepted = [request];
        results.forks += 1;
      }
    }
    // All three cases happen often.
    expect(Math.min(...Object.values(results))).toBeGreaterThan(20);
  });
});

const lists = ({ heads }: LicenseRequest, { request_id }: LicenseRequest): boolean =>
  heads.some((head) => head.request_id === request_id);
