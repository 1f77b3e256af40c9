import { Steps } from "../../parts/steps.tsx";
import { linkTo } from "../../router.ts";
import { airGap } from "../../texts/air-gap.ts";
import { licenses as say } from "../../texts/licenses.ts";
import { vendors } from "../known.ts";
import { VendorStep } from "../vendor-step.tsx";
import { ActivationStep } from "./activation-step.tsx";
import { ConfirmationStep } from "./confirmation-step.tsx";
import { KeyStep } from "./key-step.tsx";
import { PolicyStep } from "./policy-step.tsx";
import { activated, ACTIVATION, CONFIRMATION, key, KEY, policy, POLICY, step } from "./state.ts";

/** From a license key to a license, with nothing but codes going out. */
export function AirGap() {
  if (vendors.value === null) return null;
  return (
    <>
      <p class="way-back">
        <a href={linkTo("licenses")}>← {say.back}</a>
      </p>
      <h2>{airGap.title}</h2>
      <p>{airGap.intro}</p>
      <Steps
        titles={airGap.steps}
        at={step.value}
        reached={reached(vendors.value.length > 0)}
        onGo={(to) => (step.value = to)}
      >
        <Current />
      </Steps>
    </>
  );
}

function reached(hasVendors: boolean): number {
  if (!hasVendors) return 0;
  if (key.value.trim() === "") return KEY;
  if (policy.value !== "") return CONFIRMATION;
  return activated.value === null ? KEY : POLICY;
}

function Current() {
  switch (step.value) {
    case KEY:
      return <KeyStep />;
    case ACTIVATION:
      return activated.value === null ? <KeyStep /> : <ActivationStep made={activated.value} />;
    case POLICY:
      return <PolicyStep />;
    case CONFIRMATION:
      return <ConfirmationStep />;
    default:
      return <VendorStep onNext={() => (step.value = KEY)} />;
  }
}
