// Makes calls through types generated from openapi.json. It is compiled before it runs.
import createClient from "openapi-fetch";
import type { components, paths } from "./types";

declare const process: { readonly env: Readonly<Record<string, string>> };
declare const Bun: { file(path: string): { json(): Promise<unknown> } };

type Schemas = components["schemas"];

const env = (name: string): string => process.env[name] ?? "";
const client = createClient<paths>({ baseUrl: env("BERTH_URL") });

function print(call: string, value: object): void {
  console.log(JSON.stringify({ call, value }));
}

/** The reply of a call that must succeed. */
function replyOf<T>({ data, error }: { data?: T; error?: Schemas["Refusal"] }): T {
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  if (data === undefined) throw new Error("no reply");
  return data;
}

const registerBody: Schemas["RegisterBody"] = { product: "DEMO", user: "ada", user_info: "" };
const slot: Schemas["Slot"] = replyOf(
  await client.POST("/api/v4/register", { body: registerBody }),
);
const license = JSON.parse(slot.license_json) as Schemas["License"];
print("register", {
  product: slot.product,
  user: slot.user,
  user_info: slot.user_info,
  license_id: slot.license_id,
  borrowed_until: slot.borrowed_until,
  is_borrowed: slot.is_borrowed,
  floating_users: slot.floating_users,
  lease: slot.lease,
  id_in_license_json: license.id,
});

const borrowed: Schemas["BorrowedSlot"] = replyOf(
  await client.POST("/api/v4/borrow", {
    body: { product: "DEMO", user: "grace", borrowed_until: env("BORROWED_UNTIL") },
    params: { header: { "Idempotency-Key": "borrow-1", "X-Nonce": "0123456789abcdef" } },
  }),
);
const maxBorrowTime: number | null = borrowed.max_borrow_time;
print("borrow", {
  license_id: borrowed.license_id,
  borrowed_until: borrowed.borrowed_until?.replace(".000Z", "Z") ?? null,
  is_borrowed: borrowed.is_borrowed,
  max_borrow_time: maxBorrowTime,
  has_lease: typeof borrowed.lease === "string",
});

const consumption = replyOf(
  await client.POST("/api/v4/add_consumption", { body: { product: "DEMO", consumptions: "3" } }),
);
print("addConsumption", {
  license_id: consumption.license_id,
  max_consumptions: consumption.max_consumptions,
  total_consumptions: consumption.total_consumptions,
  max_overages: consumption.max_overages,
  consumption_period: consumption.consumption_period,
});

const featureConsumption = replyOf(
  await client.POST("/api/v4/add_feature_consumption", {
    body: { product: "DEMO", feature: "EXPORT", consumptions: "2" },
  }),
);
print("addFeatureConsumption", {
  feature: featureConsumption.feature,
  max_consumption: featureConsumption.max_consumption,
  total_consumptions: featureConsumption.total_consumptions,
});

const request = replyOf(
  await client.POST("/api/v4/license/generate", {
    body: { product: "DEMO", license_key: "ABCD-1234" },
  }),
);
if (typeof request === "string") throw new Error("the reply is plain text, not JSON");
print("generateLicenseRequest", {
  product: request.product,
  license_key: request.license_key,
  cloud_payload: request.cloud_payload,
  parts_of_payload: request.payload.split(".").length,
});

const keys = replyOf(
  await client.GET("/api/v4/setKeys", {
    params: { query: { apiKey: "an-api-key", sharedKey: "a-shared-key" } },
  }),
);
const updated: ("apiKey" | "sharedKey")[] = keys.updated;
print("setKeys", { status: keys.status, updated });

const refusal = await client.POST("/api/v4/add_feature_consumption", {
  body: { product: "DEMO", feature: "NONE" },
});
print("refusal", { status: refusal.error?.status, code: refusal.error?.code });

const licenseReply = replyOf(
  await client.GET("/api/v4/license", {
    params: { query: { license_id: String(slot.license_id) } },
  }),
);
if (typeof licenseReply === "string" || !("id" in licenseReply))
  throw new Error("the reply is not a license");
print("getLicense", { id: licenseReply.id, max_borrow_time: licenseReply.max_borrow_time });

const airgap = (await Bun.file(env("BERTH_AIRGAP_FILE")).json()) as Schemas["AddAirgapLicenseBody"];
const added: Schemas["License"] = replyOf(
  await client.POST("/api/v4/airgap/license", { body: airgap }),
);
const types: ("activation" | "consumption")[] = added.product_features.map(
  (feature) => feature.feature_type,
);
print("addAirgapLicense", {
  is_air_gapped: added.is_air_gapped,
  short_code: added.product_details.short_code,
  validity_period: added.validity_period,
  feature_types: types,
});

const text: "user_unregistered" = replyOf(
  await client.POST("/api/v4/unregister", {
    body: { product: "DEMO", user: "ada" },
    parseAs: "text",
  }),
) as "user_unregistered";
print("unregister", { text });

/** Never called: the compiler must refuse each of these lines. */
export async function refusedByTheCompiler(): Promise<void> {
  // @ts-expect-error A count is sent as a string.
  await client.POST("/api/v4/add_consumption", { body: { consumptions: 3 } });
  // @ts-expect-error There is no such field.
  const body: Schemas["RegisterBody"] = { usr: "ada" };
  await client.POST("/api/v4/register", { body });
  // @ts-expect-error A body is required.
  await client.POST("/api/v4/register", {});
  // @ts-expect-error borrowed_until may be null.
  const end: string = slot.borrowed_until;
  print("unused", { end });
}
