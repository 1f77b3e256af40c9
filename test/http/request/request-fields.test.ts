// Each field of a request reaches the operation: one row for each route that reads a body, a query
// or a header. What the operation does with the value is tested in test/domain and test/operations.
import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { CONTACT_FIELDS } from "../../../src/domain/model/slots/contact.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { Store } from "../../../src/store/store.ts";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type RequestFields,
  type RequestHeaders,
} from "../../support/appliance.ts";
import { makeContact } from "../../support/contact.ts";
import { makeMaintenance } from "../../support/maintenance.ts";
import { dereference, type JsonObject } from "../../support/openapi-rules.ts";
import { utc } from "../../support/scenario.ts";

/** No two fields of a row have the same value, and no value is what an absent field means. */
interface Row {
  readonly fields: RequestFields | ((site: Appliance) => RequestFields);
  readonly headers?: RequestHeaders;
  /**
   * What is called with the values: commands by their type (`Borrow`), methods of services by their
   * names (`queue.drop`). Further arguments and members are allowed.
   */
  readonly calls: Readonly<Record<string, readonly unknown[]>>;
  /** Fields whose values are checked, and then not used. */
  readonly onlyChecked?: readonly string[];
}

const ADMIN = "/api/admin/v1";
const CLIENT = "/api/v4";
const peer = "127.0.0.7";

const SLOT_FIELDS = { product: "cad", user: "eve", license_id: "7" };
const SLOT = { product: "cad", user: "eve", licenseId: 7 };
const { peer: _peer, ...sentFields } = CONTACT_FIELDS;
const SENT = Object.entries(sentFields).map(
  ([member, { apiName }]) => [member, apiName, `the ${apiName}`] as const,
);
const CONTACT = Object.fromEntries(SENT.map(([, apiName, value]) => [apiName, value]));
const contact = makeContact({
  ...Object.fromEntries(SENT.map(([member, , value]) => [member, value])),
  peer,
});
const NONCE = "a-nonce-of-a-device";
const nonceDigest = sha256(NONCE);
const PERIOD_FIELDS = { from: "2026-02-01T00:00:00Z", to: "2026-02-11T00:00:00Z" };
const PERIOD = { from: utc("2026-02-01T00:00:00Z"), to: utc("2026-02-11T00:00:00Z") };

const COUNT_FIELDS = { consumptions: "3", max_overages: "2", allow_overages: "false" };
const COUNT = { count: 3, maxOverages: 2, allowOverages: false, once: { key: "key-1" }, peer };

const REGISTER_FEATURE: Row = {
  fields: { ...SLOT_FIELDS, feature: "view", ...CONTACT },
  calls: { FeatureRegister: [{ ...SLOT, feature: "view", peer }] },
  onlyChecked: Object.keys(CONTACT),
};
const RELEASE_FEATURE: Row = {
  fields: { ...SLOT_FIELDS, feature: "view" },
  calls: { FeatureRelease: [{ ...SLOT, feature: "view", peer }] },
};
const RELEASE_ALL: Row = {
  fields: { product: "cad" },
  calls: { UnregisterAll: [{ product: "cad", peer }] },
};
const SET_KEYS: Row = {
  fields: { apiKey: "a-key", sharedKey: "a-shared-key" },
  calls: { "credentials.set": [{ apiKey: "a-key", sharedKey: "a-shared-key" }, peer] },
};
const upload = (operation: string, ...others: readonly unknown[]): Row => ({
  fields: { license: "a document" },
  calls: { [operation]: ["a document", ...others] },
});
const onPlace = (operation: string): Row => ({
  fields: { product: "cad", user: "eve" },
  calls: { [operation]: [{ product: "cad", user: "eve", peer }] },
});
const withId = (operation: string): Row => ({
  fields: (site) => ({ appliance: site.services.identity.id }),
  calls: { [operation]: [peer] },
});

