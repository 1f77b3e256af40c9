import { describe, expect, test } from "bun:test";
import { parseRules } from "../../src/rules/parse-rules.ts";

/** The messages of a text, each with its line. */
const findingsOf = (text: string): string[] =>
  parseRules(text).findings.map(({ line, severity, message }) => `${line} ${severity}: ${message}`);

const GROUP = '[groups.sim]\nusers = ["ada"]\n';
/** A text with one group and one rule for the product CAD; the body begins in line 5. */
const rule = (body: string): string => `${GROUP}[[rule]]\nproduct = "CAD"\n${body}\n`;
/** The same, and the group is used. */
const usedRule = (body: string): string => `${rule(body)}deny = ["sim"]\n`;

describe("parseRules", () => {
  test("reads every key of a group and of a rule", () => {
    const { rules, findings } = parseRules(`
[groups.sim]
users = ["ada", "grace*"]
hosts = ["sim-*"]
networks = ["10.1.4.0/24"]
logins = ["ada"]
certificates = ["ws-17"]
ignore_case = true

[[rule]]
product = "CAD"
deny = ["sim"]
allow_only = ["sim"]
reserve = [{ group = "sim", slots = 4, idle = "lend" }]
limit = { each_user = 2, each_host = 4, groups = { sim = 6 } }
borrow = { allow_only = ["sim"], deny = ["sim"], max_hours = 72, max_slots = 10, keep_home = 3 }
queue = { priority = ["sim"], hold_seconds = 60, max_waiting = 50 }
`);
    expect(findings).toEqual([]);
    expect(rules).toEqual({
      groups: [
        {
          name: "sim",
          users: ["ada", "grace*"],
          hosts: ["sim-*"],
          networks: ["10.1.4.0/24"],
          logins: ["ada"],
          certificates: ["ws-17"],
          ignoreCase: true,
        },
      ],
      pools: [
        {
          product: "CAD",
          feature: null,
          deny: [{ group: "sim", line: 12 }],
          allowOnly: [{ group: "sim", line: 13 }],
          reservations: [{ group: "sim", slots: 4, idle: "lend", line: 14 }],
          eachUser: { slots: 2, line: 15 },
          eachHost: { slots: 4, line: 15 },
          groupLimits: [{ group: "sim", slots: 6, line: 15 }],
          borrow: {
            deny: [{ group: "sim", line: 16 }],
            allowOnly: [{ group: "sim", line: 16 }],
            maxHours: { hours: 72, line: 16 },
            maxSlots: { slots: 10, line: 16 },
            keepHome: { slots: 3, line: 16 },
          },
          queue: { line: 17, priority: ["sim"], holdSeconds: 60, maxWaiting: 50 },
        },
      ],
    });
  });

  test("reads an empty text as no rules", () => {
    const { rules, findings } = parseRules("# nothing\n");
    expect({ rules, findings }).toEqual({ rules: { groups: [], pools: [] }, findings: [] });
  });

  test("names the line of each group in a list over several lines", () => {
    const { rules } = parseRules(`${GROUP}[groups.b]\nusers = ["b"]\n[[rule]]
product = "CAD"
deny = [
  "sim",
  "b",
]`);
    expect(rules?.pools[0]?.deny).toEqual([
      { group: "b", line: 9 },
      { group: "sim", line: 8 },
    ]);
  });

  test("reads tables that are written below their rule", () => {
    const { rules } = parseRules(
      `${GROUP}[[rule]]\nproduct = "A"\n[rule.limit]\neach_user = 1\n[[rule.reserve]]
group = "sim"\nslots = 2\n[[rule]]\nproduct = "B"\nlimit.each_host = 3`,
    );
    expect(rules?.pools.map(({ eachUser }) => eachUser)).toEqual([{ slots: 1, line: 6 }, null]);
    expect(rules?.pools[0]?.reservations).toEqual([
      { group: "sim", slots: 2, idle: "keep", line: 8 },
    ]);
    expect(rules?.pools[1]?.eachHost).toEqual({ slots: 3, line: 12 });
  });

  test("reports every syntax error with its line, and no other findings", () => {
    expect(findingsOf('x = "\n[groups.a\nusers = 1\n[[rule]]\ny = = 2\n')).toEqual([
      "1 error: not valid TOML: unterminated string constant",
      "2 error: not valid TOML: ] is missing",
      "5 error: not valid TOML: unexpected token",
    ]);
  });

  test("reports a table that is defined twice, with its line", () => {
    expect(findingsOf("[groups.a]\n[groups.a]\n")).toEqual([
      "2 error: not valid TOML: this key or table is defined twice",
    ]);
  });

  test("reports a text that overflows the stack of the TOML parser", () => {
    expect(findingsOf(`a = """${"\n".repeat(1_000_000)}"""`)).toEqual([
      "0 error: not valid TOML: a value is too long",
    ]);
  });
});

