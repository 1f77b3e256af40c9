// One successful reply of every route, of one site whose clock stands still.
import { DAY, later } from "../../src/domain/time.ts";
import { signAcknowledgement } from "../../src/license/documents/acknowledgement.ts";
import { generateKey } from "../../src/license/documents/keys.ts";
import { decodeTimeCode, signTimeDocument } from "../../src/license/documents/time-document.ts";
import { formatPairRequest } from "../../src/license/requests/pair-request.ts";
import { generateExchangeKey } from "../../src/license/pair-admission.ts";
import { version } from "../../src/platform/embedded/version.ts";
import {
  Appliance,
  expectOk,
  openAppliance,
  type ApiResponse,
  type RequestFields,
  type RequestHeaders,
} from "../support/appliance.ts";
import { machine, openPairOfTwo } from "../support/licensed-pair.ts";
import { makeMaintenance } from "../support/maintenance.ts";
import { consumptionTerms, featureTerms, hoursLater, minutesLater } from "../support/scenario.ts";
import {
  answerRequest,
  makeAirgapLicenseBody,
  makeTrustDocument,
  VENDOR,
} from "../support/vendor.ts";

export interface Reply {
  readonly route: string;
  /** The route; a second reply of it has an addition. */
  readonly title: string;
  readonly response: Response;
  readonly body: unknown;
}

const ADMIN = "/api/admin/v1";
const CLIENT = "/api/v4";
const PASSWORD = "correct horse battery";
export const RULES = `[groups.staff]
users = ["ada", "bob"]

[[rule]]
product = "cad"
reserve = [{ group = "staff", slots = 1 }]
`;

/** Calls routes, and keeps each reply. */
class ReplyRecorder {
  readonly replies: Reply[] = [];
  readonly #site: Appliance;
  readonly #addition: string;

  constructor(site: Appliance, addition = "") {
    this.#site = site;
    this.#addition = addition;
  }

  async get<T = never>(
    path: string,
    query: Readonly<Record<string, string>> = {},
    headers: RequestHeaders = {},
  ): Promise<T> {
    const search = new URLSearchParams(query).toString();
    const target = search === "" ? path : `${path}?${search}`;
    return this.#keep(`GET ${path}`, await this.#site.get<T>(target, headers));
  }

  async post<T = never>(
    path: string,
    fields: RequestFields = {},
    headers: RequestHeaders = {},
  ): Promise<T> {
    return this.#keep(`POST ${path}`, await this.#site.post<T>(path, fields, headers));
  }

  async send<T = never>(method: string, path: string, fields: RequestFields, headers = {}) {
    const raw = {
      body: JSON.stringify(fields),
      headers: { "content-type": "application/json", ...headers },
    };
    return this.#keep(`${method} ${path}`, await this.#site.send<T>(method, path, raw));
  }

  #keep<T>(route: string, [response, body]: ApiResponse<T>): T {
    if (response.status !== 200) throw new Error(`${route}: ${JSON.stringify(body)}`);
    const title = this.#addition === "" ? route : `${route} (${this.#addition})`;
    this.replies.push({ route, title, response, body });
    return body;
  }
}

export const WANTED_UNTIL = "2027-12-31";

/** Two slots, a feature of each kind, and counted use, which grows by days. */
export const CAD = {
  productName: "CAD",
  customer: "Initech",
  metadata: "floor 2",
  validUntil: later(hoursLater(0), 300 * DAY),
  maintenanceUntil: later(hoursLater(0), 200 * DAY),
  reportEveryDays: 30,
  consumption: consumptionTerms({ max: 10, overages: 2 }),
  features: [
    featureTerms("view", { floating: { slots: 1, timeoutMinutes: 10 } }),
    featureTerms("plot", { consumption: consumptionTerms({ max: 5 }) }),
    featureTerms("skin"),
  ],
};

