import { describe, expect, test } from "bun:test";
import { parseRules } from "../../src/rules/parse-rules.ts";
import { checkRules, hasErrors, type SiteFacts } from "../../src/rules/site-findings.ts";

const SITE: SiteFacts = {
  clientAuth: "login",
  products: new Map([
    [
      "CAD",
      {
        slots: 5,
        features: new Map([
          ["RENDER", 2],
          ["EXPORT", null],
        ]),
      },
    ],
  ]),
};

const findingsOf = (text: string, site: SiteFacts | null = SITE): string[] =>
  checkRules(parseRules(text), site).map(
    ({ line, severity, message }) => `${line} ${severity}: ${message}`,
  );

const NETWORK = '[groups.lab]\nnetworks = ["10.1.4.0/24"]\n';
const rule = (body: string, groups = NETWORK): string => `${groups}[[rule]]\n${body}\n`;

describe("checkRules compares reservations with the licenses", () => {
  const reserve = (slots: number, feature = ""): string =>
    rule(`product = "CAD"\n${feature}reserve = [{ group = "lab", slots = ${slots} }]`);
  test("as many slots as there are can be reserved", () => {
    expect(findingsOf(reserve(5))).toEqual([]);
  });
  test("one slot more than there are is an error", () => {
    expect(findingsOf(reserve(6))).toEqual([
      '5 error: 6 slots of product "CAD" are reserved, but there are only 5',
    ]);
  });
  test("reservations of several groups are added", () => {
    const groups = `${NETWORK}[groups.b]\nlogins = ["b"]\n`;
    const two = 'reserve = [{ group = "lab", slots = 3 }, { group = "b", slots = 3 }]';
    expect(findingsOf(rule(`product = "CAD"\n${two}`, groups))).toEqual([
      '7 error: 6 slots of product "CAD" are reserved, but there are only 5',
    ]);
  });
  test("a feature has slots of its own", () => {
    expect(findingsOf(reserve(2, 'feature = "RENDER"\n'))).toEqual([]);
    expect(findingsOf(reserve(3, 'feature = "RENDER"\n'))).toEqual([
      '6 error: 3 slots of feature "RENDER" are reserved, but there are only 2',
    ]);
  });
});

describe("checkRules compares names with the licenses", () => {
  test("a product that is not installed is a warning, with the nearest product", () => {
    const text = rule('product = "CAB"\ndeny = ["lab"]');
    expect(findingsOf(text)).toEqual(['4 warning: no license is installed for product "CAB"']);
    expect(checkRules(parseRules(text), SITE)[0]?.hint).toBe('did you mean "CAD"?');
  });
  test("a feature that is not installed is a warning", () => {
    expect(findingsOf(rule('product = "CAD"\nfeature = "X"\ndeny = ["lab"]'))).toEqual([
      '4 warning: product "CAD" has no feature "X"',
    ]);
  });
  test("a feature that is not floating is an error", () => {
    expect(findingsOf(rule('product = "CAD"\nfeature = "EXPORT"\ndeny = ["lab"]'))).toEqual([
      '4 error: feature "EXPORT" is not floating: it has no slots of its own',
    ]);
  });
  test("without a site, nothing is compared", () => {
    expect(findingsOf(rule('product = "X"\ndeny = ["lab"]'), null)).toEqual([]);
  });
});

describe("checkRules names facts that callers choose", () => {
  const deny = (group: string): string =>
    rule('product = "CAD"\ndeny = ["g"]', `[groups.g]\n${group}\n`);
  const ADVISORY = 'group "g": callers choose their user and host names, so membership is advisory';
  const cases: readonly (readonly [SiteFacts["clientAuth"], string, readonly string[]])[] = [
    ["open", 'users = ["ada"]', [`1 warning: ${ADVISORY}`]],
    ["mtls", 'users = ["ada"]', [`1 warning: ${ADVISORY}`]],
    ["login", 'users = ["ada"]', []],
    ["login", 'hosts = ["ws"]', [`1 warning: ${ADVISORY}`]],
    ["open", 'networks = ["10.0.0.0/8"]', []],
    [null, 'users = ["ada"]', []],
    [
      "open",
      'logins = ["ada"]',
      ['1 warning: group "g": no caller logs in, because client_auth is "open"'],
    ],
    ["login", 'logins = ["ada"]', []],
  ];
  test.each(cases)("with client_auth %p, a group with %s", (clientAuth, group, expected) => {
    expect(findingsOf(deny(group), { ...SITE, clientAuth })).toEqual([...expected]);
  });

  test("a group by certificates is an error, also without a site", () => {
    const findings = checkRules(parseRules(deny('certificates = ["ws-17"]')), null);
    expect(findings.map(({ line, message }) => `${line}: ${message}`)).toEqual([
      '1: group "g": this version of Berth cannot see the names of certificates',
    ]);
    expect(hasErrors(findings)).toBe(true);
  });

  test("a queue where callers do not log in is a warning, once for all queues", () => {
    const text = '[[rule]]\nproduct = "CAD"\nqueue = {}\n[[rule]]\nproduct = "CAM"\nqueue = {}';
    const site: SiteFacts = {
      clientAuth: "open",
      products: new Map([
        ["CAD", { slots: 5, features: new Map() }],
        ["CAM", { slots: 5, features: new Map() }],
      ]),
    };
    expect(findingsOf(text, site)).toEqual([
      "3 warning: a place in the queue belongs to a user name: a caller that sends the name of another user can take that user's place",
    ]);
    expect(findingsOf(text, { ...site, clientAuth: "login" })).toEqual([]);
  });
});

