// One valid call of every operation that imports or exports licenses, trust or time documents.
import { DAY, later } from "../../src/domain/time.ts";
import { signAcknowledgement } from "../../src/license/documents/acknowledgement.ts";
import { keyIdOf, generateKey } from "../../src/license/documents/keys.ts";
import { decodeTimeCode, signTimeDocument } from "../../src/license/documents/time-document.ts";
import { expectOk, type ApiResponse, type Appliance } from "../support/appliance.ts";
import {
  answerRequest,
  makeAirgapLicenseBody,
  VENDOR_KEY,
  makeTrustDocument,
} from "../support/vendor.ts";

export type ApiCall = (site: Appliance) => Promise<ApiResponse<unknown>>;

const ADMIN = "/api/admin/v1";
const BODY = { license_key: "K" };

const sendTrustDocument = async (site: Appliance, action: "show" | "add" = "add") => {
  const license = await makeTrustDocument({ products: ["other"] }, await generateKey());
  return site.post<{ vendor: string }>(`${ADMIN}/trust/${action}`, { license });
};

const makeRequestId = async (site: Appliance): Promise<string> =>
  expectOk(await site.post<{ request_id: string }>("license/generate", {})).request_id;

const STATEMENTS = `${ADMIN}/statements`;

/** Two days after the licenses were installed. */
async function makeStatement(site: Appliance) {
  site.clock.now = later(site.clock.now, 2 * DAY);
  const reply = await site.post<{ number: number; digest: string }>(STATEMENTS, {});
  return { reply, ...expectOk(reply) };
}

const signAnswer = (site: Appliance, n: number, digest: string): Promise<string> =>
  signAcknowledgement(
    { iss: keyIdOf(VENDOR_KEY), iat: 1, appliance: site.services.identity.id, n, digest },
    VENDOR_KEY,
  );

export const LICENSING_CALLS: Readonly<Record<string, ApiCall>> = {
  [`GET ${STATEMENTS}`]: async (site) => {
    await makeStatement(site);
    return site.get(STATEMENTS);
  },
  [`POST ${STATEMENTS}`]: async (site) => (await makeStatement(site)).reply,
  [`GET ${STATEMENTS}/document`]: async (site) => {
    await makeStatement(site);
    return site.get(`${STATEMENTS}/document?number=1`);
  },
  [`POST ${STATEMENTS}/acknowledge`]: async (site) => {
    const { number, digest } = await makeStatement(site);
    const license = await signAnswer(site, number, digest);
    return site.post(`${STATEMENTS}/acknowledge`, { license });
  },
  "POST /api/v4/license/generate": (site) => site.post("license/generate", {}),
  "POST /api/v4/license/upload": async (site) =>
    site.upload(await answerRequest(await site.makeRequestDocument(), 9)),
  "POST /api/v4/airgap/generate": (site) => site.post("airgap/generate", BODY),
  "POST /api/v4/airgap/license": async (site) => {
    const reply = await site.post<{ activation_code: string }>("airgap/generate", BODY);
    const { activation_code } = expectOk(reply);
    return site.post("airgap/license", await makeAirgapLicenseBody(activation_code, "K"));
  },
  "GET /api/v4/setKeys": (site) => site.get("/api/v4/setKeys?apiKey=a&sharedKey=b"),
  "POST /api/v4/setKeys": (site) => site.post("setKeys", { apiKey: "a", sharedKey: "b" }),
  "GET /api/admin/v1/trust": (site) => site.get(`${ADMIN}/trust`),
  "POST /api/admin/v1/trust/show": (site) => sendTrustDocument(site, "show"),
  "POST /api/admin/v1/trust/add": (site) => sendTrustDocument(site),
  "POST /api/admin/v1/trust/remove": async (site) => {
    const { vendor } = expectOk(await sendTrustDocument(site));
    return site.post(`${ADMIN}/trust/remove`, { vendor });
  },
  "GET /api/admin/v1/requests": async (site) => {
    expectOk(await site.post("license/generate", { note: "a note", wanted_slots: "3" }));
    expectOk(await site.post("airgap/generate", BODY));
    return site.get(`${ADMIN}/requests`);
  },
  "GET /api/admin/v1/requests/document": async (site) => {
    const id = await makeRequestId(site);
    return site.get(`${ADMIN}/requests/document?request_id=${id}`);
  },
  "POST /api/admin/v1/requests/cancel": async (site) =>
    site.post(`${ADMIN}/requests/cancel`, { request_id: await makeRequestId(site) }),
  "POST /api/admin/v1/licenses/remove": (site) =>
    site.post(`${ADMIN}/licenses/remove`, { license_id: "2" }),
  "POST /api/admin/v1/move": async (site) => {
    const status = await site.get<{ appliance: { id: string } }>(`${ADMIN}/status`);
    return site.post(`${ADMIN}/move`, { appliance: expectOk(status).appliance.id });
  },
  "GET /api/admin/v1/pair": (site) => site.get(`${ADMIN}/pair`),
  "GET /api/admin/v1/clock": (site) => site.get(`${ADMIN}/clock`),
  "POST /api/admin/v1/clock/request": (site) => site.post(`${ADMIN}/clock/request`, {}),
  "POST /api/admin/v1/clock/accept": (site) => site.post(`${ADMIN}/clock/accept`, {}),
  "POST /api/admin/v1/clock/repair": async (site) => {
    const { code } = expectOk(await site.post<{ code: string }>(`${ADMIN}/clock/request`, {}));
    const timeRequest = decodeTimeCode(code);
    if (timeRequest === null) throw new Error("not a clock code");
    const iat = Math.floor(site.clock.now / 1_000) - 60;
    const license = await signTimeDocument(
      { iss: keyIdOf(VENDOR_KEY), iat, ...timeRequest },
      VENDOR_KEY,
    );
    return site.post(`${ADMIN}/clock/repair`, { license });
  },
};
