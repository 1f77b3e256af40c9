import { Wizard } from "../../parts/wizard.tsx";
import { linkTo } from "../../router.ts";
import { airGap } from "./air-gap-texts.ts";
import { licenses as texts } from "../../licenses/licenses-texts.ts";
import { trustedVendors } from "../../licenses/license-data.ts";
import { addLicense } from "../../licenses/add-license-texts.ts";
import { InstallSuccess } from "../../licenses/install-success.tsx";
import { VendorStep } from "../../licenses/vendor-step.tsx";
import { ActivationStep } from "./activation-step.tsx";
import { ConfirmationStep } from "./confirmation-step.tsx";
import { KeyStep } from "./key-step.tsx";
import { PolicyStep } from "./policy-step.tsx";
import {
  createdActivation,
  ACTIVATION_STEP,
  CONFIRMATION_STEP,
  licenseKey,
  KEY_STEP,
  policyDocument,
  POLICY_STEP,
  currentStep,
  DONE_STEP,
  installOutcome,
  restartWizard,
} from "./state.ts";

/** Activates a license by codes that are read out by phone. */
export function AirGapWizard() {
  if (trustedVendors.value === null) return null;
  return (
    <>
      <p class="back-link">
        <a href={linkTo("licenses")}>← {texts.back}</a>
      </p>
      <h2>{airGap.title}</h2>
      <p>{airGap.intro}</p>
      <Wizard
        titles={airGap.steps}
        currentStep={currentStep.value}
        lastReachableStep={lastReachableStep(trustedVendors.value.length > 0)}
        doneTitle={addLicense.doneTitle}
        onSelectStep={(to) => (currentStep.value = to)}
      >
        <CurrentStep />
      </Wizard>
    </>
  );
}

function lastReachableStep(hasVendors: boolean): number {
  if (currentStep.value === DONE_STEP) return -1;
  if (!hasVendors) return 0;
  if (licenseKey.value.trim() === "") return KEY_STEP;
  if (policyDocument.value !== "") return CONFIRMATION_STEP;
  return createdActivation.value === null ? KEY_STEP : POLICY_STEP;
}

function CurrentStep() {
  switch (currentStep.value) {
    case KEY_STEP:
      return <KeyStep />;
    case ACTIVATION_STEP:
      return createdActivation.value === null ? (
        <KeyStep />
      ) : (
        <ActivationStep activation={createdActivation.value} />
      );
    case POLICY_STEP:
      return <PolicyStep />;
    case CONFIRMATION_STEP:
      return <ConfirmationStep />;
    case DONE_STEP:
      return <Done />;
    default:
      return <VendorStep onNext={() => (currentStep.value = KEY_STEP)} />;
  }
}

function Done() {
  const { value: outcome } = installOutcome;
  return outcome?.kind === "new" || outcome?.kind === "renewed" ? (
    <InstallSuccess outcome={outcome} onDone={restartWizard} />
  ) : null;
}