const ROWS: Readonly<Record<string, Row>> = {
  [`POST ${CLIENT}/register`]: {
    fields: { ...SLOT_FIELDS, ...CONTACT },
    headers: { "X-Nonce": NONCE, Prefer: "wait=9" },
    calls: {
      Register: [{ ...SLOT, contact, nonceDigest }],
      "slots.registerWaiting": [{ nonce: NONCE }, { seconds: 9 }],
    },
  },
  [`POST ${CLIENT}/borrow`]: {
    fields: { ...SLOT_FIELDS, ...CONTACT, borrowed_until: "2026-03-02T12:00:00Z" },
    headers: { "X-Nonce": NONCE, "Idempotency-Key": "key-1" },
    calls: {
      Borrow: [
        {
          ...SLOT,
          contact,
          nonceDigest,
          until: utc("2026-03-02T12:00:00Z"),
          once: { key: "key-1" },
        },
      ],
    },
  },
  [`POST ${CLIENT}/unregister`]: {
    fields: SLOT_FIELDS,
    calls: { Unregister: [{ ...SLOT, by: "user", peer }] },
  },
  [`GET ${CLIENT}/unregister/all`]: RELEASE_ALL,
  [`POST ${CLIENT}/unregister/all`]: RELEASE_ALL,
  [`POST ${CLIENT}/add_consumption`]: {
    fields: { ...SLOT_FIELDS, ...COUNT_FIELDS },
    headers: { "Idempotency-Key": "key-1" },
    calls: { AddConsumption: [{ ...SLOT, ...COUNT }] },
  },
  [`POST ${CLIENT}/add_feature_consumption`]: {
    fields: { ...SLOT_FIELDS, feature: "plot", ...COUNT_FIELDS },
    headers: { "Idempotency-Key": "key-1" },
    calls: { AddFeatureConsumption: [{ ...SLOT, feature: "plot", ...COUNT }] },
  },
  [`POST ${CLIENT}/featureRegister`]: REGISTER_FEATURE,
  [`POST ${CLIENT}/check_license_feature`]: REGISTER_FEATURE,
  [`GET ${CLIENT}/check_license_feature`]: REGISTER_FEATURE,
  [`POST ${CLIENT}/featureRelease`]: RELEASE_FEATURE,
  [`POST ${CLIENT}/feature_release`]: RELEASE_FEATURE,
  [`GET ${CLIENT}/license`]: {
    fields: { product: "cad", license_id: "7" },
    calls: { "licensing.findLicense": [{ product: "cad", licenseId: 7 }] },
  },
  [`POST ${CLIENT}/license/generate`]: {
    fields: {
      product: "cad",
      license_key: "K-1",
      wanted_slots: "5",
      wanted_until: "2027-12-31",
      note: "a note",
      hosts: "2",
    },
    calls: {
      "licensing.request": [
        "cad",
        "K-1",
        peer,
        { slots: 5, until: "2027-12-31", note: "a note" },
        2,
      ],
    },
  },
  [`POST ${CLIENT}/license/upload`]: upload("licensing.installLicense", peer),
  [`POST ${CLIENT}/airgap/generate`]: {
    fields: { license_key: "K-1", signing_key: "a code" },
    calls: { "airgap.createActivationCode": ["K-1", "a code", peer] },
  },
  [`POST ${CLIENT}/airgap/license`]: {
    fields: {
      license_policy: "a policy",
      license_key: "K-1",
      policy_id: "P-1",
      confirmation_code: "a code",
    },
    calls: {
      "airgap.installLicense": [
        { policy: "a policy", licenseKey: "K-1", policyId: "P-1", code: "a code", peer },
      ],
    },
  },
  [`GET ${CLIENT}/setKeys`]: SET_KEYS,
  [`POST ${CLIENT}/setKeys`]: SET_KEYS,
  [`POST ${ADMIN}/clock/repair`]: upload("timekeeping.applyTimeDocument", peer),
  [`POST ${ADMIN}/move`]: withId("hostMove.moveAway"),
  [`POST ${ADMIN}/pair/leave`]: withId("pairMembership.leave"),
  [`POST ${ADMIN}/pair/admit`]: {
    fields: { request: "a request" },
    calls: { "pairMembership.admit": ["a request", peer] },
  },
  [`POST ${ADMIN}/trust/show`]: upload("vendorTrust.previewTrustDocument"),
  [`POST ${ADMIN}/trust/add`]: upload("vendorTrust.trustVendor", peer),
  [`POST ${ADMIN}/trust/remove`]: {
    fields: { vendor: "a vendor" },
    calls: { "vendorTrust.distrustVendor": ["a vendor", peer] },
  },
  [`POST ${ADMIN}/statements`]: {
    fields: { vendor: "a vendor" },
    calls: { "usageStatements.make": ["a vendor", peer] },
  },
  [`GET ${ADMIN}/statements/document`]: {
    fields: { vendor: "a vendor", number: "4" },
    calls: { "usageStatements.find": ["a vendor", 4] },
  },
  [`POST ${ADMIN}/statements/acknowledge`]: upload("usageStatements.acknowledge", peer),
  [`POST ${ADMIN}/licenses/remove`]: {
    fields: { license_id: "7", with_borrows: "true" },
    calls: { "licensing.removeLicense": [7, true, peer] },
  },
  [`GET ${ADMIN}/requests/document`]: {
    fields: { request_id: "a request" },
    calls: { "licensing.showRequest": ["a request"] },
  },
  [`POST ${ADMIN}/requests/cancel`]: {
    fields: { request_id: "a request" },
    calls: { "licensing.cancelRequest": ["a request", peer] },
  },
  [`GET ${ADMIN}/registrations`]: {
    fields: { product: "cad" },
    calls: { "slots.listInSteps": ["cad"] },
  },
  [`GET ${ADMIN}/registrations/slice`]: {
    fields: { product: "cad", after: "5", limit: "3" },
    calls: { "slots.listRegistrations": ["cad", { after: 5, limit: 3 }] },
  },
  [`POST ${ADMIN}/registrations/release`]: {
    fields: SLOT_FIELDS,
    calls: { Unregister: [{ ...SLOT, by: "admin", peer }] },
  },
  [`POST ${ADMIN}/registrations/release/users`]: {
    fields: { product: "cad", license_id: "7", users: "eve\nfay" },
    calls: {
      Unregister: [{ ...SLOT, by: "admin", peer }],
      "slots.unregisterUsers": [["eve", "fay"]],
    },
  },
  [`POST ${ADMIN}/registrations/release/all`]: RELEASE_ALL,
  [`GET ${ADMIN}/queue`]: { fields: { product: "cad" }, calls: { "queue.listInSteps": ["cad"] } },
  [`POST ${ADMIN}/queue/front`]: onPlace("queue.moveToFront"),
  [`POST ${ADMIN}/queue/drop`]: onPlace("queue.drop"),
  [`POST ${ADMIN}/access/tokens`]: {
    fields: { name: "ops", role: "viewer", days: "3" },
    calls: { "access.createToken": ["ops", 3, peer, "viewer"] },
  },
  [`POST ${ADMIN}/access/tokens/revoke`]: {
    fields: { name: "ops" },
    calls: { "access.revokeToken": ["ops", peer] },
  },
  [`POST ${ADMIN}/access/users`]: {
    fields: { name: "eve", role: "admin", password: "a long password" },
    calls: { "access.setUser": ["eve", "admin", "a long password", peer] },
  },
  [`POST ${ADMIN}/access/users/remove`]: {
    fields: { name: "eve" },
    calls: { "access.removeUser": ["eve", peer] },
  },
  [`POST ${ADMIN}/sessions/revoke`]: {
    fields: { id: "a session" },
    calls: { "access.revokeSession": ["a session", peer] },
  },
  [`GET ${ADMIN}/audit/export`]: {
    fields: { since: PERIOD_FIELDS.from, until: PERIOD_FIELDS.to },
    calls: { "auditLog.exportLines": [{ since: PERIOD.from, until: PERIOD.to }] },
  },
  [`POST ${ADMIN}/audit/repair`]: {
    fields: { accept_gap: "a reason" },
    calls: { "auditMaintenance.repair": [{ note: "a reason", peer }] },
  },
  [`POST ${ADMIN}/audit/seal`]: {
    fields: { month: "2026-01", note: "a note" },
    calls: { "auditMaintenance.seal": ["2026-01", { note: "a note", peer }] },
  },
  [`GET ${ADMIN}/report`]: {
    fields: {
      product: "cad",
      feature: "view",
      ...PERIOD_FIELDS,
      time_zone: "Europe/Berlin",
      idle_days: "5",
      anonymous: "true",
      sessions: "true",
      rows: "8",
    },
    calls: {
      "reports.buildReport": [
        {
          product: "cad",
          feature: "view",
          ...PERIOD,
          timeZone: "Europe/Berlin",
          idleDays: 5,
          isAnonymous: true,
          hasSessions: true,
          rows: 8,
        },
      ],
    },
  },
  [`GET ${ADMIN}/report/what-if`]: {
    fields: { product: "cad", feature: "view", ...PERIOD_FIELDS, slots: "4..6", target: "95" },
    calls: {
      "reports.computeWhatIf": [
        { product: "cad", feature: "view", window: PERIOD, slots: [4, 5, 6], share: 0.95 },
      ],
    },
  },
  [`POST ${ADMIN}/settings`]: {
    fields: { changes: '{"site_name":"Plant 5"}' },
    calls: { "runningServer.changeSettings": [{ site_name: "Plant 5" }, { address: peer, peer }] },
  },
  [`PUT ${ADMIN}/rules`]: {
    fields: { text: "# rules" },
    headers: { "If-Match": '"a-digest"' },
    calls: { "sharingRules.apply": ["# rules", ["a-digest"], null, peer] },
  },
  [`POST ${ADMIN}/rules/clear`]: {
    fields: {},
    headers: { "If-Match": '"a-digest"' },
    calls: { "sharingRules.apply": ["", ["a-digest"], null, peer] },
  },
  [`POST ${ADMIN}/rules/check`]: {
    fields: { text: "# rules" },
    calls: { "sharingRules.check": ["# rules", null, expect.any(AbortSignal)] },
  },
  [`GET ${ADMIN}/rules/explain`]: {
    fields: {
      user: "eve",
      host: "ws-9",
      from: "10.9.9.9",
      login: "eva",
      product: "cad",
      feature: "view",
    },
    calls: {
      "sharingRules.explain": [
        {
          user: "eve",
          host: "ws-9",
          address: "10.9.9.9",
          login: "eva",
          product: "cad",
          feature: "view",
        },
      ],
    },
  },
  [`POST ${ADMIN}/backups/verify`]: {
    fields: { backup: "a backup" },
    calls: { "backups.verify": ["a backup"] },
  },
  [`POST ${ADMIN}/backups/download`]: {
    fields: { backup: "a backup" },
    calls: { "backups.findPath": ["a backup"] },
  },
};

