import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { Desk } from "../../../../src/desk/desk.ts";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { AirgapSite } from "../../../support/airgap-site.ts";
import { openAppliance } from "../../../support/appliance.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../../support/run-berth.ts";
import { VendorDesk } from "../../../support/vendor-desk.ts";

interface ListedOrder {
  readonly license_key: string;
  readonly is_own_key: boolean;
  readonly customer: { readonly id: string; readonly name: string };
  readonly terms: { readonly slots: number; readonly valid_until: string | null };
  readonly appliances: number;
  readonly moves: number;
  readonly state: string;
  readonly holders: number;
}

/** A desk whose commands begin with `vendor`, in the folder that it returns. */
async function openOrderDesk() {
  const desk = await VendorDesk.open();
  const dir = ["--dir", desk.path("desk")];
  const run = (...words: string[]) => runBerth(["vendor", ...words, ...dir]);
  const json = <T>(...words: string[]) => runJsonOrThrow<T>(["vendor", ...words, ...dir]);
  const list = (...flags: string[]) => json<ListedOrder[]>("order", "list", ...flags);
  /** The output of a command that is refused and adds no line to the ledger. */
  const refuse = async (...words: string[]): Promise<[code: number, stderr: string]> => {
    const before = desk.readLedger();
    const { code, stderr } = await run(...words);
    expect(desk.readLedger()).toBe(before);
    return [code, stderr];
  };
  return { desk, dir, run, json, list, refuse };
}

const CAD = ["--customer", "Initech", "--product", "CAD", "--valid-until", "never"];

const refusalOf = (message: string, hint: string): string =>
  `berth: error: ${message}\nberth: hint: ${hint}\n`;

describe("berth vendor order add", () => {
  test("prints the license key and all terms that it sells, and --dry-run adds nothing", async () => {
    const { run, list } = await openOrderDesk();
    const words = ["order", "add", ...CAD, "--slots", "10", "--appliances", "2"];
    const planned = await run(...words, "--dry-run");
    expect([planned.code, planned.stderr]).toEqual([
      0,
      expect.stringContaining("nothing was added: the key is an example"),
    ]);
    expect(await list()).toEqual([]);
    const { code, stdout } = await run(...words);
    expect(code).toBe(0);
    const [{ license_key } = { license_key: "" }] = await list();
    expect(stdout).toStartWith(`license key ${license_key}\n`);
    for (const line of ["appliances:  2", "moves:       1 in 365 days", "Initech", "10"])
      expect(stdout).toContain(line);
    expect(await list()).toMatchObject([
      {
        is_own_key: true,
        customer: { id: "cust-1", name: "Initech" },
        appliances: 2,
        state: "open",
      },
    ]);
  });

  test("needs a customer, a product and an end", async () => {
    const { refuse } = await openOrderDesk();
    const without = (flag: string) =>
      CAD.filter((_, at) => at !== CAD.indexOf(flag) && at !== CAD.indexOf(flag) + 1);
    expect(await refuse("order", "add", ...without("--customer"))).toEqual([
      2,
      refusalOf("--customer is required", "--customer NAME, or its id"),
    ]);
    expect(await refuse("order", "add", ...without("--product"))).toEqual([
      1,
      refusalOf("no product is specified", "use --product CODE"),
    ]);
    expect(await refuse("order", "add", ...without("--valid-until"))).toEqual([
      1,
      refusalOf(
        "the terms do not say when the license ends",
        "use --valid-until DAY, or --valid-until never for a license without an end",
      ),
    ]);
  });
});

