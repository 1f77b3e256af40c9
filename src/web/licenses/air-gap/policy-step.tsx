import { useSignal } from "@preact/signals";
import { Button } from "../../parts/button.tsx";
import { FileDrop } from "../../parts/file-drop.tsx";
import { Notice } from "../../parts/notice.tsx";
import { StepActions } from "../../parts/wizard.tsx";
import { misplaced } from "../../texts/add-license.ts";
import { policyStep as say } from "../../texts/air-gap.ts";
import { readTrustDocument, type VendorOffer } from "../../trust/vendor-offer.ts";
import { TrustVendorPrompt } from "../../trust/trust-vendor-prompt.tsx";
import { documentKindOf, normalizeDocument, parsePolicy } from "../documents.ts";
import { loadLicenseData } from "../license-data.ts";
import {
  createdActivation,
  ACTIVATION_STEP,
  CONFIRMATION_STEP,
  KEY_STEP,
  policyDocument,
  currentStep,
} from "./state.ts";

/** The terms, which came with the install medium. */
export function PolicyStep() {
  const trust = useSignal<VendorOffer | null>(null);
  const take = async (text: string): Promise<void> => {
    const plain = normalizeDocument(text);
    const kind = documentKindOf(plain);
    if (kind === "trust") trust.value = await readTrustDocument(plain);
    else if (kind === "policy") policyDocument.value = plain;
    else if (kind === null || kind === "license") throw new Error(say.notPolicy);
    else throw new Error(`${say.notPolicy} ${misplaced[kind]}`);
  };
  const close = (): void => {
    trust.value = null;
  };
  const trusted = async (): Promise<void> => {
    await loadLicenseData();
    close();
  };
  return (
    <>
      <p>{say.text}</p>
      {policyDocument.value !== "" && (
        <Notice kind="good">{policySummary(policyDocument.value)}</Notice>
      )}
      {trust.value === null ? (
        <FileDrop fileDescription={say.fileDescription} onText={take} />
      ) : (
        <TrustVendorPrompt offer={trust.value} onTrusted={trusted} onCancel={close} />
      )}
      <StepActions
        onBack={() =>
          (currentStep.value = createdActivation.value === null ? KEY_STEP : ACTIVATION_STEP)
        }
      >
        <Button
          kind="main"
          disabled={policyDocument.value === ""}
          onClick={() => void (currentStep.value = CONFIRMATION_STEP)}
        >
          {say.next}
        </Button>
      </StepActions>
    </>
  );
}

function policySummary(text: string): string {
  const read = parsePolicy(text);
  return read === null ? say.loadedUnread : say.loaded(read.id, read.product);
}
