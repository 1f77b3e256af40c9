import { describe, expect, test } from "bun:test";
import { verifyLicense } from "../../../src/license/documents/license.ts";
import type { LicenseRequest } from "../../../src/license/requests/request.ts";
import { verifyDesk } from "../../../src/desk/verify-desk.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import {
  findPairWarnings,
  findSplits,
  listAcceptedSplits,
} from "../../../src/desk/issuing/pair-continuity.ts";
import { issueTestLicense } from "../../support/desk-and-site.ts";
import { refusal } from "../../support/desk-refusal.ts";
import {
  openHost,
  openPairOfTwo,
  requestFrom,
  splitLog,
  takeOver,
} from "../../support/licensed-pair.ts";
import { unwrap } from "../../support/licensed-store.ts";
import { copyFolder } from "../../support/temp-folder.ts";

const expectDeskRefusal = async (
  attempt: Promise<unknown>,
  { message, hint }: { readonly message: string; readonly hint: string },
): Promise<void> => expect(await refusal(attempt)).toBe(`${message}; ${hint}`);

const TWO = { hosts: 2, terms: { slots: 2 } } as const;

describe("issuing a license of two hosts", () => {
  test("needs the vendor's word, and then names both hosts", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const request = await requestFrom(alpha);
    await expectDeskRefusal(issueTestLicense(desk, request), {
      message: "the site asks for a license of two hosts, alpha and beta",
      hint: "--hosts 2 grants it; --hosts 1 binds the license to alpha alone",
    });
    const issued = await issueTestLicense(desk, request, TWO);
    const { license } = unwrap(await verifyLicense(issued.document, [desk.vendor]));
    const ids = request.pair?.hosts.map(({ hardware_id }) => hardware_id);
    expect([license.hosts, issued.hosts]).toEqual([ids, ids]);
    expect(license.hardware_id).toBe(request.hardware_id);
  });

  test("is refused for a request that names one host", async () => {
    const { desk, alpha } = await openPairOfTwo();
    await expectDeskRefusal(issueTestLicense(desk, await requestFrom(alpha, 1), TWO), {
      message: "the request is for one host",
      hint: "ask the site for a new request: berth license request --hosts 2",
    });
  });

  test("is kept by a renewal, and given up only with the vendor's word", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const { license_id } = await issueTestLicense(desk, await requestFrom(alpha), TWO);
    const renewed = await issueTestLicense(desk, await requestFrom(alpha));
    expect([renewed.license_id, renewed.hosts?.length]).toEqual([license_id, 2]);
    const request = await requestFrom(alpha, 1);
    await expectDeskRefusal(issueTestLicense(desk, request), {
      message: `license ${license_id} is for two hosts, and the request is for one`,
      hint: "--hosts 1 binds the license to that host; berth license request --hosts 2 at the site requests two",
    });
    const reduced = await issueTestLicense(desk, request, { hosts: 1 });
    expect(reduced.hosts).toBeUndefined();
    await expectDeskRefusal(
      issueTestLicense(desk, null, { renewLicenseId: license_id, hosts: 2 }),
      {
        message: "the request is for one host",
        hint: "ask the site for a new request: berth license request --hosts 2",
      },
    );
  });

  test("of a request that was answered is refused for another number of hosts", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const request = await requestFrom(alpha);
    const first = await issueTestLicense(desk, request, TWO);
    expect((await issueTestLicense(desk, request, TWO)).document).toBe(first.document);
    expect((await issueTestLicense(desk, request)).document).toBe(first.document);
    await expectDeskRefusal(issueTestLicense(desk, request, { hosts: 1 }), {
      message: "this request was already answered with other terms",
      hint: "ask the site for a new request, or renew with --renew",
    });
  });

  test("is refused if one of the hosts has a weak binding", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const request = await requestFrom(alpha);
    const [first, second] = request.pair?.hosts ?? [];
    if (request.pair === undefined || first === undefined || second === undefined)
      throw new Error("the request has no pair");
    const hosts = [first, { ...second, hardware: second.hardware.slice(0, 1) }];
    const weak = { ...request, pair: { ...request.pair, hosts } };
    await expectDeskRefusal(issueTestLicense(desk, weak, TWO), {
      message:
        "the appliance has a weak hardware binding: fewer than two components can be identified",
      hint: "--allow-weak-binding accepts it",
    });
  });
});

