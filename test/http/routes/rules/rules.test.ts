// The site's sharing rules over HTTP: check, apply, show, explain, clear.
import { describe, expect, test } from "bun:test";
import type { QueueReply } from "../../../../src/http/routes/queue/queue-schemas.ts";
import type {
  AppliedRulesReply,
  ExplanationReply,
  RulesCheckReply,
  RulesReply,
} from "../../../../src/http/routes/rules/rules-reply.ts";
import { sha256 } from "../../../../src/platform/crypto/hash.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type RequestHeaders,
} from "../../../support/appliance.ts";
import { minutesLater } from "../../../support/scenario.ts";
import { answerRequest } from "../../../support/vendor.ts";

const RULES = "/api/admin/v1/rules";
const NO_RULES = sha256("");

const TEXT = `[groups.sim]
networks = ["10.1.4.0/24"]

[[rule]]
product = "cad"
deny = ["sim"]
`;

const put = (site: Appliance, text: unknown, headers: RequestHeaders) =>
  site.put<AppliedRulesReply>(RULES, { text }, headers);
const apply = (site: Appliance, text: string, replaced = "*") =>
  put(site, text, { "if-match": replaced === "*" ? "*" : `"${replaced}"` });
const check = async (site: Appliance, text: string) =>
  expectOk(await site.post<RulesCheckReply>(`${RULES}/check`, { text }));
const explain = async (site: Appliance, query: string) =>
  expectOk(await site.get<ExplanationReply>(`${RULES}/explain?${query}`));
const get = (site: Appliance) => site.get<RulesReply>(RULES);

describe("GET /api/admin/v1/rules", () => {
  test("shows an empty text and its digest if there are no rules", async () => {
    const site = await openAppliance();
    const [response, body] = await get(site);
    expect(body).toEqual({ text: "", digest: NO_RULES, applied_at: null, groups: 0, pools: 0 });
    expect(response.headers.get("etag")).toBe(`"${NO_RULES}"`);
  });

  test("shows the applied text byte for byte, after a restart too", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, `# Ünïcode\r\n${TEXT}`));
    const before = expectOk(await get(site));
    expect(before.text).toBe(`# Ünïcode\r\n${TEXT}`);
    await site.stop();
    const again = await openAppliance({ folder: site.folder, licenses: {} });
    expect(expectOk(await get(again))).toEqual(before);
  });
});

