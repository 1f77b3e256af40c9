import { describe, expect, test } from "bun:test";
import type { TermsDocument } from "../../../../src/license/terms/terms.ts";
import { runBerth, runOrThrow } from "../../../support/run-berth.ts";
import { VendorDesk } from "../../../support/vendor-desk.ts";

const words = (text: string): string[] => text.split(" ");

describe("flags for terms", () => {
  test("set every term", async () => {
    const desk = await VendorDesk.open();
    const plain = words(
      "--customer Initech --license-type subscription --trial --disabled --no-early-return " +
        "--start 2027-01-01 --valid-until 2027-12-31 --grace-hours 72 --slots 5 " +
        "--maintenance-until 2028-06-30T12:00:00+02:00 --timeout-minutes 30 --borrow-hours 24 " +
        "--move-grace-hours 48 --restore-grace-hours 24 --report-every-days 30 --consumptions unlimited --overages 7 --negative " +
        "--period annually",
    );
    const named = ["--product-name", "CAD Pro", "--metadata", '{"tier": 2}'];
    const mesh =
      "MESH:name=Meshing, fine:slots=2:timeout=30:consumptions=9:overages=3:negative=yes" +
      ":period=daily:ends=2027-03-31:metadata={a:1, b=2}";
    const features = ["--feature", mesh, "--feature", "A,B:consumptions=unlimited"];
    const terms = await desk.readPolicyTerms(...plain, ...named, ...features);
    expect(terms).toEqual({
      product: "CAD",
      product_name: "CAD Pro",
      license_key: null,
      license_type: "subscription",
      customer: "Initech",
      metadata: '{"tier": 2}',
      trial: true,
      enabled: false,
      start: "2027-01-01T00:00:00.000Z",
      valid_until: "2028-01-01T00:00:00.000Z",
      maintenance_until: "2028-06-30T10:00:00.000Z",
      grace_hours: 72,
      slots: 5,
      timeout_minutes: 30,
      borrow_hours: 24,
      early_return: false,
      move_grace_hours: 48,
      restore_grace_hours: 24,
      report_every_days: 30,
      consumption: { max: null, overages: 7, negative: true, period: "annually" },
      features: [
        {
          code: "MESH",
          name: "Meshing, fine",
          metadata: "{a:1, b=2}",
          expires: "2027-04-01T00:00:00.000Z",
          floating: { slots: 2, timeout_minutes: 30 },
          consumption: { max: 9, overages: 3, negative: true, period: "daily" },
        },
        plainFeature("A", null),
        plainFeature("B", { max: null, overages: 0, negative: false, period: null }),
      ],
    });
  });

  const plainFeature = (code: string, consumption: TermsDocument["consumption"]) => ({
    code,
    name: code,
    metadata: null,
    expires: null,
    floating: null,
    consumption,
  });

  test("remove every optional term and reverse every switch", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense(
      ...words(
        "--customer Initech --metadata m --start 2026-01-01 --valid-until 2099-12-31 --trial " +
          "--maintenance-until 2099-12-31 --grace-hours 72 --borrow-hours 24 --disabled " +
          "--no-early-return --consumptions 5 --period daily --negative --feature " +
          "A:slots=1:consumptions=5:period=daily:negative=yes:ends=2099-12-31:metadata=m",
      ),
    );
    const unset = words(
      "--customer none --metadata none --start none --valid-until never --no-trial --enabled " +
        "--maintenance-until never --grace-hours none --borrow-hours none --early-return " +
        "--period none --no-negative --feature " +
        "A:slots=none:consumptions=unlimited:period=none:negative=no:ends=never:metadata=none",
    );
    const { terms } = await desk.renewLicense(id, ...unset);
    expect(terms).toMatchObject({
      customer: null,
      metadata: null,
      start: null,
      valid_until: null,
      license_type: "perpetual",
      maintenance_until: null,
      grace_hours: null,
      borrow_hours: null,
      trial: false,
      enabled: true,
      early_return: true,
      consumption: { max: 5, overages: 0, negative: false, period: null },
      features: [plainFeature("A", { max: null, overages: 0, negative: false, period: null })],
    });
    const counted = await desk.renewLicense(id, "--consumptions", "none", "--borrow-hours", "0");
    expect(counted.terms).toMatchObject({ consumption: null, borrow_hours: null });
  });

  const dryRun = (desk: VendorDesk): string[] => {
    const named = ["--policy-id", "p", "--product", "CAD", "--valid-until", "never"];
    return ["vendor", "policy", "--dir", desk.path("desk"), ...named, "--dry-run"];
  };

  test("can be set by environment variables", async () => {
    const desk = await VendorDesk.open();
    const env = { BERTH_SLOTS: "7", BERTH_FEATURE: "A,B:slots=2", BERTH_TRIAL: "true" };
    const result = await runBerth(dryRun(desk), { env });
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout) as object).toMatchObject({
      slots: 7,
      trial: true,
      features: [{ code: "A" }, { code: "B", floating: { slots: 2 } }],
    });
  });

  test("override the environment, even an opposite flag in it", async () => {
    const desk = await VendorDesk.open();
    const env = { BERTH_DISABLED: "true" };
    const result = await runBerth([...dryRun(desk), "--enabled"], { env });
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout) as object).toMatchObject({ enabled: true });
  });

  test.each<[string, string[], string, string]>([
    ["a fraction", ["--slots", "1.5"], "--slots must be a whole number from 0 to", 'not "1.5"'],
    ["a count too large", ["--slots", "2000000000000"], "from 0 to 1000000000000", "not 2000"],
    [
      "none for a number that is required",
      ["--slots", "none"],
      "--slots must be a whole",
      'not "none"',
    ],
    ["a word as a time", ["--valid-until", "soon"], "a day or an RFC 3339 time", 'not "soon"'],
    [
      "a day that does not exist",
      ["--valid-until", "2027-02-30"],
      "--valid-until must be",
      'not "2027-02-30"',
    ],
    ["a time without a zone", ["--start", "2027-01-01T10:00:00"], "--start must", "RFC 3339"],
    ["an empty text", ["--customer", ""], "--customer must be a text of 1 to 256", 'not ""'],
    [
      "an unknown period",
      ["--consumptions", "5", "--period", "yearly"],
      "--period must be",
      "annually",
    ],
    [
      "an unknown license type",
      ["--license-type", "trial"],
      "--license-type must be one of perpetual, time-limited, subscription, consumption",
      "hint: --trial marks a license of any type as a trial",
    ],
    [
      "contradicting flags",
      ["--trial", "--no-trial"],
      "--trial and --no-trial cannot be combined",
      "omit one",
    ],
    [
      "overages without consumptions",
      ["--consumptions", "none", "--overages", "5"],
      "--overages",
      "omit them",
    ],
    ["a feature's number", ["--feature", "A:slots=x"], "--feature A: slots must be", 'not "x"'],
    ["a feature's end", ["--feature", "A:ends=soon"], "--feature A: ends must be", "RFC 3339"],
    ["a feature's setting", ["--feature", "A:slot=5"], "no setting slot", "did you mean slots?"],
    [
      "a feature's setting named like an object property",
      ["--feature", "A:constructor=5"],
      "no setting constructor",
      "CODE[:name",
    ],
    [
      "a feature twice",
      ["--feature", "A", "--feature", "A:slots=5"],
      "feature A is given twice",
      "specify each feature once",
    ],
    ["a number below zero", ["--slots", "-3"], "--slots must be a whole number", 'not "-3"'],
    [
      "a feature's yes or no",
      ["--feature", "A:consumptions=5:negative=1"],
      "--feature A: negative must be yes or no, not 1",
      "[:negative=yes]",
    ],
    [
      "a feature both added and removed",
      ["--feature", "A", "--no-feature", "A"],
      "both name A",
      "omit one",
    ],
  ])("are refused with the wrong value named: %s", async (_what, flags, error, more) => {
    const desk = await VendorDesk.open();
    const result = await desk.makePolicy(...flags);
    expect([result.code, result.stdout]).toEqual([2, ""]);
    expect(result.stderr).toStartWith("berth: error: ");
    expect(result.stderr).toContain(error);
    expect(result.stderr).toContain(more);
    expect(desk.readLedger()).toBe("");
  });
});