describe("verifying a desk", () => {
  test("finds a ledger line with other hosts than its license", async () => {
    const { desk, deskFolder, alpha } = await openPairOfTwo();
    const issued = await issueTestLicense(desk, await requestFrom(alpha), TWO);
    expect((await verifyDesk(realDisk, deskFolder, null)).faults).toEqual([]);
    const { hosts: _hosts, ...entry } = issued;
    await desk.ledger.transact((append) => append(entry));
    expect((await verifyDesk(realDisk, deskFolder, null)).faults).toMatchObject([
      { problem: "differs from the license that it contains: hosts" },
    ]);
  });
});

/** Both halves of a pair that was split after its license was issued; each leads its own log. */
async function splitPair() {
  const { desk, log, alpha } = await openPairOfTwo();
  await issueTestLicense(desk, await requestFrom(alpha), TWO);
  const otherLog = splitLog(log);
  const folder = copyFolder(alpha.folder);
  const beta = await openHost({ log: otherLog, host: "beta", folder });
  await beta.operations.leadership?.step();
  return { desk, log, alpha, beta };
}

describe("two requests of a pair", () => {
  test("show nothing while one continues the other, also after a change of the leader", async () => {
    const { desk, log, alpha } = await openPairOfTwo();
    const first = await requestFrom(alpha);
    await issueTestLicense(desk, first, TWO);
    const beta = await takeOver(alpha, { log, host: "beta" });
    const second = await requestFrom(beta);
    expect([first.pair?.epoch, second.pair?.epoch]).toEqual([1, 2]);
    expect(findSplits(desk, second)).toEqual([]);
    await issueTestLicense(desk, second);
    expect(desk.ledger.seenEntries(second.appliance).at(-1)?.pair).toMatchObject({
      epoch: 2,
      leader: "beta",
      hosts: [{ name: "alpha" }, { name: "beta" }],
    });
  });

  test("show that the pair was split, and are not both answered", async () => {
    const { desk, log, alpha, beta } = await splitPair();
    // The half with alpha goes on: alpha leads again, in the same epoch as beta in the other half.
    const again = await takeOver(alpha, { log, host: "alpha" });
    const [one, two] = [await requestFrom(again), await requestFrom(beta)];
    expect([one.pair?.epoch, two.pair?.epoch]).toEqual([2, 2]);
    await issueTestLicense(desk, one);
    const splits = findSplits(desk, two);
    expect(splits).toEqual([
      expect.stringContaining("the pair was split: epoch 2 has two leaders (request ") as string,
      ...splits.slice(1),
    ]);
    expect(splits.join()).toContain("led by alpha at line");
    await expectDeskRefusal(issueTestLicense(desk, two), {
      message: splits.join("; "),
      hint: '--accept-fork "REASON" accepts it and records the reason in the ledger',
    });
  });

  test("that are split are recorded with the vendor's reason, and shown from then on", async () => {
    const { desk, log, alpha, beta } = await splitPair();
    const again = await takeOver(alpha, { log, host: "alpha" });
    await issueTestLicense(desk, await requestFrom(again));
    const request = await requestFrom(beta);
    const findings = findSplits(desk, request);
    await issueTestLicense(desk, request, { acceptForkReason: "disaster drill" });
    expect(listAcceptedSplits(desk)).toMatchObject([
      { request_id: request.request_id, reason: "disaster drill", findings },
    ]);
    // The other half shows again, because it does not continue this one.
    expect(findSplits(desk, await requestFrom(again))).not.toEqual([]);
  });
});

/** The same request as another half of the pair, or another time, would make it. */
const edit = (
  request: LicenseRequest,
  differing: Partial<NonNullable<LicenseRequest["pair"]>>,
): LicenseRequest => {
  if (request.pair === undefined) throw new Error("the request has no pair");
  return { ...request, pair: { ...request.pair, ...differing } };
};

