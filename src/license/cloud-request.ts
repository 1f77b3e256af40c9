import { createHmac } from "node:crypto";
import type { Instant } from "../domain/time.ts";

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
 * An activation request that follows the published recipe of the cloud the contract comes from:
 * base64 of a JSON object. The shared key signs it and is not in it; the API key is.
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

/** A request's header signs the date alone; an activation signs more lines after it. */
export function signCloudLines(sharedKey: string, date: string, lines: readonly string[]): string {
  const text = ["licenseSpring", `date: ${date}`, ...lines].join("\n");
  return createHmac("sha256", sharedKey).update(text).digest("base64");
}

/**
 * As RFC 7231 writes it (`Tue, 07 Jun 2011 20:51:35 GMT`), in no locale and no zone but its own.
 */
const httpDate = (at: Instant): string => new Date(at).toUTCString();