describe("a license of the type consumption", () => {
  test("is refused when neither the license nor a feature has a maximum", async () => {
    const desk = await VendorDesk.open();
    const typed = ["--license-type", "consumption"];
    const result = await desk.makePolicy(...typed);
    expect([result.code, result.stdout]).toEqual([1, ""]);
    expect(result.stderr).toContain("a consumption license must have a maximum consumption");
    expect(result.stderr).toContain("berth: hint: set it with --consumptions N");
    expect(desk.readLedger()).toBe("");
    expect((await desk.makePolicy(...typed, "--feature", "A:consumptions=5")).code).toBe(0);
  });
});

describe("the end of a license", () => {
  test("is after the whole named day, and the output shows the instant", async () => {
    const desk = await VendorDesk.open();
    const dated = ["--valid-until", "2027-12-31", "--maintenance-until", "2028-02-29"];
    const flags = [...dated, "--feature", "MESH:ends=2027-06-30"];
    const { stderr } = await desk.makePolicy(...flags);
    for (const end of [
      "valid until:          2027-12-31 (ends 2028-01-01T00:00:00Z)\n",
      "maintenance until:    2028-02-29 (ends 2028-03-01T00:00:00Z)\n",
      "expires 2027-06-30 (ends 2027-07-01T00:00:00Z)",
    ])
      expect(stderr).toContain(end);
    const result = await desk.makePolicy(...flags, "--json");
    expect(JSON.parse(result.stdout) as object).toMatchObject({
      valid_until: "2028-01-01T00:00:00.000Z",
    });
    const answer = ["--request", await desk.makeRequest()];
    const issued = await desk.run("issue", ...answer, "--valid-until", "2098-12-31");
    expect(issued.stderr).toContain("2098-12-31 (ends 2099-01-01T00:00:00Z)\n");
  });

  test("is exactly the RFC 3339 time that is named", async () => {
    const desk = await VendorDesk.open();
    const result = await desk.makePolicy("--valid-until", "2027-12-31T18:00:00+01:00");
    expect(result.stderr).toContain("valid until:          2027-12-31T17:00:00Z\n");
  });

  test("makes the license time-limited unless another type is named", async () => {
    const desk = await VendorDesk.open();
    const until = ["--valid-until", "2027-12-31"];
    expect((await desk.readPolicyTerms(...until)).license_type).toBe("time-limited");
    for (const type of ["subscription", "consumption", "time-limited"]) {
      const counted = type === "consumption" ? ["--consumptions", "5"] : [];
      const terms = await desk.readPolicyTerms(...until, "--license-type", type, ...counted);
      expect(terms.license_type as string).toBe(type);
    }
    const id = await desk.issueLicense("--slots", "2");
    expect((await desk.renewLicense(id, ...until)).terms.license_type).toBe("time-limited");
    expect((await desk.renewLicense(id, "--valid-until", "never")).terms.license_type).toBe(
      "perpetual",
    );
  });

  test("is refused before the start and accepted on the same day", async () => {
    const desk = await VendorDesk.open();
    const dated = ["--start", "2028-01-01", "--valid-until", "2027-12-31"];
    const result = await desk.makePolicy(...dated);
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining("before it starts")]);
    expect((await desk.makePolicy("--start", "2027-12-31", ...dated.slice(2))).code).toBe(0);
  });

  test("is refused for a perpetual license, with the reason and a hint", async () => {
    const desk = await VendorDesk.open();
    const result = await desk.makePolicy(
      "--license-type",
      "perpetual",
      "--valid-until",
      "2027-12-31",
    );
    expect([result.code, result.stdout]).toEqual([1, ""]);
    expect(result.stderr).toContain("a perpetual license has no end");
    expect(result.stderr).toContain("berth: hint: omit --license-type");
  });
});

