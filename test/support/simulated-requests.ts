// The license requests of a site whose audit log is only simulated, and those of its copies.
import type { LicenseRequest } from "../../src/license/requests/request.ts";
import { sha256 } from "../../src/platform/crypto/hash.ts";
import { rfc3339 } from "../../src/platform/rfc3339.ts";
import { MONDAY } from "./scenario.ts";

type Head = LicenseRequest["heads"][number];

/** Heads in a request. */
const MAX_HEADS = 64;
const MINUTE = 60_000;

export class SimulatedRequests {
  readonly #template: LicenseRequest;
  /** Copies of a site differ in it, and so do their audit logs from then on. */
  readonly #name: string;
  readonly #appliance: string;
  #seq = 1;
  #sum = sha256("first line");
  #total = 0;
  #minutes = 0;
  #heads: readonly Head[] = [];

  /** `template`: where the members come from that the simulation does not set. */
  constructor(template: LicenseRequest, name: string, appliance: string = sha256(name)) {
    this.#template = template;
    this.#name = name;
    this.#appliance = appliance;
  }

  /** A second site with the same key and audit log. */
  copy(): SimulatedRequests {
    const copy = new SimulatedRequests(this.#template, `copy of ${this.#name}`, this.#appliance);
    copy.#seq = this.#seq;
    copy.#sum = this.#sum;
    copy.#total = this.#total;
    copy.#minutes = this.#minutes;
    copy.#heads = this.#heads;
    return copy;
  }

  /** Writes lines to the audit log, each of which counts one consumption. */
  work(lines: number): this {
    this.#total += lines;
    for (let line = 0; line < lines; line += 1) this.#append("consumption");
    return this;
  }

  #append(content: string): void {
    this.#seq += 1;
    this.#minutes += 1;
    this.#sum = sha256(`${this.#sum} ${this.#name} ${content}`);
  }

  request(differing: Partial<LicenseRequest> = {}): LicenseRequest {
    const state = { audit_seq: this.#seq, sum: this.#sum };
    const request_id = sha256(`${this.#name} ${this.#seq}`).slice(0, 32);
    this.#heads = [...this.#heads, { request_id, ...state }];
    this.#append(request_id);
    return {
      ...this.#template,
      request_id,
      created_at: rfc3339((MONDAY + this.#minutes * MINUTE) as typeof MONDAY),
      appliance: this.#appliance,
      audit: { seq: state.audit_seq, sum: state.sum },
      heads: this.#heads.slice(-MAX_HEADS),
      licenses: this.#template.licenses.map((license) => ({
        ...license,
        total_consumptions: this.#total,
      })),
      ...differing,
    };
  }

  requests(count: number): LicenseRequest[] {
    return Array.from({ length: count }, () => this.work(1).request());
  }
}