/** The route itself uses the value of a field; these files test what it does with it. */
const TESTED_BY_REPLIES: Readonly<Record<string, string>> = {
  [`GET ${ADMIN}/audit`]: "audit-log.test.ts",
  [`GET ${ADMIN}/audit/csv`]: "audit-log.test.ts",
  [`GET ${ADMIN}/usage`]: "usage.test.ts",
  [`GET ${ADMIN}/registrations/changes`]: "registrations-changes.test.ts",
  [`POST ${ADMIN}/qr`]: "qr.test.ts",
  [`POST ${ADMIN}/qr/join`]: "qr.test.ts",
};

interface OpenApiOperation {
  readonly parameters: readonly { readonly name: string }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: unknown }>>;
  };
}

interface OpenApiDocument extends JsonObject {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

/** The fields, query parameters and headers of each route that has any, as OpenAPI lists them. */
async function readFieldNames(): Promise<Record<string, string[]>> {
  const site = await openAppliance();
  const document = expectOk(await site.get<OpenApiDocument>("/api/v4/openapi.json"));
  const names = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters, requestBody }]) => {
      const schema = dereference(document, requestBody?.content["application/json"]?.schema);
      const body = (schema as { readonly properties?: object } | undefined)?.properties ?? {};
      const all = [...Object.keys(body), ...parameters.map(({ name }) => name)];
      return [`${method.toUpperCase()} ${path}`, all.toSorted()] as const;
    }),
  );
  return Object.fromEntries(names.filter(([, all]) => all.length > 0));
}