describe("--terms FILE", () => {
  test("may contain only some terms and days, and is overridden by flags", async () => {
    const desk = await VendorDesk.open();
    const file = desk.writeFile(
      "terms.json",
      JSON.stringify({
        slots: 4,
        customer: "Initech",
        valid_until: "2027-01-31",
        start: "2026-01-01",
        consumption: { max: 10, overages: 2 },
        features: [
          { code: "MESH", floating: { slots: 2, timeout_minutes: 30 }, expires: "2026-12-31" },
          { code: "PRO" },
        ],
      }),
    );
    const flags = ["--slots", "9", "--overages", "5", "--feature", "MESH:slots=3"];
    const terms = await desk.readPolicyTerms("--terms", file, ...flags, "--no-feature", "PRO");
    expect(terms).toMatchObject({
      slots: 9,
      customer: "Initech",
      license_type: "time-limited",
      start: "2026-01-01T00:00:00.000Z",
      valid_until: "2027-02-01T00:00:00.000Z",
      consumption: { max: 10, overages: 5 },
      features: [
        {
          code: "MESH",
          floating: { slots: 3, timeout_minutes: 30 },
          expires: "2027-01-01T00:00:00.000Z",
        },
      ],
    });
    expect(terms.features).toHaveLength(1);
  });

  test("keeps the terms that the file does not name in a renewal", async () => {
    const desk = await VendorDesk.open();
    const id = await desk.issueLicense("--slots", "5", "--consumptions", "9", "--period", "daily");
    const file = desk.writeFile("terms.json", '\ufeff{"$schema":"x","consumption":{"max":20}}');
    const { terms } = await desk.renewLicense(id, "--terms", file);
    expect(terms).toMatchObject({ slots: 5, consumption: { max: 20, period: "daily" } });
  });

  test.each<[string, string]>([
    ['{"valid_until":"soon"}', 'terms: valid_until must be a day or an RFC 3339 time, not "soon"'],
    ['{"valid_until":"2027-02-30"}', "terms: valid_until must be a day or an RFC 3339 time"],
    ['{"slotz":5}', "terms: unknown field slotz: did you mean slots?"],
    ['{"slots":"5"}', 'terms: slots must be a whole number from 0 to 1000000000000, not "5"'],
    [
      '{"license_type":"trial"}',
      'terms: license_type must be one of perpetual, time-limited, subscription, consumption, not "trial"\nberth: hint: "trial": true marks',
    ],
    ['{"trial":"yes"}', 'terms: trial must be true or false, not "yes"'],
    ['{"consumption":{"maxx":5}}', "terms: unknown field consumption.maxx: did you mean max?"],
    ['{"consumption":5}', "terms: consumption must be an object, not 5"],
    ['{"features":[{"name":"A"}]}', "terms: features[0].code is required: a text of 1 to 256"],
    ['{"features":[{"code":"A","expires":1}]}', "terms: features[0].expires must be a day"],
    ['{"features":{"A":1}}', "terms: features must be a list of at most 256 features"],
    [
      '{"features":[{"code":"A"},{"code":"A"}]}',
      "terms: features[1].code must be a code that is not used",
    ],
    ['{"slots":5,"slots":500}', "terms.json contains slots twice"],
    [
      '{"features":[{"code":"A"},{"code":"B","\\u0063ode":"C"}]}',
      "terms.json contains features[1].code twice",
    ],
    ["[]", "terms: the value must be an object, not []"],
    ["{", "terms.json is not JSON: "],
  ])("is refused, and nothing is signed or recorded: %s", async (text, error) => {
    const desk = await VendorDesk.open();
    const file = ["--terms", desk.writeFile("terms.json", text)];
    const answer = ["--request", await desk.makeRequest()];
    for (const result of [
      await desk.makePolicy(...file),
      await desk.run("issue", ...answer, ...file),
    ]) {
      expect([result.code, result.stdout]).toEqual([2, ""]);
      expect(result.stderr).toContain(error);
      expect(result.stderr).toContain("berth: hint: ");
    }
    expect(desk.readLedger()).toBe("");
  });

  test("is refused when FILE does not exist", async () => {
    const desk = await VendorDesk.open();
    const result = await desk.makePolicy("--terms", desk.path("nowhere.json"));
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining("does not exist")]);
  });
});

