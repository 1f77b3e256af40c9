import { createHmac } from "node:crypto";
import type { Instant } from "../../domain/time.ts";

export interface CloudActivation {
  readonly requestId: string;
  readonly licenseKey: string;
  readonly hardwareId: string;
  readonly product: string;
  readonly date: Instant;
  readonly apiKey: string;
  readonly sharedKey: string;
}

/**
 * An activation request in the published format of the licensing cloud that `/api/v4` is compatible
 * with: base64 of a JSON object. It contains the API key; the shared key only signs it.
 */
export function buildCloudRequest(activation: CloudActivation): string {
  const { requestId, licenseKey, hardwareId, product, apiKey, sharedKey } = activation;
  const date = httpDate(activation.date);
  const request = {
    request: "activation",
    request_id: requestId,
    license_key: licenseKey,
    hardware_id: hardwareId,
    product,
    date,
    api_key: apiKey,
    signature: signCloudLines(sharedKey, date, [licenseKey, hardwareId, apiKey]),
  };
  return Buffer.from(JSON.stringify(request)).toString("base64");
}

/** The header of a request signs the date only; an activation signs more lines after it. */
export function signCloudLines(sharedKey: string, date: string, lines: readonly string[]): string {
  const text = ["licenseSpring", `date: ${date}`, ...lines].join("\n");
  return createHmac("sha256", sharedKey).update(text).digest("base64");
}

/** The date format of RFC 7231 (`Tue, 07 Jun 2011 20:51:35 GMT`), in any locale and zone. */
const httpDate = (at: Instant): string => new Date(at).toUTCString();