describe("a request of a pair whose audit log continues", () => {
  test("shows a line with two contents", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const first = await requestFrom(alpha);
    await issueTestLicense(desk, first, TWO);
    const second = await requestFrom(alpha);
    const head = first.pair?.hosts[0]?.head;
    if (second.pair === undefined || head == null) throw new Error("the request has no heads");
    const other = { ...head, sum: "0".repeat(64) };
    const hosts = second.pair.hosts.map((host) => ({ ...host, head: other }));
    expect(findSplits(desk, edit(second, { hosts })).join()).toContain(
      `line ${head.seq} of its log has two contents`,
    );
    const same = second.pair.hosts.map((host) => ({ ...host, head }));
    expect(findSplits(desk, edit(second, { hosts: same }))).toEqual([]);
  });

  test("shows an epoch that went back in the same log", async () => {
    const { desk, alpha } = await openPairOfTwo();
    await issueTestLicense(desk, edit(await requestFrom(alpha), { epoch: 7 }), TWO);
    const request = await requestFrom(alpha);
    expect(findSplits(desk, edit(request, { epoch: 6 })).join()).toContain(
      "its epoch went back from 7 to 6",
    );
    expect(await refusal(issueTestLicense(desk, edit(request, { epoch: 6 })))).toContain(
      "its epoch went back from 7 to 6",
    );
    expect(findSplits(desk, edit(request, { epoch: 6, log: "another" }))).toEqual([]);
    expect(findPairWarnings(desk, edit(request, { epoch: 6, log: "another" }))).toContain(
      "the pair has another log than at the last request seen: it was formed anew, or split",
    );
  });

  test("shows and warns of nothing if it is answered after a newer one", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const single = await requestFrom(alpha, 1);
    const older = edit(await requestFrom(alpha), { epoch: 6, leader: "beta", log: "first" });
    const head = { seq: 1, sum: "0".repeat(64), at: single.created_at };
    const reported = (request: LicenseRequest, log: string) =>
      edit(request, {
        epoch: 7,
        log,
        hosts: request.pair?.hosts.map((host) => ({ ...host, head })) ?? [],
      });
    const newer = reported(await requestFrom(alpha), "first");
    const newest = reported(await requestFrom(alpha), "second");
    await issueTestLicense(desk, newest, TWO);
    for (const request of [newer, older, single]) {
      expect(findSplits(desk, request)).toEqual([]);
      const unreported = "has not reported its state yet";
      const warnings = findPairWarnings(desk, request).filter((text) => !text.includes(unreported));
      expect(warnings).toEqual([]);
      await issueTestLicense(desk, request, request === single ? { isNew: true } : TWO);
    }
  });

  test("shows that the epoch went back since a request that is answered after it", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const older = edit(await requestFrom(alpha), { epoch: 8 });
    await issueTestLicense(desk, edit(await requestFrom(alpha), { epoch: 7 }), TWO);
    expect(findSplits(desk, older).join()).toContain("its epoch went back from 8 to 7");
  });

  test("warns of a host that is silent, and of a pair that is no longer described", async () => {
    const { desk, alpha } = await openPairOfTwo();
    const request = await requestFrom(alpha);
    expect(findPairWarnings(desk, request)).toEqual(["host beta has not reported its state yet"]);
    const head = { seq: 1, sum: "0".repeat(64), at: "2026-02-20T09:00:00.000Z" };
    const hosts = request.pair?.hosts.map((host) => ({ ...host, head: host.head ?? head }));
    expect(findPairWarnings(desk, edit(request, { hosts: hosts ?? [] }))).toEqual([
      "host beta was silent for 10 days before the request: it may serve elsewhere",
    ]);
    await issueTestLicense(desk, request, TWO);
    expect(findPairWarnings(desk, await requestFrom(alpha, 1))).toEqual([
      "the site had a pair, and this request does not describe it: a split would not show",
    ]);
  });
});
