import { signal } from "@preact/signals";
import { checkCodeRows, CODE_BITS } from "../../../license/codes/code.ts";
import { unwrapReply, ApiError, v4 } from "../../api.ts";
import {
  compareWithInstalled,
  readInstalledLicenses,
  type InstallOutcome,
} from "../../licenses/install-document.ts";
import { loadLicenseData } from "../../licenses/license-data.ts";
import { emptyRows } from "./code-input.ts";

export interface Activation {
  readonly activation_code: string;
  readonly expires_at: string;
}

/** The state of the wizard; kept when the user visits another view. */
export const currentStep = signal(0);
export const licenseKey = signal("");
export const initializationRows = signal(emptyRows(CODE_BITS.initialization));
export const createdActivation = signal<Activation | null>(null);
/** The policy's text; empty: not loaded yet. */
export const policyDocument = signal("");
export const confirmationRows = signal(emptyRows(CODE_BITS.confirmation));
export const installOutcome = signal<InstallOutcome | null>(null);

export const KEY_STEP = 1;
export const ACTIVATION_STEP = 2;
export const POLICY_STEP = 3;
export const CONFIRMATION_STEP = 4;
export const DONE_STEP = 5;

export const isCodeComplete = (rows: readonly string[], bits: number): boolean =>
  checkCodeRows(rows, bits).every((status) => status === "right");

export function restartWizard(): void {
  licenseKey.value = "";
  initializationRows.value = emptyRows(CODE_BITS.initialization);
  createdActivation.value = null;
  policyDocument.value = "";
  confirmationRows.value = emptyRows(CODE_BITS.confirmation);
  installOutcome.value = null;
  currentStep.value = KEY_STEP;
}

export async function createActivation(): Promise<void> {
  const signing_key = initializationRows.value.join("\n").trim();
  const body = { license_key: licenseKey.value.trim(), signing_key };
  createdActivation.value = await unwrapReply(v4.airgap.generate.post(body));
  currentStep.value = ACTIVATION_STEP;
  void loadLicenseData();
}

export async function installLicense(): Promise<void> {
  installOutcome.value = null;
  const installedBefore = await readInstalledLicenses();
  try {
    const license = await unwrapReply(
      v4.airgap.license.post({
        license_policy: policyDocument.value,
        license_key: licenseKey.value.trim(),
        confirmation_code: confirmationRows.value.join("\n"),
      }),
    );
    const outcome = await compareWithInstalled(installedBefore, license);
    installOutcome.value = outcome;
    if (outcome.kind === "new" || outcome.kind === "renewed") currentStep.value = DONE_STEP;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    installOutcome.value = { kind: "refused", code: error.code, message: error.message };
  }
}