describe("checkRules warns of rules that contradict each other", () => {
  const TWO = `[groups.a]\nlogins = ["ada"]\n[groups.b]\nlogins = ["bob"]\n`;
  const GETS_NONE = 'names group "b", which gets no slot';
  const DENIED = `${GETS_NONE}: line 7 denies it`;
  const NOT_ALLOWED = `${GETS_NONE}: none of its members can be in a group of allow_only in line 7`;
  const findingsWith = (...lines: string[]): string[] =>
    findingsOf(rule(['product = "CAD"', ...lines].join("\n"), TWO));

  test.each([
    ["allow_only", 'allow_only = ["a", "b"]'],
    ["reserve", 'reserve = [{ group = "b", slots = 1 }, { group = "a", slots = 1 }]'],
    ["limit.groups", "limit = { groups = { a = 2, b = 2 } }"],
    ["borrow.deny", 'borrow = { deny = ["a", "b"] }'],
    ["borrow.allow_only", 'borrow = { allow_only = ["a", "b"] }'],
    ["queue.priority", 'queue = { priority = ["a", "b"] }'],
  ])("%s names a group that is denied, or that allow_only leaves out", (key, text) => {
    expect(findingsWith('deny = ["b"]', text)).toContain(`8 warning: ${key} ${DENIED}`);
    if (key === "allow_only") return;
    expect(findingsWith('allow_only = ["a"]', text)).toContain(`8 warning: ${key} ${NOT_ALLOWED}`);
    expect(findingsWith('allow_only = ["a", "b"]', text).join("\n")).not.toContain("gets no slot");
  });

  const groupsOf = (a: string, b: string): string => `[groups.a]\n${a}\n[groups.b]\n${b}\n`;
  const reserveFor = (groups: string): string[] =>
    findingsOf(
      rule('product = "CAD"\nallow_only = ["a"]\nreserve = [{ group = "b", slots = 1 }]', groups),
    ).filter((finding) => finding.includes("gets no slot"));

  test.each([
    ['logins = ["ada"]', 'networks = ["10.1.4.0/24"]'],
    ['logins = ["ada"]', 'logins = ["bob"]\nnetworks = ["10.1.4.0/24"]'],
    ['logins = ["a*"]', 'logins = ["ada"]'],
    ['logins = ["ada"]', 'logins = ["bob", "a*"]'],
    ['logins = ["ab*"]', 'logins = ["a*"]'],
    ['logins = ["Ada"]', 'logins = ["ada"]\nignore_case = true'],
    ['networks = ["10.1.0.0/16"]', 'networks = ["10.1.4.0/24"]'],
    ['networks = ["10.1.4.7"]', 'networks = ["10.1.4.0/24"]'],
    ['logins = ["ada"]', "logins = []"],
  ])("a caller may be in a group with %s and in one with %s, so it warns of nothing", (a, b) => {
    expect(reserveFor(groupsOf(a, b))).toEqual([]);
  });

  test.each([
    ['logins = ["ada"]', 'logins = ["Ada"]'],
    ['logins = ["a*", "c"]', 'logins = ["b*", "d"]'],
    ['logins = ["ab*"]', 'logins = ["a"]'],
    ['networks = ["10.1.4.0/24"]', 'networks = ["10.1.5.0/24", "fd00::/8"]'],
  ])("no caller is in a group with %s and in one with %s, so it warns", (a, b) => {
    expect(reserveFor(groupsOf(a, b))).toHaveLength(1);
  });

  test("more slots are reserved for a group than its limit allows", () => {
    const limited = (slots: number): string[] =>
      findingsWith(
        `reserve = [{ group = "a", slots = ${slots} }]`,
        "limit = { groups = { a = 2, b = 1 } }",
      );
    expect(limited(3)).toEqual([
      '7 warning: 3 slots are reserved for group "a", but line 8 limits it to 2',
    ]);
    expect(limited(2)).toEqual([]);
  });

  test("borrow.keep_home keeps all slots of the licenses", () => {
    const keep = (slots: number): string[] =>
      findingsWith(`borrow = { keep_home = ${slots}, allow_only = ["a", "b"] }`);
    expect(keep(5)).toEqual([
      '7 warning: borrow.keep_home keeps all 5 slots of product "CAD": none can be borrowed',
    ]);
    expect(keep(4)).toEqual([]);
  });

  test("all other contradictions also without a site", () => {
    const text = rule('product = "X"\ndeny = ["b"]\nallow_only = ["a", "b"]', TWO);
    expect(findingsOf(text, null)).toEqual([`8 warning: allow_only ${DENIED}`]);
  });
});
