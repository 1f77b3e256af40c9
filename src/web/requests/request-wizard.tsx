import { useEffect } from "preact/hooks";
import { Wizard, StepActions } from "../parts/wizard.tsx";
import { linkTo } from "../router.ts";
import { requestWizard, answerStep } from "./request-texts.ts";
import { licenses as texts } from "../licenses/licenses-texts.ts";
import { addLicense } from "../licenses/add-license-texts.ts";
import { InstallSuccess, type InstalledOutcome } from "../licenses/install-success.tsx";
import { DocumentInstaller } from "../licenses/document-installer.tsx";
import { licenses, trustedVendors } from "../licenses/license-data.ts";
import { VendorStep } from "../licenses/vendor-step.tsx";
import { ProductStep } from "./product-step.tsx";
import { RequestStep, SendStep } from "./request-step.tsx";
import {
  ANSWER_STEP,
  DONE_STEP,
  installed,
  startRequest,
  createdRequest,
  pairHosts,
  productCode,
  PRODUCT_STEP,
  currentStep,
} from "./request-state.ts";

/** Requests a license from a vendor and installs the answer, step by step. */
export function RequestWizard({ product }: { product: string }) {
  const isLoaded = licenses.value !== null && trustedVendors.value !== null;
  const hasVendors = (trustedVendors.value ?? []).length > 0;
  // Continues an open request, unless the link is for another product.
  useEffect(() => {
    const isSameProduct = product === "" || product === productCode.value;
    const canContinue = createdRequest.value !== null && installed.value === null && isSameProduct;
    if (isLoaded && !canContinue) startRequest(product, hasVendors);
  }, [product, isLoaded]);
  if (!isLoaded) return null;
  return (
    <>
      <p class="back-link">
        <a href={linkTo("licenses")}>← {texts.back}</a>
      </p>
      <h2>{requestWizard.title}</h2>
      <p>{requestWizard.intro}</p>
      <Wizard
        titles={requestWizard.steps}
        currentStep={currentStep.value}
        lastReachableStep={lastReachableStep(hasVendors)}
        doneTitle={addLicense.doneTitle}
        onSelectStep={(to) => (currentStep.value = to)}
      >
        <CurrentStep />
      </Wizard>
      {currentStep.value !== DONE_STEP && pairHosts.value === null && (
        <p class="muted">
          {requestWizard.airGap}{" "}
          <a href={linkTo("licenses", "air-gap")}>{requestWizard.airGapLink}</a>
        </p>
      )}
    </>
  );
}

function lastReachableStep(hasVendors: boolean): number {
  if (currentStep.value === DONE_STEP) return -1;
  if (createdRequest.value !== null) return ANSWER_STEP;
  return hasVendors ? PRODUCT_STEP : 0;
}

const finish = (outcome: InstalledOutcome): void => {
  installed.value = outcome;
  currentStep.value = DONE_STEP;
};

const goBack = (): void => {
  currentStep.value -= 1;
};

function CurrentStep() {
  switch (currentStep.value) {
    case 0:
      return <VendorStep onNext={() => (currentStep.value = PRODUCT_STEP)} />;
    case PRODUCT_STEP:
      return <ProductStep onBack={goBack} />;
    case ANSWER_STEP:
      return (
        <>
          <p>{answerStep.text}</p>
          <DocumentInstaller
            fileDescription={answerStep.fileDescription}
            isMain
            wantedProduct={createdRequest.value?.product ?? null}
            onInstalled={finish}
          />
          <p class="muted">{answerStep.resumeLater}</p>
          <StepActions onBack={goBack} />
        </>
      );
    case DONE_STEP:
      return (
        installed.value && (
          <InstallSuccess outcome={installed.value} onDone={() => (createdRequest.value = null)} />
        )
      );
    default:
      return createdRequest.value === null ? null : currentStep.value === ANSWER_STEP - 1 ? (
        <SendStep
          request={createdRequest.value}
          onBack={goBack}
          onNext={() => (currentStep.value = ANSWER_STEP)}
        />
      ) : (
        <RequestStep
          request={createdRequest.value}
          onBack={goBack}
          onNext={() => (currentStep.value = ANSWER_STEP - 1)}
        />
      );
  }
}