describe("parseRules reports an error", () => {
  const cases: readonly (readonly [name: string, text: string, expected: string])[] = [
    ["an unknown key of the file", "rules = []", '1 error: unknown key "rules"'],
    ["an unknown key of a rule", usedRule("alow_only = []"), '5 error: unknown key "alow_only"'],
    [
      "an unknown key of a limit",
      usedRule("limit = { each = 1 }"),
      '5 error: unknown key "each" in limit',
    ],
    [
      "an unknown key of a group",
      '[groups.sim]\nuser = ["ada"]\nhosts = ["a"]\n[[rule]]\nproduct = "P"\ndeny = ["sim"]',
      '2 error: unknown key "user" in group "sim"',
    ],
    [
      "a rule without a product",
      "[[rule]]\nlimit = { each_user = 1 }",
      "1 error: a rule must name its product",
    ],
    [
      "an empty product",
      '[[rule]]\nproduct = ""\nlimit = { each_user = 1 }',
      "2 error: product must not be empty",
    ],
    [
      "a group that is not defined",
      rule('deny = ["sim", "sin"]'),
      '5 error: there is no group "sin"',
    ],
    [
      "a list that is a string",
      usedRule('allow_only = "sim"'),
      "5 error: allow_only must be a list of strings",
    ],
    ["an empty allow_only", usedRule("allow_only = []"), "5 error: allow_only names no group"],
    [
      "a borrow rule of a feature",
      usedRule('feature = "R"\nborrow = { max_hours = 1 }'),
      "6 error: borrow cannot be set for a feature: only slots of a product are borrowed",
    ],
    [
      "a queue of a feature",
      usedRule('feature = "R"\nqueue = {}'),
      "6 error: queue cannot be set for a feature: users wait only for slots of a product",
    ],
    [
      "an unknown group in priority",
      usedRule('queue = { priority = ["x"] }'),
      '5 error: there is no group "x"',
    ],
    [
      "a repeated group in priority",
      usedRule('queue = { priority = ["sim",\n"sim"] }'),
      '6 error: priority names group "sim" twice: lines 5 and 6',
    ],
    [
      "a reservation without slots",
      rule('reserve = [{ group = "sim" }]'),
      "5 error: a reservation needs slots",
    ],
    [
      "a reservation of no slots",
      rule('reserve = [{ group = "sim", slots = 0 }]'),
      "5 error: slots must be a whole number from 1 to 1,000,000,000",
    ],
    [
      "an unknown use of idle slots",
      rule('reserve = [{ group = "sim", slots = 1, idle = "give" }]'),
      '5 error: idle must be "keep" or "lend", not "give"',
    ],
    [
      "a limit that is a fraction",
      usedRule("limit = { each_user = 1.5 }"),
      "5 error: each_user must be a whole number from 0 to 1,000,000,000",
    ],
    [
      "hold_seconds below the minimum",
      usedRule("queue = { hold_seconds = 4 }"),
      "5 error: hold_seconds must be a whole number from 5 to 3,600",
    ],
    [
      "hold_seconds above the maximum",
      usedRule("queue = { hold_seconds = 3601 }"),
      "5 error: hold_seconds must be a whole number from 5 to 3,600",
    ],
    [
      "two reservations of a group in two rules",
      `${rule('reserve = [{ group = "sim", slots = 1 }]')}[[rule]]\nproduct = "CAD"\nreserve = [{ group = "sim", slots = 2 }]`,
      '8 error: slots are reserved twice for group "sim": lines 5 and 8',
    ],
    [
      "two queues of a product",
      `${usedRule("queue = {}")}[[rule]]\nproduct = "CAD"\nqueue = {}`,
      '9 error: queue is written twice for product "CAD": lines 5 and 9',
    ],
  ];
  test.each(cases)("for %s", (_name, text, expected) => {
    expect(findingsOf(text)).toEqual([expected]);
    expect(parseRules(text).rules).toBeNull();
  });

  const patterns: readonly (readonly [
    name: string,
    key: string,
    value: string,
    expected: string,
  ])[] = [
    ["* in the middle", "users", "a*b", 'users: * may only be at the end of a pattern: "a*b"'],
    ["an empty pattern", "hosts", "", "hosts: a pattern must not be empty"],
    [
      "an invisible character",
      "users",
      "a\\u200Bb",
      "users: a pattern must not have invisible characters",
    ],
    ["257 bytes", "logins", "a".repeat(257), "logins: a pattern must have at most 256 bytes"],
    [
      "a network with a wrong octet",
      "networks",
      "10.1.4.256/24",
      'networks: "10.1.4.256/24" is not a network',
    ],
    [
      "a network with 33 bits",
      "networks",
      "10.1.4.0/33",
      'networks: "10.1.4.0/33" is not a network',
    ],
  ];
  test.each(patterns)("for a group with %s", (_name, key, value, expected) => {
    const text = `[groups.sim]\n${key} = ["x*", "${value}"]`.replace(
      '"x*"',
      key === "networks" ? '"::/0"' : '"x*"',
    );
    expect(findingsOf(`${text}\n[[rule]]\nproduct = "P"\ndeny = ["sim"]`)).toEqual([
      `2 error: ${expected}`,
    ]);
  });
});