describe("PUT /api/admin/v1/rules", () => {
  test("applies rules that the next register obeys", async () => {
    const site = await openAppliance();
    const reply = expectOk(await apply(site, TEXT, NO_RULES));
    expect(reply).toMatchObject({ text: TEXT, digest: sha256(TEXT), groups: 1, pools: 1 });
    site.peer = "10.1.4.9";
    const message = expectRefusal(
      await site.register({ product: "cad", user: "ada" }),
      400,
      "not_allowed_by_rules",
    );
    expect(message).toContain("line 6");
    site.peer = "10.1.5.9";
    expectOk(await site.register({ product: "cad", user: "ada" }));
  });

  test("is in the audit log with digest and size, and without the text", async () => {
    const site = await openAppliance();
    const text = `# Ünïcode\n${TEXT}`;
    expectOk(await apply(site, text));
    const [response, body] = await site.get<{ events: { detail: unknown }[] }>(
      "/api/admin/v1/audit?type=RulesApplied",
    );
    expect(response.status).toBe(200);
    expect(body).toMatchObject({
      events: [
        { detail: { digest: sha256(text), groups: 1, pools: 1, bytes: Buffer.byteLength(text) } },
      ],
    });
    expect(JSON.stringify(body)).not.toContain("10.1.4.0");
  });

  test("takes no slot away, and heartbeats go on", async () => {
    const site = await openAppliance();
    site.peer = "10.1.4.9";
    expectOk(await site.register({ product: "cad", user: "ada" }));
    site.peer = "127.0.0.1";
    expectOk(await apply(site, TEXT));
    site.peer = "10.1.4.9";
    expectOk(await site.register({ product: "cad", user: "ada" }));
    expect(await site.listHolders()).toEqual(["ada"]);
  });

  test("refuses with 428 if If-Match is missing", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 428, "precondition_required", () => put(site, TEXT, {}));
  });

  test("refuses with 412 if other rules are applied than those to replace", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, TEXT, NO_RULES));
    await expectRefusedUnchanged(site, 412, "rules_changed", () => apply(site, "", NO_RULES));
  });

  test("accepts one of several entity tags, and not a weak one", async () => {
    const site = await openAppliance();
    const tags = `"other", "${NO_RULES}"`;
    await expectRefusedUnchanged(site, 412, "rules_changed", () =>
      put(site, TEXT, { "if-match": `W/"${NO_RULES}"` }),
    );
    expectOk(await put(site, TEXT, { "if-match": tags }));
  });

  test("takes a quoted star for an entity tag, which no rules have", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 412, "rules_changed", () =>
      put(site, TEXT, { "if-match": '"*"' }),
    );
  });

  test.each([
    ["without quotes", "abc"],
    ["with one quote", '"abc'],
    ["of 5,000 characters", `"${"a".repeat(5_000)}"`],
    ["with two tags without a comma", '"a" "b"'],
  ])("refuses an If-Match %s", async (_name, tag) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "invalid_parameter", () =>
      put(site, TEXT, { "if-match": tag }),
    );
  });

  test("refuses rules with errors, and changes nothing", async () => {
    const site = await openAppliance();
    const wrong = TEXT.replace('["sim"]', '["sin"]');
    const message = await expectRefusedUnchanged(site, 400, "invalid_rules", () =>
      apply(site, wrong),
    );
    expect(message).toContain("line 6");
  });

  test("refuses lists that are nested too deep, and checks them, without an internal error", async () => {
    const site = await openAppliance();
    const deep = `${TEXT}a = ${"[".repeat(14_000)}${"]".repeat(14_000)}\n`;
    await expectRefusedUnchanged(site, 400, "invalid_rules", () => apply(site, deep));
    expect((await check(site, deep)).findings).toMatchObject([{ line: 7, severity: "error" }]);
  });

  test("refuses to reserve more slots than the licenses have", async () => {
    const site = await openAppliance();
    const reserve = (slots: number): string =>
      TEXT.replace('deny = ["sim"]', `reserve = [{ group = "sim", slots = ${slots} }]`);
    const message = await expectRefusedUnchanged(site, 400, "rules_over_reserved", () =>
      apply(site, reserve(3)),
    );
    expect(message).toContain("3 of cad, which has 2");
    expectOk(await apply(site, reserve(2)));
  });

  test("counts reserved slots once over two licenses of a product", async () => {
    const site = await openAppliance({
      licenses: { 1: { product: "cad", slots: 2 }, 2: { product: "cad", slots: 2 } },
    });
    const reserve = TEXT.replace('deny = ["sim"]', 'reserve = [{ group = "sim", slots = 2 }]');
    expectOk(await apply(site, reserve));
    site.peer = "10.9.9.9";
    for (const user of ["a", "b"]) expectOk(await site.register({ product: "cad", user }));
    const message = expectRefusal(
      await site.register({ product: "cad", user: "c" }),
      400,
      "floating_not_available",
    );
    expect(message).toContain("2 for sim");
    site.peer = "10.1.4.9";
    for (const user of ["d", "e"]) expectOk(await site.register({ product: "cad", user }));
  });

  test("writes nothing if the same rules are applied again", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, TEXT));
    const before = site.lastSeq();
    expectOk(await apply(site, TEXT));
    expect(site.lastSeq()).toBe(before);
  });

  test("accepts a text of 1 MiB, and refuses a longer one as invalid", async () => {
    const site = await openAppliance();
    const padding = "#".repeat(1_048_576 - TEXT.length - 1);
    expectOk(await apply(site, `${TEXT}${padding}\n`));
    await expectRefusedUnchanged(site, 400, "invalid_rules", () =>
      apply(site, `${TEXT}${padding}#\n`),
    );
    await expectRefusedUnchanged(site, 413, "too_large", () =>
      apply(site, "#".repeat(2 * 1_048_576)),
    );
  });

  test("refuses a viewer, who may check and explain", async () => {
    const site = await openAppliance();
    const { services } = site;
    const created = await services.access.createToken("watch", 1, "test", "viewer");
    if (!created.ok) throw new Error("no token");
    const headers = { authorization: `Bearer ${created.value.token}` };
    expectRefusal(await put(site, TEXT, { "if-match": "*", ...headers }), 403, "forbidden");
    expectRefusal(
      await site.post(`${RULES}/clear`, {}, { "if-match": "*", ...headers }),
      403,
      "forbidden",
    );
    expectOk(await site.post(`${RULES}/check`, { text: TEXT }, headers));
    expectOk(await site.get(RULES, headers));
    expectOk(await site.get(`${RULES}/explain?user=ada`, headers));
  });
});

