// Leases that the vendor's terms allow or forbid, on both sides of each limit.
import {
  accepts,
  LAXER_EXAMPLE,
  leaseUnder,
  refuses,
  type LeaseCase,
  type Refusal,
} from "./lease-cases.ts";
import {
  BORROW_HOURS,
  HOUR_SECONDS,
  secondsFromNow,
  timeFromNow,
  type LeaseIssuer,
  type Members,
} from "./lease-documents.ts";

/** The clocks may differ by 60 s: a case is 30 s on one side or 120 s on the other. */
const WITHIN = 30;
const BEYOND = 120;
/** Until a time that was 30 s inside of a limit of 60 s, or 120 s outside of it, passes it. */
const CERTAIN = { certainSeconds: 25 };

export function makeTermsCases(issuer: LeaseIssuer): LeaseCase[] {
  const under = (terms: Members, lease?: Members) => leaseUnder(issuer, terms, lease);
  /** A lease that ends with or after the license's end. */
  const endingAt = (seconds: number, afterEnd: number, terms: Members = {}) =>
    under(
      { valid_until: timeFromNow(seconds), ...terms },
      {
        iat: secondsFromNow(-HOUR_SECONDS),
        exp: secondsFromNow(seconds + afterEnd),
      },
    );
  const lasting = (seconds: number, terms: Members = {}) => {
    const iat = secondsFromNow(-10);
    return under(terms, { iat, exp: iat + seconds });
  };
  const longest = BORROW_HOURS * HOUR_SECONDS;
  return [
    accepts("a lease under a license without an end", () => under({})),
    accepts("a lease of one host of a pair, with an epoch", () => under({}, { epoch: 3 })),
    accepts("a lease with a member of a later version", () => under({}, { later: { a: [1] } })),
    accepts("a license with a member of a later version", () => under({ later: [{ a: null }] })),
    accepts("a user name with quotes, backslashes and characters of every length", () =>
      under({}, { sub: 'a"\\/\u0001\u00e9\u20ac\u{1f600}' }),
    ),
    accepts("a lease that ended within the leeway", () => expired(WITHIN), CERTAIN),
    refuses("a lease that ended before the leeway", "lease_expired", () => expired(BEYOND)),
    refuses("a lease that ended long ago", "lease_expired", () => expired(10 * HOUR_SECONDS)),
    accepts("a lease that begins within the leeway", () => beginning(WITHIN)),
    refuses(
      "a lease that begins after the leeway",
      "lease_not_started",
      () => beginning(BEYOND),
      CERTAIN,
    ),
    accepts("a lease that is not to be used before now", () =>
      under({}, { nbf: secondsFromNow(0) }),
    ),
    accepts("a lease that is not to be used before a time within the leeway", () =>
      under({}, { nbf: secondsFromNow(WITHIN) }),
    ),
    refuses(
      "a lease that is not to be used before a time after the leeway",
      "lease_not_started",
      () => under({}, { nbf: secondsFromNow(BEYOND) }),
      CERTAIN,
    ),
    refuses("a license that is disabled", "license_disabled", () => under({ enabled: false })),
    accepts("a license that has started", () => under({ start: timeFromNow(-HOUR_SECONDS) })),
    accepts("a license that starts within the leeway", () => under({ start: timeFromNow(WITHIN) })),
    refuses(
      "a license that starts after the leeway",
      "license_not_started",
      () => under({ start: timeFromNow(BEYOND) }),
      CERTAIN,
    ),
    accepts("a license that ended within the leeway", () => endingAt(-WITHIN, 0), CERTAIN),
    refuses("a license that ended before the leeway", "license_ended", () => endingAt(-BEYOND, 0)),
    accepts("a license that is in its grace period", () =>
      endingAt(-HOUR_SECONDS, 2 * HOUR_SECONDS, { grace_hours: 2 }),
    ),
    ...[10_000_000, 1_000_000_000].map((hours) =>
      accepts(`a license that is in its grace period of ${hours} hours`, () =>
        endingAt(-HOUR_SECONDS, 2 * HOUR_SECONDS, { grace_hours: hours }),
      ),
    ),
    refuses("a license whose grace period has ended", "license_ended", () =>
      endingAt(-3 * HOUR_SECONDS, 2 * HOUR_SECONDS, { grace_hours: 2 }),
    ),
    refuses("a license that ended, with a grace period of zero", "license_ended", () =>
      endingAt(-HOUR_SECONDS, 0, { grace_hours: 0 }),
    ),
    accepts("a lease that ends with the license", () => endingAt(HOUR_SECONDS, 0)),
    refuses("a lease that ends a second after the license", "lease_outlasts_license", () =>
      endingAt(HOUR_SECONDS, 1),
    ),
    accepts("a lease that ends with the grace period", () =>
      endingAt(HOUR_SECONDS, HOUR_SECONDS, { grace_hours: 1 }),
    ),
    refuses("a lease that ends a second after the grace period", "lease_outlasts_license", () =>
      endingAt(HOUR_SECONDS, HOUR_SECONDS + 1, { grace_hours: 1 }),
    ),
    accepts("a lease that ends within the last second of the license", () =>
      endingInSecond(HOUR_SECONDS, 0),
    ),
    refuses("a lease that ends after the last part of a second", "lease_outlasts_license", () =>
      endingInSecond(HOUR_SECONDS, 1),
    ),
    accepts("a lease as long as the longest borrow", () => lasting(longest)),
    accepts("a lease as long as the longest borrow and the leeway", () => lasting(longest + 60)),
    refuses("a lease longer than the longest borrow and the leeway", "lease_too_long", () =>
      lasting(longest + 61),
    ),
    accepts("a lease as long as the time-out, without borrowing", () =>
      lasting(900 + 60, { borrow_hours: null }),
    ),
    refuses("a lease longer than the time-out, without borrowing", "lease_too_long", () =>
      lasting(900 + 61, { borrow_hours: null }),
    ),
    refuses("a lease longer than the time-out, with a borrow of zero hours", "lease_too_long", () =>
      lasting(900 + 61, { borrow_hours: 0 }),
    ),
    accepts("a lease as long as a time-out that is longer than a borrow", () =>
      lasting(3 * HOUR_SECONDS, { borrow_hours: 1, timeout_minutes: 180 }),
    ),
    refuses("a lease for another product", "other_product", () => under({}, { aud: "CAM" })),
    refuses("a license for another product", "other_product", () => under({ product: "CAM" })),
    refuses("a lease and a license for another product", "other_product", () =>
      under({ product: "CAM" }, { aud: "CAM" }),
    ),
    refuses("a product that differs in case", "other_product", () =>
      under({ product: "cad" }, { aud: "cad" }),
    ),
    refuses(
      "a lease for a list of products",
      ["lease_malformed", "other_product"],
      () => under({}, { aud: ["CAD", "CAM"] }),
      LAXER_EXAMPLE,
    ),
    ...makeOrderCases(issuer),
  ];

  function expired(seconds: number) {
    return under({}, { iat: secondsFromNow(-12 * HOUR_SECONDS), exp: secondsFromNow(-seconds) });
  }

  function beginning(seconds: number) {
    const iat = secondsFromNow(seconds);
    return under({}, { iat, exp: iat + HOUR_SECONDS });
  }

  /** Under a license that ends half a second after a whole second. */
  function endingInSecond(seconds: number, afterSecond: number) {
    const valid_until = timeFromNow(seconds).replace(".000Z", ".500Z");
    return under({ valid_until }, { exp: secondsFromNow(seconds + afterSecond) });
  }
}