const fieldsOf = ({ fields }: Row, site: Appliance): RequestFields =>
  typeof fields === "function" ? fields(site) : fields;

const omit = <T extends object>(from: T, name: string): T => {
  const { [name]: _omitted, ...rest } = from as Record<string, unknown>;
  return rest as T;
};

function send(site: Appliance, route: string, fields: RequestFields, headers: RequestHeaders = {}) {
  const [method = "", path = ""] = route.split(" ");
  if (method === "GET") {
    const query = new URLSearchParams(fields as Record<string, string>);
    return site.send(method, `${path}?${query.toString()}`, { headers });
  }
  return site.send(method, path, {
    body: JSON.stringify(fields),
    headers: { "content-type": "application/json", ...headers },
  });
}

/** Records the first call of this name, in each request; the call itself is carried out. */
function recordCall(site: Appliance, name: string) {
  const [service = "", method] = name.split(".");
  const owner = service === "backups" ? site.services.runningServer : site.services;
  const spy =
    method === undefined
      ? spyOn(Store.prototype, "decide")
      : spyOn((owner as never)[service], method as never);
  onTestFinished(() => spy.mockRestore());
  return (): readonly unknown[] | undefined => {
    const calls: (readonly unknown[])[] = spy.mock.calls
      .filter(([command]) => method !== undefined || (command as { type?: string }).type === name)
      .map((args) => (method === undefined ? args.slice(0, 1) : args));
    spy.mockClear();
    return calls[0];
  };
}