describe("POST /api/admin/v1/rules/clear", () => {
  test("removes all rules", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, TEXT));
    const headers = { "if-match": `"${sha256(TEXT)}"` };
    const reply = expectOk(await site.post<AppliedRulesReply>(`${RULES}/clear`, {}, headers));
    expect(reply).toMatchObject({ text: "", digest: NO_RULES, applied_at: null });
    site.peer = "10.1.4.9";
    expectOk(await site.register({ product: "cad", user: "ada" }));
  });

  test("names the digest as its entity tag, which the next change can be based on", async () => {
    const site = await openAppliance();
    const tagOf = ([response]: ApiResponse<unknown>) => response.headers.get("etag") ?? "";
    const applied = tagOf(await apply(site, TEXT));
    expect(applied).toBe(`"${sha256(TEXT)}"`);
    const cleared = tagOf(await site.post(`${RULES}/clear`, {}, { "if-match": applied }));
    expect(cleared).toBe(`"${NO_RULES}"`);
    expectOk(await put(site, TEXT, { "if-match": cleared }));
  });

  test("refuses without If-Match", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 428, "precondition_required", () =>
      site.post(`${RULES}/clear`, {}),
    );
  });
});

describe("POST /api/admin/v1/rules/check", () => {
  test("lists all findings, has no preview for a text with errors, and changes nothing", async () => {
    const site = await openAppliance();
    const before = site.lastSeq();
    const { findings, preview } = await check(site, "[[rule]]\nlimt = 1\n[[rule]]\nqueue = 3\n");
    expect(findings.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
    expect(preview).toBeNull();
    expect(site.lastSeq()).toBe(before);
  });

  test("compares the rules with the installed licenses", async () => {
    const site = await openAppliance();
    const { findings } = await check(site, TEXT.replace('"cad"', '"cam"'));
    expect(findings.map(({ message }) => message)).toEqual([
      'no license is installed for product "cam"',
    ]);
  });

  test("previews holders who would be denied or above a limit, and the free slots", async () => {
    const site = await openAppliance({ licenses: { 1: { product: "cad", slots: 6 } } });
    for (const user of ["ada#1", "ada#2", "bob"]) {
      expectOk(await site.register({ product: "cad", user }));
    }
    site.peer = "10.1.4.9";
    expectOk(await site.register({ product: "cad", user: "carol" }));
    site.peer = "127.0.0.1";
    const { preview } = await check(
      site,
      `${TEXT}limit = { each_user = 1 }
reserve = [{ group = "local", slots = 4 }]
[groups.local]
networks = ["127.0.0.1"]
`,
    );
    expect(preview).toEqual([
      {
        product: "cad",
        feature: null,
        slots: 6,
        slots_in_use: 4,
        holds: 0,
        before: { reserved: 0, idle: 0, available: 2 },
        after: { reserved: 4, idle: 1, available: 1 },
        denied_total: 1,
        denied: [{ user: "carol", rule: "deny", group: "sim", line: 6 }],
        over_limit_total: 1,
        over_limit: [{ kind: "each_user", name: "ada", slots_in_use: 2, slots: 1, line: 7 }],
        denied_waiting_total: 0,
        denied_waiting: [],
      },
    ]);
  });

  test("previews users who wait and would be refused at once", async () => {
    const site = await openAppliance({ licenses: { 1: { product: "cad", slots: 1 } } });
    expectOk(await site.register({ product: "cad", user: "ada" }));
    const wait = { prefer: "wait=0" };
    site.peer = "10.1.4.9";
    await site.register({ product: "cad", user: "bob" }, wait);
    site.peer = "10.9.9.9";
    await site.register({ product: "cad", user: "carol" }, wait);
    site.peer = "127.0.0.1";
    const { preview } = await check(site, TEXT);
    expect(preview?.map(({ denied_waiting }) => denied_waiting)).toEqual([
      [{ user: "bob", rule: "deny", group: "sim", line: 6 }],
    ]);
  });

  test("counts a held slot in the preview as if its user had it", async () => {
    const site = await openAppliance({ licenses: { 1: { product: "cad", slots: 2 } } });
    for (const user of ["ada", "bob"]) expectOk(await site.register({ product: "cad", user }));
    site.peer = "10.1.4.9";
    await site.register({ product: "cad", user: "carol" }, { prefer: "wait=0" });
    site.peer = "127.0.0.1";
    expectOk(await site.unregister({ product: "cad", user: "ada" }));
    const keep = TEXT.replace('deny = ["sim"]', 'reserve = [{ group = "sim", slots = 1 }]');
    const { preview } = await check(site, keep);
    expect(preview?.map(({ holds, after }) => [holds, after.idle])).toEqual([[1, 0]]);
  });

  test("does not count a slot that ended in the preview", async () => {
    const site = await openAppliance();
    site.peer = "10.1.4.9";
    expectOk(await site.register({ product: "cad", user: "ada" }));
    site.peer = "127.0.0.1";
    site.clock.now = minutesLater(31);
    const limited = `${TEXT}reserve = [{ group = "sim", slots = 1 }]\n`;
    const { preview } = await check(site, limited);
    expect(preview).toMatchObject([
      { slots_in_use: 0, denied_total: 0, after: { reserved: 1, idle: 1, available: 1 } },
    ]);
  });

  test("counts the idle slots that are lent as free for others", async () => {
    const site = await openAppliance();
    const lend = 'reserve = [{ group = "sim", slots = 1, idle = "lend" }]';
    const text = TEXT.replace('deny = ["sim"]', lend);
    expectOk(await apply(site, text));
    const figures = { reserved: 1, idle: 1, available: 2 };
    expect((await check(site, text)).preview).toMatchObject([{ before: figures, after: figures }]);
  });

  test("previews what clearing would free", async () => {
    const site = await openAppliance();
    const keep = TEXT.replace('deny = ["sim"]', 'reserve = [{ group = "sim", slots = 2 }]');
    expectOk(await apply(site, keep));
    const { preview } = await check(site, "");
    expect(preview?.map(({ before, after }) => [before.available, after.available])).toEqual([
      [0, 2],
    ]);
  });

  test("lists 100 names, and counts all of them", async () => {
    const site = await openAppliance({ licenses: { 1: { product: "cad", slots: 150 } } });
    site.peer = "10.1.4.9";
    for (let index = 0; index < 120; index += 1) {
      expectOk(await site.register({ product: "cad", user: `user-${index}` }));
    }
    site.peer = "127.0.0.1";
    const { preview } = await check(site, TEXT);
    expect(preview?.[0]?.denied_total).toBe(120);
    expect(preview?.[0]?.denied).toHaveLength(100);
  });
});

describe("GET /api/admin/v1/rules/explain", () => {
  const rules = `[groups.sim]
networks = ["10.1.4.0/24"]
[groups.lab]
hosts = ["lab-*"]
[[rule]]
product = "cad"
deny = ["lab"]
reserve = [{ group = "sim", slots = 1 }]
limit = { each_user = 1, each_host = 3, groups = { sim = 2 } }
borrow = { max_hours = 2 }
`;

  test("lists each rule that applies with its line, and the outcome", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, rules));
    const reply = await explain(site, "user=ada%23ws-1&host=ws-3&from=10.1.4.9");
    expect(reply).toMatchObject({
      product: "cad",
      feature: null,
      person: "ada",
      groups: ["sim"],
      home: "sim",
      slots: { total: 2, in_use: 0, holds: 0, free: 2 },
      register: { result: "granted", code: null, message: null, can_wait: false },
      borrow: { result: "granted", code: null },
    });
    expect(reply.steps.map(({ rule, line, result }) => `${line} ${rule} ${result}`)).toEqual([
      "7 deny passes",
      "9 limit.each_user passes",
      "9 limit.each_host passes",
      "9 limit.groups passes",
      "8 reserve applies",
      "10 borrow.max_hours applies",
    ]);
  });

  test("finds the groups of a login", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, `[groups.staff]\nlogins = ["ada"]\n${rules}`));
    expect((await explain(site, "user=ada&login=ada")).groups).toEqual(["staff"]);
    expect((await explain(site, "user=ada&login=eve")).groups).toEqual([]);
    expect((await explain(site, "user=ada")).groups).toEqual([]);
  });

  test("reads an address with the name of a credential, as the audit log shows it", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, rules));
    expect((await explain(site, "user=ada&from=ops%4010.1.4.9")).groups).toEqual(["sim"]);
  });

  test("answers what register answers, for every kind of refusal", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, rules));
    site.peer = "10.9.9.9";
    expectOk(await site.register({ product: "cad", user: "ada#1", os_hostname: "ws-1" }));
    const callers = [
      { user: "bob", os_hostname: "lab-1" },
      { user: "ada#2", os_hostname: "ws-1" },
      { user: "bob", os_hostname: "ws-2" },
    ];
    const codes: string[] = [];
    const messages: (string | null)[] = [];
    for (const { user, os_hostname } of callers) {
      const query = new URLSearchParams({ user, host: os_hostname, from: "10.9.9.9" });
      site.peer = "127.0.0.1";
      const { register, steps } = await explain(site, String(query));
      site.peer = "10.9.9.9";
      const [, refusal] = await site.register({ product: "cad", user, os_hostname });
      expect(refusal).toMatchObject({ code: register.code, message: register.message });
      const refusing = steps.filter(({ result }) => result === "refuses").map(({ rule }) => rule);
      codes.push([register.code, register.can_wait, ...refusing].join(" "));
      messages.push(register.message);
    }
    expect(codes).toEqual([
      "not_allowed_by_rules false deny",
      "slots_capped true limit.each_user",
      "floating_not_available true",
    ]);
    expect(messages).toEqual([
      "the site's rules do not allow this caller to use cad: they deny group lab (line 7); " +
        "ask the operator",
      "by the site's rules one user may have 1 slot of cad at once, and this one has it (line 9); " +
        "try again later, or ask the operator",
      "all 2 slots are in use or reserved: 1 for sim (line 8); try again later, or ask the operator",
    ]);
  });

  test("names the limit that blocks a waiting user in the queue, without advice", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, '[[rule]]\nproduct = "cad"\nlimit = { each_user = 1 }\n'));
    expectOk(await site.register({ product: "cad", user: "ada#1" }));
    const [, waiting] = await site.register(
      { product: "cad", user: "ada#2" },
      { prefer: "wait=0" },
    );
    expect(waiting).toMatchObject({ code: "slots_capped", queue: { position: 1 } });
    const { products } = expectOk(await site.get<QueueReply>("/api/admin/v1/queue"));
    expect(products[0]?.places).toMatchObject([
      {
        user: "ada#2",
        state: "limited",
        limit: "one user may have 1 slot of cad at once (line 3)",
      },
    ]);
  });

  test("explains and previews a floating feature by its own rules", async () => {
    const site = await openAppliance();
    const text = TEXT.replace('product = "cad"', 'product = "cad"\nfeature = "view"');
    site.peer = "10.1.4.9";
    expectOk(await site.register({ product: "cad", user: "ada" }));
    expectOk(await site.featureRegister({ product: "cad", feature: "view", user: "ada" }));
    site.peer = "127.0.0.1";
    const { preview } = await check(site, text);
    expect(preview?.map((pool) => [pool.feature, pool.slots, pool.denied])).toEqual([
      ["view", 1, [{ user: "ada", rule: "deny", group: "sim", line: 7 }]],
    ]);
    expectOk(await apply(site, text));
    expect((await explain(site, "user=ada&feature=view&from=10.1.4.9")).register.result).toBe(
      "renewed",
    );
    expectOk(await site.featureRelease({ product: "cad", feature: "view", user: "ada" }));
    const denied = await explain(site, "user=ada&feature=view&from=10.1.4.9");
    expect([denied.register.code, denied.borrow]).toEqual(["not_allowed_by_rules", null]);
    expect((await explain(site, "user=ada&from=10.1.4.9")).steps).toEqual([]);
  });

  test("does not count a held slot as free", async () => {
    const site = await openAppliance();
    for (const user of ["ada", "bob"]) expectOk(await site.register({ product: "cad", user }));
    await site.register({ product: "cad", user: "eve" }, { prefer: "wait=0" });
    expectOk(await site.unregister({ product: "cad", user: "ada" }));
    const { slots } = await explain(site, "user=zoe");
    expect(slots).toEqual({ total: 2, in_use: 1, holds: 1, free: 0 });
  });

  test("says that a limit per host does not count for a caller without a host name", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, rules));
    const { steps } = await explain(site, "user=ada");
    expect(steps.find(({ rule }) => rule === "limit.each_host")).toEqual({
      rule: "limit.each_host",
      line: 9,
      result: "passes",
      text: "the caller sends no host name, so this limit does not count",
    });
  });

  test("says that a lent reservation is kept for now, after a member was refused", async () => {
    const site = await openAppliance();
    expectOk(await apply(site, rules.replace("slots = 1 }", 'slots = 1, idle = "lend" }')));
    const textOf = async (): Promise<string | undefined> =>
      (await explain(site, "user=zoe")).steps.find(({ rule }) => rule === "reserve")?.text;
    expect(await textOf()).toBe("1 slot for group sim, of which it uses 0 (lend)");
    for (const user of ["ada", "bob"]) expectOk(await site.register({ product: "cad", user }));
    site.peer = "10.1.4.9";
    expectRefusal(
      await site.register({ product: "cad", user: "eve" }),
      400,
      "floating_not_available",
    );
    site.peer = "127.0.0.1";
    expect(await textOf()).toBe(
      "1 slot for group sim, of which it uses 0 (lend, but kept for now: a member was refused)",
    );
  });

  test("does not say that a call for a floating feature can wait", async () => {
    const site = await openAppliance();
    for (const user of ["ada", "bob"]) expectOk(await site.register({ product: "cad", user }));
    expectOk(await site.featureRegister({ product: "cad", feature: "view", user: "ada" }));
    const { register } = await explain(site, "user=bob&feature=view");
    expect([register.code, register.can_wait]).toEqual(["floating_not_available", false]);
  });

  test("says that a holder's heartbeat is renewed, and writes nothing", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ product: "cad", user: "ada" }));
    const before = site.lastSeq();
    const { register, steps } = await explain(site, "user=ada");
    expect([register.result, steps]).toEqual(["renewed", []]);
    expect(site.lastSeq()).toBe(before);
  });

  test("needs a user, and a product if several are installed", async () => {
    const site = await openAppliance({
      licenses: { 1: { product: "cad" }, 2: { product: "cam" } },
    });
    expectRefusal(await site.get(`${RULES}/explain`), 400, "missing_parameters");
    expectRefusal(await site.get(`${RULES}/explain?user=a`), 400, "missing_parameters");
    expect((await explain(site, "user=a&product=cam")).product).toBe("cam");
  });
});

describe("findings about sharing rules in the status", () => {
  const codesOf = async (site: Appliance): Promise<string[]> =>
    expectOk(await site.status()).findings.flatMap(({ code }) =>
      code.startsWith("rules_") ? [code] : [],
    );

  test("names a pool with more reserved slots than its licenses have after a renewal", async () => {
    const site = await openAppliance({ licenses: { 1: { product: "cad", slots: 4 } } });
    const keep = TEXT.replace('deny = ["sim"]', 'reserve = [{ group = "sim", slots = 4 }]');
    expectOk(await apply(site, keep));
    expect(await codesOf(site)).toEqual([]);
    const request = await site.makeRequestDocument();
    expectOk(
      await site.upload(
        await answerRequest(request, 1, { product: "cad", slots: 3 }, { serial: 2 }),
      ),
    );
    expect(await codesOf(site)).toEqual(["rules_over_reserved"]);
  });
});
