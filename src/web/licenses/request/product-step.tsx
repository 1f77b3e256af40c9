import { Button } from "../../parts/button.tsx";
import { Field } from "../../parts/field.tsx";
import { StepActions } from "../../parts/wizard.tsx";
import { productStep } from "../../texts/request.ts";
import { licenses, trustedVendors } from "../license-data.ts";
import { licenseKey, createRequest, productCode } from "./state.ts";

/** As many as can be looked through; whoever has more types it. */
const CHOICES = 24;

/** What is asked for. */
export function ProductStep({ onBack }: { onBack: () => void }) {
  const products = (trustedVendors.value ?? []).flatMap((vendor) => vendor.products);
  const chosen = productCode.value.trim();
  const renews = licenses.value?.some((one) => one.product_details.short_code === chosen) === true;
  return (
    <>
      <p>{productStep.text}</p>
      <div class="row choices" role="group" aria-label={productStep.text}>
        {products.slice(0, CHOICES).map((code) => (
          <button
            key={code}
            type="button"
            class="button"
            aria-pressed={code === chosen}
            onClick={() => (productCode.value = code)}
          >
            {code}
          </button>
        ))}
      </div>
      <Field label={productStep.product} value={productCode} hint={productStep.productHint} />
      {renews && <p>{productStep.renews(chosen)}</p>}
      <Field label={productStep.key} value={licenseKey} hint={productStep.keyHint} />
      <StepActions onBack={onBack}>
        <Button kind="main" onClick={createRequest}>
          {productStep.createRequest}
        </Button>
      </StepActions>
    </>
  );
}
