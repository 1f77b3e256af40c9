import { useEffect } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { Steps, Way } from "../../parts/steps.tsx";
import { linkTo } from "../../router.ts";
import { ask, askAnswer } from "../../texts/ask.ts";
import { licenses as say } from "../../texts/licenses.ts";
import { Adding } from "../adding.tsx";
import { licenses, vendors } from "../known.ts";
import { VendorStep } from "../vendor-step.tsx";
import { ProductStep } from "./product-step.tsx";
import { RequestStep, SendStep } from "./request-step.tsx";
import { ANSWER, answered, begin, made, product, PRODUCT, step } from "./state.ts";

/** From "we need a license" to a license, step by step. */
export function Ask({ product: asked }: { product: string }) {
  const isKnown = licenses.value !== null && vendors.value !== null;
  const hasVendors = (vendors.value ?? []).length > 0;
  // What was begun goes on, unless the link that led here is about something else.
  useEffect(() => {
    const isSame = asked === "" || asked === product.value;
    const goesOn = made.value !== null && !answered.value && isSame;
    if (isKnown && !goesOn) begin(asked, hasVendors);
  }, [asked, isKnown]);
  if (!isKnown) return null;
  return (
    <>
      <p class="way-back">
        <a href={linkTo("licenses")}>← {say.back}</a>
      </p>
      <h2>{ask.title}</h2>
      <p>{ask.intro}</p>
      <Steps
        titles={ask.steps}
        at={step.value}
        reached={made.value !== null ? ANSWER : hasVendors ? PRODUCT : 0}
        onGo={(to) => (step.value = to)}
      >
        <Current hasVendors={hasVendors} />
      </Steps>
      <p class="quiet">
        {ask.byCodes} <a href={linkTo("licenses", "air-gap")}>{ask.byCodesLink}</a>
      </p>
    </>
  );
}

const back = (): void => {
  step.value -= 1;
};

function Current({ hasVendors }: { hasVendors: boolean }) {
  switch (step.value) {
    case 0:
      return <VendorStep onNext={() => (step.value = PRODUCT)} />;
    case PRODUCT:
      return <ProductStep onBack={back} />;
    case ANSWER:
      return (
        <>
          <p>{askAnswer.text}</p>
          <Adding what={askAnswer.what} onInstalled={() => (answered.value = true)} />
          <p class="quiet">{askAnswer.later}</p>
          <Way onBack={back}>
            <Button onClick={() => begin("", hasVendors)}>{ask.again}</Button>
          </Way>
        </>
      );
    default:
      return made.value === null ? null : step.value === ANSWER - 1 ? (
        <SendStep made={made.value} onBack={back} onNext={() => (step.value = ANSWER)} />
      ) : (
        <RequestStep made={made.value} onBack={back} onNext={() => (step.value = ANSWER - 1)} />
      );
  }
}
