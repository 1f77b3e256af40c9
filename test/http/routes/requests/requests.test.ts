import { describe, expect, test } from "bun:test";
import { decodeActivationCode } from "../../../../src/license/codes/confirmation.ts";
import { verifyLicenseRequest } from "../../../../src/license/requests/request.ts";
import { DAY, instant, later, type Instant } from "../../../../src/domain/time.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { answerRequest, makeAirgapLicenseBody } from "../../../support/vendor.ts";

const REQUESTS = "/api/admin/v1/requests";

interface RequestReply {
  readonly request_id: string;
  readonly payload: string;
}

interface ListedRequest {
  readonly id: string;
  readonly kind: string;
  readonly activation_code: string | null;
}

const generate = async (site: Appliance, fields: object = {}): Promise<RequestReply> =>
  expectOk(await site.post<RequestReply>("license/generate", { ...fields }));

const list = async (site: Appliance): Promise<ListedRequest[]> =>
  expectOk(await site.get<ListedRequest[]>(REQUESTS));

const show = (site: Appliance, id: string) =>
  site.get<RequestReply>(`${REQUESTS}/document?request_id=${id}`);

const cancel = (site: Appliance, request_id: string) =>
  site.post<{ request_id: string }>(`${REQUESTS}/cancel`, { request_id });

const dayOf = (at: Instant): string => new Date(at).toISOString().slice(0, "2027-12-31".length);

const WANTED = { wanted_slots: "10", wanted_until: "2027-12-31", note: "Two more in Köln" };

describe("GET /requests", () => {
  test("is empty without requests", async () => {
    expect(await list(await openAppliance())).toEqual([]);
  });

  test("lists open requests with what they ask for, newest first", async () => {
    const site = await openAppliance();
    const first = await generate(site);
    site.clock.now = later(site.clock.now, DAY);
    const second = await generate(site, { product: "cad", license_key: "K", ...WANTED });
    const listed: object[] = await list(site);
    expect(listed).toEqual([
      {
        id: second.request_id,
        kind: "file",
        product: "cad",
        license_key: "K",
        hosts: [],
        wanted_slots: 10,
        wanted_until: "2027-12-31",
        note: "Two more in Köln",
        created_at: "2026-03-03T09:00:00.000Z",
        expires_at: "2027-04-07T09:00:00.000Z",
        activation_code: null,
      },
      {
        id: first.request_id,
        kind: "file",
        product: null,
        license_key: null,
        hosts: [],
        wanted_slots: null,
        wanted_until: null,
        note: null,
        created_at: "2026-03-02T09:00:00.000Z",
        expires_at: "2027-04-06T09:00:00.000Z",
        activation_code: null,
      },
    ]);
  });

  test("leaves out a request that is 400 days old, and keeps one of 399 days", async () => {
    const site = await openAppliance();
    await generate(site);
    site.clock.now = later(site.clock.now, 399 * DAY);
    expect(await list(site)).toHaveLength(1);
    site.clock.now = later(site.clock.now, DAY);
    expect(await list(site)).toEqual([]);
  });

  test("lists an activation code until it is confirmed", async () => {
    const site = await openAppliance();
    const body = { license_key: "K" };
    const reply = await site.post<{ activation_code: string }>("airgap/generate", body);
    const { activation_code } = expectOk(reply);
    const decoded = unwrap(decodeActivationCode(activation_code));
    expect(await list(site)).toMatchObject([
      { id: decoded.nonce, kind: "code", license_key: "K", product: null, activation_code },
    ]);
    const confirmed = await makeAirgapLicenseBody(activation_code, "K");
    expectOk(await site.post("airgap/license", confirmed));
    expect(await list(site)).toEqual([]);
  });
});

describe("GET /requests/document", () => {
  test("is the same document, byte for byte, after other changes and a restart", async () => {
    const site = await openAppliance();
    expectOk(await site.addConsumption({ consumptions: "4" }));
    const created = await generate(site, { product: "cad", ...WANTED });
    expectOk(await site.addConsumption({ consumptions: "3" }));
    await generate(site, { product: "cad" });
    site.clock.now = later(site.clock.now, DAY);
    expect(expectOk(await show(site, created.request_id))).toEqual(created);
    await site.stop();
    const restarted = await openAppliance({ folder: site.folder, licenses: {} });
    expect(expectOk(await show(restarted, created.request_id))).toEqual(created);
  });

  test("accepts an id in capital letters", async () => {
    const site = await openAppliance();
    const { request_id, payload } = await generate(site);
    expect(expectOk(await show(site, request_id.toUpperCase())).payload).toBe(payload);
  });

  test("is refused for an unknown, an answered and a cancelled request", async () => {
    const site = await openAppliance();
    const answered = await generate(site, { product: "cad" });
    expectOk(await site.upload(await answerRequest(answered.payload, 9)));
    const cancelled = await generate(site);
    expectOk(await cancel(site, cancelled.request_id));
    const messages: string[] = [];
    for (const id of ["00", answered.request_id, cancelled.request_id])
      messages.push(expectRefusal(await show(site, id), 400, "request_not_found"));
    expect(messages).toEqual([
      "no open request has this id",
      "this request was answered: its license is installed",
      "this request was cancelled",
    ]);
    expectRefusal(await show(site, ""), 400, "missing_parameters");
  });

  test("is refused after too many others were created, and the request can still be answered", async () => {
    const site = await openAppliance();
    const first = await generate(site);
    const createAndCancel = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index += 1) {
        expectOk(await cancel(site, (await generate(site)).request_id));
      }
    };
    await createAndCancel(64);
    expect(expectOk(await show(site, first.request_id)).payload).toBe(first.payload);
    await createAndCancel(64);
    const message = expectRefusal(await show(site, first.request_id), 400, "request_not_found");
    expect(message).toContain("create a new request");
    expect(await list(site)).toMatchObject([{ id: first.request_id }]);
    const answer = await answerRequest(first.payload, 2);
    expectOk(await site.upload(answer));
  });
});