export async function collectReplies(): Promise<Reply[]> {
  const site = await openAppliance({
    licenses: { 1: CAD, 2: { product: "cam", type: "perpetual", slots: 5 } },
    maintenance: makeMaintenance,
    contactClock: () => 0,
  });
  const recorder = new ReplyRecorder(site);
  await callClients(site, recorder);
  await callLicensing(site, recorder);
  await callAdministration(site, recorder);
  await callMaintenance(recorder);
  await callAtTheEnd(site, recorder);
  return [...recorder.replies, ...(await collectPairReplies(site))];
}

/** The host beta is admitted again, and then alpha ends the pair. */
async function collectPairReplies({ services, clock }: Appliance): Promise<Reply[]> {
  const { alpha } = await openPairOfTwo();
  const host = new Appliance({ ...services, ...alpha.operations }, clock, alpha.folder);
  const recorder = new ReplyRecorder(host, "of a pair");
  const request = formatPairRequest({
    berth_pair_request: 1,
    host: "beta",
    version,
    made_at: 1,
    public_key: (await generateExchangeKey()).x,
    hardware: machine("beta"),
  });
  await recorder.post(`${ADMIN}/pair/admit`, { request });
  await recorder.get(`${ADMIN}/pair`);
  await recorder.post(`${ADMIN}/pair/leave`, { appliance: alpha.operations.identity.id });
  return recorder.replies;
}

const CONTACT = { os_hostname: "ws-9", ip_local: "10.9.9.9", user_info: "night shift" };
const ADA = { product: "cad", user: "ada" };
const CHANGES = `${ADMIN}/registrations/changes`;
const NONCE = { "X-Nonce": "a-nonce-of-a-device" };

/** Afterwards ada holds a slot with a feature, and bob has borrowed one; gus waits. */
async function callClients(site: Appliance, to: ReplyRecorder): Promise<void> {
  await to.get("/");
  await to.get(`${CLIENT}/docs`);
  await to.get(`${CLIENT}/openapi.json`);
  await to.get(`${CLIENT}/health`);
  await to.post(`${CLIENT}/register`, { ...ADA, ...CONTACT }, NONCE);
  const until = { borrowed_until: "2026-03-02T19:00:00Z" };
  await to.post(`${CLIENT}/borrow`, { product: "cad", user: "bob", ...CONTACT, ...until }, NONCE);
  for (const user of ["eve", "fay", "gus"]) {
    await site.register({ product: "cad", user }, { Prefer: "wait=0" });
  }
  await to.get(`${ADMIN}/queue`);
  await to.post(`${ADMIN}/queue/front`, { product: "cad", user: "gus" });
  await to.post(`${ADMIN}/queue/drop`, { product: "cad", user: "eve" });

  await to.post(`${CLIENT}/featureRegister`, { ...ADA, feature: "view" });
  await to.post(`${CLIENT}/featureRelease`, { ...ADA, feature: "view" });
  await to.post(`${CLIENT}/check_license_feature`, { ...ADA, feature: "view" });
  await to.post(`${CLIENT}/feature_release`, { ...ADA, feature: "view" });
  await to.get(`${CLIENT}/check_license_feature`, { ...ADA, feature: "view" });
  await to.post(`${CLIENT}/add_consumption`, { ...ADA, consumptions: "3" });
  await to.post(`${CLIENT}/add_feature_consumption`, { ...ADA, feature: "plot" });
  await to.get(`${CLIENT}/license`, { product: "cad" });
  site.clock.now = minutesLater(1);
  await to.get(`${ADMIN}/registrations/slice`, { product: "cad", limit: "1" });
  const { next } = expectOk(await site.get<{ next: string }>(CHANGES));
  await site.register(ADA);
  await site.register({ product: "cam", user: "ada" });
  await to.get(CHANGES, { since: next });
  await to.get(`${ADMIN}/registrations`);
  await to.get(`${ADMIN}/status`);
  await to.get(`${ADMIN}/stream`);
  await to.get("/metrics");
}