describe("berth vendor terms", () => {
  test("prints an example that --terms accepts", async () => {
    const desk = await VendorDesk.open();
    const file = desk.writeFile("terms.json", await runOrThrow(["vendor", "terms"]));
    expect(await desk.readPolicyTerms("--terms", file)).toMatchObject({
      product: "CAD",
      customer: "Initech",
      license_type: "time-limited",
      valid_until: "2028-01-01T00:00:00.000Z",
    });
  });

  test("prints a JSON schema with every field of the terms", async () => {
    const schema = JSON.parse(await runOrThrow(["vendor", "terms", "--schema"])) as {
      additionalProperties: boolean;
      required?: string[];
      properties: Record<string, { title?: string; enum?: string[]; examples?: string[] }>;
    };
    const desk = await VendorDesk.open();
    const fields = [
      "$schema",
      ...Object.keys(
        await desk.readPolicyTerms("--report-every-days", "30", "--restore-grace-hours", "24"),
      ),
    ];
    expect(Object.keys(schema.properties).toSorted()).toEqual(fields.toSorted());
    expect([schema.additionalProperties, schema.required ?? []]).toEqual([false, []]);
    for (const [name, { title }] of Object.entries(schema.properties)) {
      expect([name, title]).toEqual([name, expect.any(String)]);
    }
    const types = ["perpetual", "time-limited", "subscription", "consumption"];
    expect(schema.properties["license_type"]?.enum).toEqual(types);
  });
});

/** With the lines of each flag joined. */
const readHelp = async (name: string): Promise<string> =>
  (await runOrThrow(["vendor", ...name.split(" "), "--help"])).replaceAll(/\n {27}/g, " ");

describe("help", () => {
  test.each<[string, string[]]>([
    ["init", ["dir"]],
    ["accept", ["dir"]],
    ["key new", ["dir"]],
    ["key retire", ["root"]],
    ["root restore", ["root"]],
    ["issue", ["dir"]],
    ["policy", ["dir", "policy-id", "product"]],
    ["confirm", ["dir", "policy", "license-key", "activation-code"]],
    ["time", ["dir", "code"]],
    ["inspect", []],
  ])("of berth vendor %s marks the required flags", async (name, flags) => {
    const help = await readHelp(name);
    const marked = [...help.matchAll(/^ {2}--(\S+) .*; required\)$/gm)].map(([, flag]) => flag);
    expect(marked).toEqual(flags);
  });

  test("of vendor issue, time and terms explains alternatives, defaults and --code", async () => {
    const issue = await readHelp("issue");
    expect(issue).toContain("one of --request, --renew and --reprint is required");
    expect(issue).toContain("maximum number of concurrent users; default 1");
    expect(issue).toContain("flags override the file");
    expect(issue).not.toMatch(/usual/);
    expect(await readHelp("time")).toContain("the clock code");
    expect(await readHelp("terms")).toContain("--schema");
  });
});