describe("POST /requests/cancel", () => {
  test("removes the request from the list, and its answer is refused", async () => {
    const site = await openAppliance();
    const { request_id, payload } = await generate(site, { product: "cad" });
    const license = await answerRequest(payload, 9);
    expect(expectOk(await cancel(site, request_id))).toEqual({ request_id });
    expect(await list(site)).toEqual([]);
    await expectRefusedUnchanged(site, 400, "request_unknown", () => site.upload(license));
    const before = site.lastSeq();
    expectOk(await cancel(site, request_id));
    expect(site.lastSeq()).toBe(before);
  });

  test("makes the code that confirms a cancelled activation invalid", async () => {
    const site = await openAppliance();
    const body = { license_key: "K" };
    const reply = await site.post<{ activation_code: string }>("airgap/generate", body);
    const { activation_code } = expectOk(reply);
    const confirmed = await makeAirgapLicenseBody(activation_code, "K");
    const [{ id } = { id: "" }] = await list(site);
    expectOk(await cancel(site, id));
    await expectRefusedUnchanged(site, 400, "invalid_confirmation_code", () =>
      site.post("airgap/license", confirmed),
    );
  });

  test("is refused for an unknown id and without one, and changes nothing", async () => {
    const site = await openAppliance();
    await generate(site);
    await expectRefusedUnchanged(site, 400, "request_not_found", () => cancel(site, "00"));
    await expectRefusedUnchanged(site, 400, "missing_parameters", () => cancel(site, ""));
  });
});

describe("license/generate with wishes", () => {
  test("puts them into the signed request", async () => {
    const site = await openAppliance();
    const { payload } = await generate(site, WANTED);
    expect(unwrap(await verifyLicenseRequest(payload)).wants).toEqual({
      slots: 10,
      until: "2027-12-31",
      note: "Two more in Köln",
    });
  });

  test.each([
    ["without any", {}],
    ["with empty ones", { wanted_slots: "", wanted_until: " ", note: "  " }],
  ])("leaves the member out %s, for desks of older versions", async (_what, fields) => {
    const site = await openAppliance();
    const { payload } = await generate(site, fields);
    expect(unwrap(await verifyLicenseRequest(payload))).not.toHaveProperty("wants");
  });

  test("accepts a number as JSON, and a note of exactly 500 characters", async () => {
    const site = await openAppliance();
    const note = "é".repeat(500);
    const { payload } = await generate(site, { wanted_slots: 1, note });
    expect(unwrap(await verifyLicenseRequest(payload)).wants).toEqual({ slots: 1, note });
  });

  test.each([
    ["invalid_parameter", { wanted_slots: "0" }],
    ["invalid_parameter", { wanted_slots: "-3" }],
    ["invalid_parameter", { wanted_slots: "ten" }],
    ["invalid_parameter", { wanted_slots: "1.5" }],
    ["invalid_parameter", { wanted_slots: "1000000000001" }],
    ["invalid_parameter", { hosts: "0" }],
    ["invalid_parameter", { hosts: "3" }],
    ["invalid_parameter", { hosts: "both" }],
    ["invalid_type", { hosts: ["1", "2"] }],
    ["invalid_parameter", { wanted_until: "soon" }],
    ["invalid_parameter", { wanted_until: "2027-02-30" }],
    ["invalid_parameter", { wanted_until: "2027-12-31T00:00:00Z" }],
    ["invalid_parameter", { note: "x".repeat(501) }],
    ["invalid_characters", { note: "a\u001b[2Jb" }],
    ["invalid_characters", { note: "a\nb" }],
    ["invalid_characters", { note: "a\u202eb" }],
    ["invalid_characters", { note: "\ud800" }],
    ["invalid_type", { wanted_slots: true }],
    ["invalid_type", { note: ["a"] }],
  ])("is refused with %s for %j, and names the field", async (code, fields) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, code, () =>
      site.post("license/generate", { ...fields }),
    );
    expect(message).toContain(Object.keys(fields)[0] ?? "");
  });

  test("is for this host with hosts 1, as text and as a number, and names no pair", async () => {
    const site = await openAppliance();
    for (const hosts of ["1", 1, ""]) {
      const { payload } = await generate(site, { hosts });
      expect(unwrap(await verifyLicenseRequest(payload))).not.toHaveProperty("pair");
    }
  });

  test("is refused for two hosts on a host that serves alone", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 409, "not_a_pair", () =>
      site.post("license/generate", { hosts: "2" }),
    );
  });

  test("is refused if the wanted last day is over on the server's clock", async () => {
    const site = await openAppliance();
    const today = dayOf(site.clock.now);
    const yesterday = dayOf(later(site.clock.now, -DAY));
    const refused = expectRefusal(
      await site.post("license/generate", { wanted_until: yesterday }),
      400,
      "invalid_parameter",
    );
    expect(refused).toBe(`wanted_until must be ${today} or a later day`);
    const [, body] = await site.post("license/generate", { wanted_until: yesterday });
    expect(body).toMatchObject({ field: "wanted_until" });
  });

  test("is accepted if the wanted last day is the current day, to its last moment", async () => {
    const site = await openAppliance();
    const today = dayOf(site.clock.now);
    await generate(site, { wanted_until: today });
    site.clock.now = instant(Date.parse(today) + DAY - 1);
    await generate(site, { wanted_until: today });
    site.clock.now = instant(Date.parse(today) + DAY);
    const [answer] = await site.post("license/generate", { wanted_until: today });
    expect(answer.status).toBe(400);
  });
});