describe("parseRules accepts", () => {
  const accepted: readonly (readonly [name: string, text: string])[] = [
    ["hold_seconds of 5", usedRule("queue = { hold_seconds = 5 }")],
    ["hold_seconds of 3,600", usedRule("queue = { hold_seconds = 3600 }")],
    ["a limit of 0", usedRule("limit = { each_user = 0 }")],
    ["the pattern *", '[groups.all]\nusers = ["*"]\n[[rule]]\nproduct = "P"\ndeny = ["all"]'],
    [
      "a pattern of 256 bytes",
      `[groups.a]\nusers = ["${"a".repeat(256)}"]\n[[rule]]\nproduct = "P"\ndeny = ["a"]`,
    ],
    [
      "one reservation of a group for each of two products",
      `${rule('reserve = [{ group = "sim", slots = 1 }]')}[[rule]]\nproduct = "B"\nreserve = [{ group = "sim", slots = 2 }]`,
    ],
    [
      "one queue for each of two products",
      `${usedRule("queue = {}")}[[rule]]\nproduct = "B"\nqueue = {}`,
    ],
    [
      "groups named like members of objects",
      '[groups.constructor]\nusers = ["__proto__"]\n[[rule]]\nproduct = "toString"\ndeny = ["constructor"]',
    ],
  ];
  test.each(accepted)("%s", (_name, text) => {
    expect(findingsOf(text)).toEqual([]);
    expect(parseRules(text).rules).not.toBeNull();
  });
});

describe("what is missing at the end of a line is reported for that line", () => {
  test.each([
    [
      "a value before another key",
      "a = 1\nb =\nc = 2\n",
      "2 error: not valid TOML: a value is missing",
    ],
    ["a value before a comment", "b = # c\nc = 2\n", "1 error: not valid TOML: a value is missing"],
    ["a value at the end of the text", "b =\n", "1 error: not valid TOML: a value is missing"],
    ["a bracket of a header", "[groups.sim\nc = 2\n", "1 error: not valid TOML: ] is missing"],
  ])("%s", (_name, text, finding) => {
    expect(findingsOf(text)).toEqual([finding]);
  });

  test("unless the line before only looks so", () => {
    const [finding] = findingsOf('users = ["=",\n?]\n');
    expect(finding).toBe("2 error: not valid TOML: unexpected character");
  });
});