interface Fault {
  readonly refusal: Refusal;
  readonly terms?: Members;
  readonly lease?: Members;
}

/** With several faults, the first check that fails decides the code, in every client. */
function makeOrderCases(issuer: LeaseIssuer): LeaseCase[] {
  const days = 24 * HOUR_SECONDS;
  const last: Fault[] = [
    { refusal: "other_license", lease: { serial: 9 } },
    { refusal: "other_device", lease: { nonce: "device-9876543210" } },
  ];
  const chains: (() => Fault[])[] = [
    () => [
      { refusal: "lease_forged", lease: { iss: "0000000000000000" } },
      { refusal: "other_product", terms: { product: "CAM" }, lease: { aud: "CAM" } },
      { refusal: "license_disabled", terms: { enabled: false } },
      { refusal: "license_not_started", terms: { start: timeFromNow(days) } },
      { refusal: "license_ended", terms: { valid_until: timeFromNow(-3 * days) } },
      { refusal: "lease_expired", lease: { exp: secondsFromNow(-days) } },
      ...last,
    ],
    () => [
      { refusal: "lease_outlasts_license", terms: { valid_until: timeFromNow(HOUR_SECONDS) } },
      { refusal: "lease_too_long", lease: { exp: secondsFromNow(90 * days) } },
      { refusal: "lease_not_started", lease: { iat: secondsFromNow(days) } },
      ...last,
    ],
  ];
  return chains.flatMap((makeFaults, chain) =>
    makeFaults().map(({ refusal }, index) =>
      refuses(`several faults with the first code, ${refusal} (list ${chain + 1})`, refusal, () => {
        const faults = makeFaults().slice(index);
        const terms = Object.assign({}, ...faults.map((fault) => fault.terms)) as Members;
        const lease = Object.assign({}, ...faults.map((fault) => fault.lease)) as Members;
        return leaseUnder(issuer, terms, lease);
      }),
    ),
  );
}