async function callLicensing(site: Appliance, to: ReplyRecorder): Promise<void> {
  const wanted = { wanted_slots: "5", wanted_until: WANTED_UNTIL, note: "a note" };
  const { payload, request_id } = await to.post<{ payload: string; request_id: string }>(
    `${CLIENT}/license/generate`,
    { product: "cad", license_key: "K-1", ...wanted },
  );
  const { activation_code } = await to.post<{ activation_code: string }>(
    `${CLIENT}/airgap/generate`,
    { license_key: "K-2" },
  );
  await to.get(`${ADMIN}/requests`);
  await to.get(`${ADMIN}/requests/document`, { request_id });
  await to.post(`${CLIENT}/license/upload`, { license: await answerRequest(payload, 9) });
  await to.post(`${CLIENT}/airgap/license`, await makeAirgapLicenseBody(activation_code, "K-2"));
  const other = expectOk(await site.post<{ request_id: string }>("license/generate", {}));
  await to.post(`${ADMIN}/requests/cancel`, { request_id: other.request_id });
  const licenses = await to.get<{ id: number }[]>(`${ADMIN}/licenses`);
  await to.post(`${ADMIN}/licenses/remove`, { license_id: "9" });
  // Its id is random, and what follows should not depend on it.
  const spoken = licenses.find(({ id }) => id > 9)?.id ?? 0;
  expectOk(await site.post(`${ADMIN}/licenses/remove`, { license_id: String(spoken) }));
  await to.get(`${CLIENT}/setKeys`, { apiKey: "a1", sharedKey: "s1" });
  await to.post(`${CLIENT}/setKeys`, { apiKey: "a2", sharedKey: "s2" });

  const trust = { license: await makeTrustDocument({ products: ["ray"] }, await generateKey()) };
  await to.post(`${ADMIN}/trust/show`, trust);
  const { vendor } = await to.post<{ vendor: string }>(`${ADMIN}/trust/add`, trust);
  await to.get(`${ADMIN}/trust`);
  await to.post(`${ADMIN}/trust/remove`, { vendor });

  await to.get(`${ADMIN}/clock`);
  const { code } = await to.post<{ code: string }>(`${ADMIN}/clock/request`);
  await to.post(`${ADMIN}/clock/accept`);
  await to.post(`${ADMIN}/clock/repair`, { license: await answerTimeRequest(site, code) });
}

const answerTimeRequest = (site: Appliance, code: string): Promise<string> => {
  const timeRequest = decodeTimeCode(code);
  if (timeRequest === null) throw new Error("not a clock code");
  const iat = Math.floor(site.clock.now / 1_000) - 60;
  return signTimeDocument({ iss: VENDOR.id, iat, ...timeRequest }, VENDOR.issuing);
};