describe("a preset", () => {
  async function openWithPreset(text: string) {
    const all = await openOrderDesk();
    mkdirSync(all.desk.path("desk/presets"));
    all.desk.writeFile("desk/presets/cad-10.json", text);
    return all;
  }

  const TERMS = JSON.stringify({ product: "CAD", slots: 10, valid_until: null });

  test("has the terms of an order, and flags override them", async () => {
    const { run, list } = await openWithPreset(TERMS);
    const words = ["order", "add", "--customer", "Initech", "--preset", "cad-10"];
    expect((await run(...words)).code).toBe(0);
    expect((await run(...words, "--slots", "3")).code).toBe(0);
    expect((await list()).map(({ terms }) => terms.slots)).toEqual([10, 3]);
  });

  test("that does not exist is refused with those that do", async () => {
    const { desk, refuse } = await openWithPreset(TERMS);
    const words = ["order", "add", "--customer", "Initech", "--preset"];
    expect(await refuse(...words, "cad-20")).toEqual([
      2,
      refusalOf(
        `there is no preset cad-20: ${desk.path("desk/presets/cad-20.json")} does not exist`,
        "the presets are cad-10",
      ),
    ]);
    const other = await openOrderDesk();
    const [, stderr] = await other.refuse(...words, "cad-10");
    expect(stderr).toContain("berth vendor terms prints terms to begin with");
  });

  test.each(["../cad-10", "/etc/passwd", ".hidden", ""])("cannot be a path: %j", async (name) => {
    const { refuse } = await openWithPreset(TERMS);
    const [code, stderr] = await refuse("order", "add", ...CAD, "--preset", name);
    expect([code, stderr]).toEqual([2, expect.stringContaining("preset")]);
  });

  test.each(["license_key", "customer"])("cannot have a %s", async (member) => {
    const text = JSON.stringify({ ...(JSON.parse(TERMS) as object), [member]: "ACME-1" });
    const { desk, refuse } = await openWithPreset(text);
    expect(await refuse("order", "add", ...CAD, "--preset", "cad-10")).toEqual([
      2,
      refusalOf(
        `${desk.path("desk/presets/cad-10.json")} has ${member}, but a preset is for many orders`,
        `remove ${member} from it`,
      ),
    ]);
  });
});