test("the table of request fields has a row with every field of every route, and no others", async () => {
  const site = await openAppliance();
  const inTable = Object.entries(ROWS).map(([route, row]) => {
    const names = [...Object.keys(fieldsOf(row, site)), ...Object.keys(row.headers ?? {})];
    return [route, names.toSorted()] as const;
  });
  const documented = Object.entries(await readFieldNames());
  const others = documented.filter(([route]) => route in TESTED_BY_REPLIES);
  expect(others.map(([route]) => route).toSorted()).toEqual(
    Object.keys(TESTED_BY_REPLIES).toSorted(),
  );
  expect(Object.fromEntries(inTable)).toEqual(
    Object.fromEntries(documented.filter(([route]) => !(route in TESTED_BY_REPLIES))),
  );
});

describe.each(Object.entries(ROWS))("%s", (route, row) => {
  const { headers = {}, calls, onlyChecked = [] } = row;

  test("passes the value of every field and header to its operation", async () => {
    const site = await openAppliance({ maintenance: makeMaintenance });
    site.peer = peer;
    const records = Object.keys(calls).map((name) => [name, recordCall(site, name)] as const);
    const sendAndRecord = async (fields: RequestFields, sentHeaders: RequestHeaders) => {
      await send(site, route, fields, sentHeaders);
      return Object.fromEntries(records.map(([name, takeCall]) => [name, takeCall()]));
    };

    const fields = fieldsOf(row, site);
    const complete = await sendAndRecord(fields, headers);
    for (const [name, args] of Object.entries(calls)) {
      expect({ [name]: complete[name]?.slice(0, args.length) }).toMatchObject({ [name]: args });
    }

    const names = [...Object.keys(fields), ...Object.keys(headers)];
    for (const absent of names.filter((name) => !onlyChecked.includes(name))) {
      const calledWithout = await sendAndRecord(omit(fields, absent), omit(headers, absent));
      const isSame = JSON.stringify(calledWithout) === JSON.stringify(complete);
      expect(`without ${absent}: ${isSame ? "the same call" : "another call"}`).toBe(
        `without ${absent}: another call`,
      );
    }
  });

  if (onlyChecked.length > 0) {
    test(`checks the length of ${onlyChecked.join(", ")}`, async () => {
      const site = await openAppliance();
      for (const name of onlyChecked) {
        const fields = { ...fieldsOf(row, site), [name]: "x".repeat(4_097) };
        const message = await expectRefusedUnchanged(site, 400, "too_long", () =>
          send(site, route, fields),
        );
        expect(message).toContain(name);
      }
    });
  }
});
