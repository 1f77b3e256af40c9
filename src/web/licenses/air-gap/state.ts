import { signal } from "@preact/signals";
import { checkCodeRows, CODE_BITS } from "../../../license/code.ts";
import { done, Refused, v4 } from "../../api.ts";
import { comparedWith, present, type Outcome } from "../take-in.ts";
import { emptyRows } from "./typing.ts";

export interface Activated {
  readonly activation_code: string;
  readonly expires_at: string;
}

/** Where somebody is on the walk; kept when another view is looked at meanwhile. */
export const step = signal(0);
export const key = signal("");
export const initialization = signal(emptyRows(CODE_BITS.initialization));
export const activated = signal<Activated | null>(null);
/** The policy's text; empty: not there yet. */
export const policy = signal("");
export const confirmation = signal(emptyRows(CODE_BITS.confirmation));
export const outcome = signal<Outcome | null>(null);

export const KEY = 1;
export const ACTIVATION = 2;
export const POLICY = 3;
export const CONFIRMATION = 4;

export const isWhole = (rows: readonly string[], bits: number): boolean =>
  checkCodeRows(rows, bits).every((mark) => mark === "right");

export function beginAgain(): void {
  key.value = "";
  initialization.value = emptyRows(CODE_BITS.initialization);
  activated.value = null;
  policy.value = "";
  confirmation.value = emptyRows(CODE_BITS.confirmation);
  outcome.value = null;
  step.value = KEY;
}

export async function makeActivation(): Promise<void> {
  const signing_key = initialization.value.join("\n").trim();
  const body = { license_key: key.value.trim(), signing_key };
  activated.value = await done(v4.airgap.generate.post(body));
  step.value = ACTIVATION;
}

export async function install(): Promise<void> {
  outcome.value = null;
  const before = await present();
  try {
    const license = await done(
      v4.airgap.license.post({
        license_policy: policy.value,
        license_key: key.value.trim(),
        confirmation_code: confirmation.value.join("\n"),
      }),
    );
    outcome.value = await comparedWith(before, license);
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 0) throw error;
    outcome.value = { kind: "refused", code: error.code, message: error.message };
  }
}