describe("berth vendor order import", () => {
  test("adds the orders of the sample as it is", async () => {
    const { desk, dir, json, list } = await openOrderDesk();
    const sample = await runOrThrow(["vendor", "order", "import", "--sample"]);
    const file = desk.writeFile("orders.csv", sample);
    const planned = await json<{ orders: ListedOrder[] }>("order", "import", file, "--dry-run");
    expect(await list()).toEqual([]);
    const { orders } = await json<{ orders: ListedOrder[] }>("order", "import", file);
    const facts = (all: readonly ListedOrder[]) =>
      all.map(({ customer, terms, appliances }) => [customer.name, terms.slots, appliances]);
    expect(facts(orders)).toEqual([
      ["Initech", 10, 1],
      ["Initrode", 5, 2],
    ]);
    expect(facts(planned.orders)).toEqual(facts(orders));
    expect(await list()).toEqual(orders);
    const twice = await runBerth(["vendor", "order", "import", file, ...dir]);
    expect([twice.code, twice.stderr]).toEqual([
      2,
      expect.stringContaining("the desk has the same 2 orders already; add them once more?"),
    ]);
    const again = await runBerth(["vendor", "order", "import", file, ...dir, "--csv", "--yes"]);
    expect(again.stdout.split("\r\n")[1]).toMatch(
      /^Q[\dA-Z-]{22},cust-1,Initech,CAD,10,2028-01-01T/,
    );
  });

  test("reads what a spreadsheet writes: semicolons, a byte order mark, and columns in any order", async () => {
    const { desk, run, list } = await openOrderDesk();
    const text =
      '\ufeffSlots;Customer;product;valid-until;license_key;allow_weak_binding;trial\r\n7;"Büro; Süd";CAD;never;ACME-1;yes;no\r\n;;;;;;\r\n';
    const { code } = await run("order", "import", desk.writeFile("orders.csv", text));
    expect(code).toBe(0);
    expect(await list()).toMatchObject([
      {
        license_key: "ACME-1",
        is_own_key: false,
        customer: { name: "Büro; Süd" },
        allow_weak_binding: true,
        terms: { slots: 7, trial: false },
      },
    ]);
  });

  test("names every bad row, and adds none", async () => {
    const { desk, run, refuse } = await openOrderDesk();
    await run("order", "add", ...CAD, "--license-key", "TAKEN");
    const rows = [
      "customer,product,slots,valid_until,license_key,appliances,hosts,allow_weak_binding",
      "Initech,CAD,3,never,,,,",
      "Initech,CAD,three,never,,,,",
      ",CAD,3,never,,,,",
      "Initech,CAD,3,,,,,",
      "Initech,CAM,3,never,,,,",
      "Initech,CAD,3,never,TAKEN,,,",
      "Initech,CAD,3,never,,many,,",
      "Initech,CAD,3,never,,,3,",
      "Initech,CAD,3,never,,,,perhaps",
      "Initech,CAD,3,never",
      "cust-9,CAD,3,never,,,,",
      "",
      "Initech,CAD,3,never,NEW,,,",
      "Initech,CAD,3,never,NEW,,,",
    ];
    const file = desk.writeFile("orders.csv", `${rows.join("\n")}\n`);
    const [code, stderr] = await refuse("order", "import", file);
    expect(code).toBe(1);
    expect(stderr.trimEnd().split("\n")).toEqual([
      "berth: error: nothing was added: 11 rows cannot be an order:",
      expect.stringMatching(/^line 3: slots must be a whole number/) as string,
      "line 4: customer is empty",
      "line 5: the terms do not say when the license ends",
      "line 6: CAM is not a product of this vendor",
      "line 7: the license key TAKEN is used by another order",
      "line 8: appliances must be a whole number: many",
      "line 9: hosts must be 1 or 2: 3",
      "line 10: allow_weak_binding must be yes or no: perhaps",
      "line 11: it has 4 cells, and the header 8",
      "line 12: there is no customer cust-9",
      "line 15: the license key NEW is used by another order of the same import",
      "berth: hint: correct these rows and import the whole file again",
    ]);
  });

  test.each<readonly [string, string, number, string, string]>([
    [
      "an empty file",
      "",
      2,
      "the file is empty",
      "berth vendor order import --sample prints a file to begin with",
    ],
    [
      "a file without rows",
      "customer,product\n",
      1,
      "the file has no orders",
      "add rows below the header",
    ],
    [
      "a mistyped column",
      "custmer,product\na,b\n",
      2,
      'there is no column "custmer"',
      "did you mean customer?",
    ],
    [
      "a column twice",
      "customer,slots,Slots\na,1,2\n",
      2,
      "the column slots is there twice",
      "berth vendor order import --sample prints a file to begin with",
    ],
    [
      "a file without customers",
      "product\nCAD\n",
      2,
      "the column customer is missing",
      "berth vendor order import --sample prints a file to begin with",
    ],
    [
      "a quote that is not closed",
      'customer,product\n"Initech,CAD\n',
      1,
      "nothing was added: 1 row cannot be an order:\nline 2: a quote is not closed",
      "correct these rows and import the whole file again",
    ],
  ])("refuses %s", async (_, text, code, message, hint) => {
    const { desk, refuse } = await openOrderDesk();
    const file = desk.writeFile("orders.csv", text);
    expect(await refuse("order", "import", file)).toEqual([code, refusalOf(message, hint)]);
  });

  test("takes the terms of presets, of the row's own or of --preset, and cells override them", async () => {
    const { desk, run, list } = await openOrderDesk();
    mkdirSync(desk.path("desk/presets"));
    for (const [name, slots] of [
      ["small", 2],
      ["large", 20],
    ] as const) {
      const text = JSON.stringify({ product: "CAD", slots, valid_until: null });
      desk.writeFile(`desk/presets/${name}.json`, text);
    }
    const text = "customer,preset,slots\nInitech,,\nInitech,large,\nInitech,large,7\n";
    const file = desk.writeFile("orders.csv", text);
    expect((await run("order", "import", file, "--preset", "small")).code).toBe(0);
    expect((await list()).map(({ terms }) => terms.slots)).toEqual([2, 20, 7]);
    const unknown = desk.writeFile("unknown.csv", "customer,preset\nInitech,huge\n");
    const { stderr } = await run("order", "import", unknown);
    expect(stderr).toContain("line 2: there is no preset huge");
  });
});