describe("a text with unusual characters", () => {
  const TEXT = usedRule("limit = { each_user = 2 }");

  test("is accepted with a byte order mark at its beginning", () => {
    expect(parseRules(`\uFEFF${TEXT}`)).toEqual(parseRules(TEXT));
  });

  test("is refused with a second byte order mark, which the message names", () => {
    expect(findingsOf(`\uFEFF\uFEFF${TEXT}`)).toEqual([
      "1 error: not valid TOML: unexpected character U+FEFF",
    ]);
  });

  test("is refused with a space that is none, which the message names", () => {
    expect(findingsOf(TEXT.replace("limit =", "limit\u00A0="))).toEqual([
      "5 error: not valid TOML: unexpected character U+00A0",
    ]);
  });

  test("is refused without the code of a character that can be seen", () => {
    expect(findingsOf("a = ?\n")).toEqual(["1 error: not valid TOML: unexpected character"]);
  });

  test("has its names quoted in messages, so that a terminal does not obey them", () => {
    const messages = findingsOf(
      usedRule('limit = { groups = { "\\u001b[31m" = "x" } }') + '[groups]\n"\\u001b[2J" = 3\n',
    ).join("\n");
    expect(messages).toContain('"\\u001b[31m" must be a whole number');
    expect(messages).toContain('group "\\u001b[2J" must be a table');
    expect(messages).not.toContain("\u001b");
  });
});

describe("parseRules warns", () => {
  const warnings: readonly (readonly [name: string, text: string, expected: string])[] = [
    ["about a group that no rule uses", GROUP, '1 warning: no rule uses group "sim"'],
    [
      "about a group without members",
      '[groups.sim]\n[[rule]]\nproduct = "P"\ndeny = ["sim"]',
      '1 warning: group "sim" has no members',
    ],
    [
      "about a rule that does nothing",
      '[[rule]]\nproduct = "P"',
      "1 warning: this rule does nothing",
    ],
    [
      "about a user with an instance",
      '[groups.sim]\nusers = ["ada#1"]\n[[rule]]\nproduct = "P"\ndeny = ["sim"]',
      '2 warning: users: "ada#1" matches no user: groups look at the name before #',
    ],
    [
      "about a network with bits after its prefix",
      '[groups.sim]\nnetworks = ["10.1.4.9/24"]\n[[rule]]\nproduct = "P"\ndeny = ["sim"]',
      '2 warning: networks: "10.1.4.9/24" names an address inside of a network',
    ],
  ];
  test.each(warnings)("%s, and still reads the rules", (_name, text, expected) => {
    expect(findingsOf(text)).toEqual([expected]);
    expect(parseRules(text).rules).not.toBeNull();
  });

  test("does not warn about a user whose name begins with #", () => {
    expect(
      findingsOf('[groups.s]\nusers = ["#ada"]\n[[rule]]\nproduct = "P"\ndeny = ["s"]'),
    ).toEqual([]);
  });
});

describe("the limits of a rules text", () => {
  const manyGroups = (count: number): string =>
    Array.from({ length: count }, (_, index) => `[groups.g${index}]\nusers = ["u${index}"]\n`).join(
      "",
    );
  const manyPatterns = (count: number): string =>
    `[groups.g]\nusers = [${Array.from({ length: count }, (_, index) => `"u${index}"`).join(",")}]\n` +
    '[[rule]]\nproduct = "P"\ndeny = ["g"]';
  const errorsOf = (text: string): string[] =>
    findingsOf(text).filter((one) => one.includes("error"));

  test("1,000 groups are accepted", () => {
    expect(errorsOf(manyGroups(1_000))).toEqual([]);
  });
  test("1,001 groups are refused", () => {
    expect(errorsOf(manyGroups(1_001))).toEqual([
      "1 error: 1,001 groups are too many: at most 1,000 are allowed",
    ]);
  });
  test("10,000 patterns are accepted", () => {
    expect(findingsOf(manyPatterns(10_000))).toEqual([]);
  });
  test("10,001 patterns are refused", () => {
    expect(findingsOf(manyPatterns(10_001))).toEqual([
      "1 error: 10,001 patterns in all groups are too many: at most 10,000 are allowed",
    ]);
  });
  test("a text of 1 MiB is accepted", () => {
    expect(findingsOf(`#${" ".repeat(1_048_575)}`)).toEqual([]);
  });
  test("a text of 1 MiB and one byte is refused", () => {
    expect(findingsOf(`#${" ".repeat(1_048_576)}`)).toEqual([
      "0 error: the rules are larger than 1 MiB",
    ]);
  });
  test("of more than 200 findings, 200 are listed, and how many are left", () => {
    const findings = findingsOf(
      Array.from({ length: 250 }, (_, index) => `k${index} = 1`).join("\n"),
    );
    expect(findings).toHaveLength(201);
    expect(findings.at(-1)).toBe("0 error: 50 more findings are not listed");
  });
});