async function callAdministration(site: Appliance, to: ReplyRecorder): Promise<void> {
  await to.send("PUT", `${ADMIN}/rules`, { text: RULES }, { "If-Match": "*" });
  await to.get(`${ADMIN}/rules`);
  await to.post(`${ADMIN}/rules/check`, { text: RULES.replace("slots = 1", "slots = 9") });
  await to.get(`${ADMIN}/rules/explain`, { ...ADA, host: "ws-9" });
  await to.post(`${ADMIN}/rules/clear`, {}, { "If-Match": "*" });
  await to.get(`${ADMIN}/settings`);
  await to.post(`${ADMIN}/settings`, { changes: { site_name: "Plant 5" } });
  await to.get(`${ADMIN}/notices`);
  const { frames } = await to.post<{ frames: { text: string }[] }>(`${ADMIN}/qr`, {
    text: "a text",
  });
  const texts = frames.map(({ text }) => text).join("\n");
  await to.post(`${ADMIN}/qr/join`, { frames: texts });

  await to.post(`${ADMIN}/registrations/release`, ADA);
  await to.post(`${ADMIN}/registrations/release/users`, { product: "cad", users: "gus\nbob\nzoe" });
  await to.post(`${ADMIN}/registrations/release/all`, { product: "cad" });
  await site.register(ADA);
  await to.post(`${CLIENT}/unregister`, ADA);
  await to.get(`${CLIENT}/unregister/all`, { product: "cad" });
  await to.post(`${CLIENT}/unregister/all`, { product: "cad" });
  await to.get(`${CLIENT}/featureRelease/all`, { product: "cad" });
  await to.get(`${CLIENT}/feature_release/all`, { product: "cad" });

  site.clock.now = hoursLater(30);
  await to.get(`${ADMIN}/audit`, { limit: "40" });
  await to.get(`${ADMIN}/audit/csv`);
  await to.get(`${ADMIN}/audit/export`);
  const period = { product: "cad", from: "2026-03-02T00:00:00Z", to: "2026-03-03T00:00:00Z" };
  await to.get(`${ADMIN}/usage`, { product: "cad", range: "day" });
  await to.get(`${ADMIN}/report`, { ...period, sessions: "true", time_zone: "Europe/Berlin" });
  await to.get(`${ADMIN}/report/progress`);
  await to.get(`${ADMIN}/report/what-if`, { ...period, slots: "1..3" });

  site.clock.now = hoursLater(48);
  const statement = await to.post<{ number: number; digest: string }>(`${ADMIN}/statements`);
  await to.get(`${ADMIN}/statements`);
  await to.get(`${ADMIN}/statements/document`, { number: "1" });
  const { number: n, digest } = statement;
  const acknowledgement = {
    iss: VENDOR.id,
    iat: 1,
    appliance: site.services.identity.id,
    n,
    digest,
  };
  await to.post(`${ADMIN}/statements/acknowledge`, {
    license: await signAcknowledgement(acknowledgement, VENDOR.issuing),
  });
}

async function callMaintenance(to: ReplyRecorder): Promise<void> {
  await to.get(`${ADMIN}/doctor`);
  await to.get(`${ADMIN}/verify`);
  await to.post(`${ADMIN}/backup`);
  const { name } = await to.post<{ name: string }>(`${ADMIN}/backups`);
  await to.get(`${ADMIN}/backups`);
  await to.post(`${ADMIN}/backups/verify`, { backup: name });
  await to.post(`${ADMIN}/backups/download`, { backup: name });
  await to.post(`${ADMIN}/events/test`);
  await to.post(`${ADMIN}/support-bundle`);
  await to.post(`${ADMIN}/usage/rebuild`);
  await to.post(`${ADMIN}/audit/repair`, { accept_gap: "a reason" });
  await to.post(`${ADMIN}/audit/seal`, { month: "2026-03", note: "a note" });
}

/** Credentials, after which each call needs one, and the move, after which most are refused. */
async function callAtTheEnd(site: Appliance, to: ReplyRecorder): Promise<void> {
  await to.post(`${ADMIN}/access/users`, { name: "eve", role: "user", password: PASSWORD });
  await to.get("/auth", {}, { authorization: `Basic ${btoa(`eve:${PASSWORD}`)}` });
  const ops = { name: "ops", role: "admin", days: "3" };
  const { token } = await to.post<{ token: string }>(`${ADMIN}/access/tokens`, ops);
  const bearer = { authorization: `Bearer ${token}` };
  await site.post(`${ADMIN}/access/tokens`, { name: "graphs", role: "metrics" }, bearer);
  const { session } = await to.post<{ session: { id: string } }>(`${ADMIN}/sessions`, {}, bearer);
  await to.get(`${ADMIN}/access`, {}, bearer);
  await to.post(`${ADMIN}/sessions/revoke`, { id: session.id }, bearer);
  await to.post(`${ADMIN}/access/users/remove`, { name: "eve" }, bearer);
  await to.post(`${ADMIN}/access/tokens/revoke`, { name: "graphs" }, bearer);
  await to.get(`${ADMIN}/pair`, {}, bearer);
  await to.post(`${ADMIN}/move`, { appliance: site.services.identity.id }, bearer);
}