describe("berth vendor order list", () => {
  async function openWithOrders() {
    const all = await openOrderDesk();
    const soon = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
    const add = async (customer: string, end: string, key: string) =>
      all.run(
        "order",
        "add",
        "--customer",
        customer,
        "--product",
        "CAD",
        "--valid-until",
        end,
        "--license-key",
        key,
      );
    await add("Initech", "never", "A-1");
    await add("=Initrode", soon, "A-2");
    await add("Globex", "2999-12-31", "A-3");
    await all.run("order", "close", "A-3", "--reason", "entered twice", "--yes");
    return all;
  }

  test("shows all orders, or those of a customer, a state, a key or an end", async () => {
    const { list } = await openWithOrders();
    const keysOf = async (...flags: string[]) =>
      (await list(...flags)).map(({ license_key }) => license_key);
    expect(await keysOf()).toEqual(["A-1", "A-2", "A-3"]);
    expect(await keysOf("--customer", "INIT")).toEqual(["A-1", "A-2"]);
    expect(await keysOf("--customer", "cust-2")).toEqual(["A-2"]);
    expect(await keysOf("--state", "closed")).toEqual(["A-3"]);
    expect(await keysOf("--state", "open")).toEqual(["A-1", "A-2"]);
    expect(await keysOf("--ending-within", "60d")).toEqual(["A-2"]);
    expect(await keysOf("--ending-within", "2d")).toEqual([]);
    expect(await keysOf("--license-key", "A-1")).toEqual(["A-1"]);
    expect(await keysOf("--product", "CAM")).toEqual([]);
  });

  test("writes CSV in which the name of a customer is no formula", async () => {
    const { run } = await openWithOrders();
    const { stdout } = await run("order", "list", "--csv");
    const [header = "", , second = ""] = stdout.split("\r\n");
    expect(header).toBe(
      "license_key,customer_id,customer,product,slots,valid_until,appliances,holders,hosts,moves,moves_used,allow_weak_binding,policy_id,state,changed_at",
    );
    expect(second).toMatch(
      /^A-2,cust-2,'=Initrode,CAD,1,\d{4}-\d\d-\d\dT00:00:00Z,1,0,1,1,0,no,,open,/,
    );
    expect(await run("order", "list", "--csv", "--json")).toMatchObject({ code: 2 });
  });

  test("says that there are none, or that none matches", async () => {
    const { run } = await openOrderDesk();
    expect((await run("order", "list")).stdout).toBe("there are no orders yet\n");
    await run("order", "add", ...CAD);
    expect((await run("order", "list", "--state", "closed")).stdout).toBe("no order matches\n");
  });
});

describe("berth vendor order change, show and close", () => {
  test("change says what changes, --dry-run changes nothing, and the key stays", async () => {
    const { run, list, refuse } = await openOrderDesk();
    await run("order", "add", ...CAD, "--license-key", "A-1");
    const words = ["order", "change", "A-1", "--slots", "4", "--moves", "2"];
    const planned = await run(...words, "--dry-run");
    expect(planned.stdout).toBe("would change: moves 1 → 2; slots 1 → 4\n");
    expect((await list())[0]?.terms.slots).toBe(1);
    expect((await run(...words)).stdout).toBe("changed: moves 1 → 2; slots 1 → 4\n");
    expect((await run(...words)).stdout).toBe("nothing changes\n");
    expect(
      await refuse("order", "change", "A-1", "--allow-weak-binding", "--no-weak-binding"),
    ).toEqual([
      2,
      refusalOf(
        "--allow-weak-binding and --no-weak-binding cannot be combined",
        "omit one of them",
      ),
    ]);
    expect(await refuse("order", "change", "B-1", "--slots", "4")).toEqual([
      1,
      refusalOf("there is no order B-1", "berth vendor order list shows the orders"),
    ]);
  });

  test("show names who holds the order, and close says why it is closed", async () => {
    const { desk, run } = await openOrderDesk();
    await run("order", "add", ...CAD, "--license-key", "A-1");
    const request = await desk.makeRequest();
    const issue = ["issue", "--request", request, "--license-key", "A-1", "--json"];
    expect((await run(...issue)).code).toBe(0);
    const shown = await run("order", "show", "A-1");
    expect(shown.stdout).toStartWith(
      "order A-1 of customer cust-1, Initech\nstate:       full, 1 of 1 held, 0 of 1 moves used\n",
    );
    expect(shown.stdout).toContain("holds the order");
    const closed = await run("order", "close", "A-1", "--reason", "entered twice", "--yes");
    expect(closed.stdout).toBe("the order A-1 is closed\n");
    expect((await run("order", "show", "A-1")).stdout).toContain("closed: entered twice");
    const again = await run("order", "close", "A-1", "--reason", "again", "--yes");
    expect(again.stderr).toContain("the order A-1 was closed on 20");
  });

  test("close needs a reason", async () => {
    const { run, refuse } = await openOrderDesk();
    await run("order", "add", ...CAD, "--license-key", "A-1");
    const [code, stderr] = await refuse("order", "close", "A-1", "--reason", " ", "--yes");
    expect([code, stderr]).toEqual([2, expect.stringContaining("the reason is empty")]);
  });
});

