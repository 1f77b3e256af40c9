import { useSignal } from "@preact/signals";
import { Button } from "../../parts/button.tsx";
import { FileDrop } from "../../parts/file-drop.tsx";
import { Notice } from "../../parts/notice.tsx";
import { StepActions } from "../../parts/wizard.tsx";
import { wrongDocument } from "../../licenses/add-license-texts.ts";
import { policyStep as texts } from "./air-gap-texts.ts";
import { readTrustDocument, type VendorOffer } from "../../trust/vendor-offer.ts";
import { TrustVendorPrompt } from "../../trust/trust-vendor-prompt.tsx";
import { documentKindOf, normalizeDocument, parsePolicy } from "../../licenses/documents.ts";
import { loadLicenseData } from "../../licenses/license-data.ts";
import {
  createdActivation,
  ACTIVATION_STEP,
  CONFIRMATION_STEP,
  KEY_STEP,
  policyDocument,
  currentStep,
} from "./state.ts";

/** The policy with the terms, from the install medium. */
export function PolicyStep() {
  const vendorOffer = useSignal<VendorOffer | null>(null);
  const receive = async (text: string): Promise<void> => {
    const plain = normalizeDocument(text);
    const kind = documentKindOf(plain);
    if (kind === "trust") vendorOffer.value = await readTrustDocument(plain);
    else if (kind === "policy") policyDocument.value = plain;
    else if (kind === null || kind === "license") throw new Error(texts.notPolicy);
    else throw new Error(`${texts.notPolicy} ${wrongDocument[kind]}`);
  };
  const close = (): void => {
    vendorOffer.value = null;
  };
  const onTrusted = async (): Promise<void> => {
    await loadLicenseData();
    close();
  };
  return (
    <>
      <p>{texts.text}</p>
      {policyDocument.value !== "" && (
        <Notice kind="good">{policySummary(policyDocument.value)}</Notice>
      )}
      {vendorOffer.value === null ? (
        <FileDrop
          fileDescription={texts.fileDescription}
          onText={receive}
          takes={["policy", "trust", "request", "receipt", "lease", "qr", "text", "too-large"]}
        />
      ) : (
        <TrustVendorPrompt offer={vendorOffer.value} onTrusted={onTrusted} onCancel={close} />
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
          {texts.next}
        </Button>
      </StepActions>
    </>
  );
}

function policySummary(text: string): string {
  const policy = parsePolicy(text);
  return policy === null ? texts.loadedUnread : texts.loaded(policy.id, policy.product);
}