describe("berth vendor order renew", () => {
  test("gives orders a later end, and signs the renewals of their sites with --out-dir", async () => {
    const { desk, run, json, refuse } = await openOrderDesk();
    const end = ["--valid-until", "2998-12-31"];
    await run(
      "order",
      "add",
      "--customer",
      "Initech",
      "--product",
      "CAD",
      ...end,
      "--license-key",
      "A-1",
    );
    await run("issue", "--request", await desk.makeRequest(), "--license-key", "A-1", "--json");
    expect(await refuse("order", "renew", "--valid-until", "2999-12-31")).toEqual([
      2,
      refusalOf(
        "either license keys or --ending-within, --customer and --product choose the orders",
        "berth vendor order renew KEY --valid-until DAY",
      ),
    ]);
    const renew = ["order", "renew", "A-1", "--valid-until", "2999-12-31"];
    const planned = await run(...renew, "--dry-run", "--out-dir", desk.path("renewals"));
    expect(planned.stderr).toContain("nothing was changed: 1 order would be");
    expect(readdirSync(desk.folder)).not.toContain("renewals");
    const renewed = await json<{ renewed: { license_id: number; serial: number }[] }>(
      ...renew,
      "--out-dir",
      desk.path("renewals"),
    );
    expect(renewed).toMatchObject({
      orders: [{ license_key: "A-1", valid_until: "3000-01-01T00:00:00.000Z" }],
      renewed: [{ serial: 2, outcome: "renewed" }],
      by_code: 0,
    });
    expect(readdirSync(desk.path("renewals"))).toEqual([
      `${renewed.renewed[0]?.license_id}.license.jwt`,
    ]);
    const again = await json<object>(...renew, "--out-dir", desk.path("renewals"));
    expect(again).toMatchObject({ orders: [{ changes: [] }], renewed: [{ outcome: "repeated" }] });
  });
});

describe("berth vendor order adopt", () => {
  test("shows with --dry-run what it would make, says what it leaves, and is done once", async () => {
    const { desk, run, json, list, refuse } = await openOrderDesk();
    expect((await run("order", "adopt", "--yes")).stdout).toBe(
      "every license in use has an order\n",
    );
    const license = await desk.issueLicense("--license-key", "OLD-1", "--slots", "4");
    const left = await run("order", "adopt", "--yes");
    expect(left.stderr).toContain(
      `not adopted: license ${license}: no customer is named: --customer NAME names one`,
    );
    const adopt = ["order", "adopt", "--customer", "Initech"];
    const planned = await run(...adopt, "--dry-run");
    expect(planned.stderr).toContain(
      "nothing was changed: keys that the desk would make are examples",
    );
    expect(planned.stdout).toContain("OLD-1");
    expect(await list()).toEqual([]);
    const [code, stderr] = await refuse(...adopt);
    expect([code, stderr]).toEqual([2, expect.stringContaining("make 1 order for licenses")]);
    expect(await json<object>(...adopt, "--yes")).toMatchObject({
      orders: [
        {
          license_key: "OLD-1",
          customer: "Initech",
          licenses: [{ license_id: Number(license) }],
        },
      ],
      not_adopted: [],
    });
    expect(await list()).toMatchObject([{ license_key: "OLD-1", state: "full", holders: 1 }]);
    expect((await run(...adopt, "--yes")).stdout).toBe("every license in use has an order\n");
  });
});

describe("berth vendor customer", () => {
  test("lists customers with their orders, renames and merges them", async () => {
    const { run, json } = await openOrderDesk();
    expect((await run("customer", "list")).stdout).toBe(
      "there are no customers yet: berth vendor order add adds them\n",
    );
    await run("order", "add", ...CAD);
    await run("order", "add", ...CAD.with(1, "Initrode"));
    expect((await run("customer", "rename", "cust-2", "Initrode Ltd")).stdout).toBe(
      "customer cust-2 is now Initrode Ltd\n",
    );
    const row = { holders: 0, written_off: 0 };
    expect(await json("customer", "list")).toEqual([
      { customer: "cust-1", name: "Initech", orders: 1, ...row },
      { customer: "cust-2", name: "Initrode Ltd", orders: 1, ...row },
    ]);
    expect((await run("customer", "merge", "cust-2", "--into", "initech", "--yes")).stdout).toBe(
      "the orders of customer cust-2 are now those of cust-1, Initech\n",
    );
    expect((await run("customer", "list", "--csv")).stdout).toBe(
      "customer,name,orders,holders,written_off\r\ncust-1,Initech,2,0,0\r\n",
    );
  });
});

describe("berth vendor restored", () => {
  test("says that nothing is lacking, or since when and why", async () => {
    const { desk, run } = await openOrderDesk();
    expect((await run("restored")).stdout).toBe("nothing shows that the ledger lacks a license\n");
    const backup = desk.path("desk.backup");
    await run("backup", backup, "--yes");
    const restored = ["--dir", desk.path("restored")];
    await runOrThrow(["vendor", "restore", backup, ...restored]);
    const shown = await runBerth(["vendor", "restored", ...restored]);
    expect(shown.stdout).toMatch(
      /^only appliances that hold an order are answered automatically, since \d{4}-\d\d-\d\d: it was restored from a backup of /,
    );
    expect(shown.stderr).toContain("--end REASON ends this state");
    const end = ["vendor", "restored", ...restored, "--end", "complete again", "--yes"];
    expect(await runJsonOrThrow<object>(end)).toEqual({
      restored: false,
      since: null,
      cause: null,
    });
  });
});

describe("berth vendor confirm", () => {
  test("confirms a code for a place of an order, with what a person should know", async () => {
    const { desk, run, json, list, refuse } = await openOrderDesk();
    const policy = ["--policy-id", "basic", "--product", "CAD", "--slots", "3"];
    const file = desk.path("policy.jwt");
    await run("policy", ...policy, "--valid-until", "never", "--out", file);
    const basic = ["--policy-id", "basic", "--license-key", "A-1"];
    expect((await refuse("order", "add", ...CAD, "--slots", "5", ...basic))[1]).toContain(
      "policy basic differs from the order: slots 5 → 3",
    );
    // Without terms, those of the policy.
    await run("order", "add", "--customer", "Initech", ...basic);
    const phone = new AirgapSite(
      await openAppliance({ licenses: {} }),
      await Desk.open(realDisk, desk.path("desk"), null),
    );
    const code = ["--activation-code", await phone.requestActivationCode("A-1")];
    const confirm = ["confirm", "--policy", file, "--license-key", "A-1", ...code];
    expect((await refuse(...confirm, "--valid-until", "2099-12-31"))[1]).toBe(
      refusalOf(
        "the order A-1 has no end",
        "omit --valid-until, or change the order: berth vendor order change A-1",
      ),
    );
    const result = await run(...confirm, "--json");
    expect(JSON.parse(result.stdout)).toMatchObject({
      policy_id: "basic",
      valid_until: null,
      reasons: [{ code: "vendor_key" }],
    });
    expect(result.stderr).toContain("the license key is the vendor's own and can be guessed");
    expect(await list()).toMatchObject([{ state: "full", holders: 1 }]);
    const renewed = await json<object>("order", "renew", "A-1", "--valid-until", "never");
    expect(renewed).toMatchObject({ by_code: 1, renewed: [] });
  });
});

describe("berth vendor issue --write-off", () => {
  test("needs a reason, asks where the lost license has no end, and shows the state written off", async () => {
    const { desk, run, json, refuse } = await openOrderDesk();
    await run("order", "add", ...CAD, "--license-key", "A-1");
    await run("issue", "--request", await desk.makeRequest(), "--license-key", "A-1", "--json");
    const [{ appliance, license_id } = { appliance: "", license_id: 0 }] =
      await json<{ appliance: string; license_id: number }[]>("list");
    const other = await VendorDesk.open();
    const request = await other.makeRequest();
    const issue = ["issue", "--request", request, "--license-key", "A-1"];
    const [code, stderr] = await refuse(...issue, "--write-off", appliance);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("--write-off needs a reason, which the ledger keeps"),
    ]);
    expect((await refuse(...issue, "--reason", "lost"))[1]).toContain(
      "--reason is for --write-off",
    );
    const lost = [...issue, "--write-off", appliance, "--reason", "the disk died"];
    const [asked, question] = await refuse(...lost);
    expect([asked, question]).toEqual([2, expect.stringContaining("--yes")]);
    expect(question).toContain(
      `license ${license_id} of appliance ${appliance} is written off; if its machine runs again, it has no end`,
    );
    expect((await run(...lost, "--yes", "--json")).code).toBe(0);
    const states = await json<{ license_id: number; state: string }[]>("list");
    expect(states.map(({ state }) => state)).toEqual(["active", "written off"]);
    expect((await run("list", "--csv", "--state", "written off")).stdout).toContain("written off");
    expect(await json("customer", "list")).toMatchObject([{ written_off: 1 }]);
    expect((await run("order", "show", "A-1")).stdout).toContain("written off");
  });
});
