import { Button } from "../../parts/button.tsx";
import { Field } from "../../parts/field.tsx";
import { StepActions } from "../../parts/wizard.tsx";
import { productStep } from "./request-texts.ts";
import { licenses, trustedVendors } from "../license-data.ts";
import { licenseKey, createRequest, productCode } from "./state.ts";

/** The most product buttons; any other product can be typed. */
const MAX_CHOICES = 24;

/** The product and license key to request. */
export function ProductStep({ onBack }: { onBack: () => void }) {
  const products = (trustedVendors.value ?? []).flatMap((vendor) => vendor.products);
  const product = productCode.value.trim();
  const isRenewal =
    licenses.value?.some((license) => license.product_details.short_code === product) === true;
  return (
    <>
      <p>{productStep.text}</p>
      <div class="row choices" role="group" aria-label={productStep.text}>
        {products.slice(0, MAX_CHOICES).map((code) => (
          <button
            key={code}
            type="button"
            class="button"
            aria-pressed={code === product}
            onClick={() => (productCode.value = code)}
          >
            {code}
          </button>
        ))}
      </div>
      <Field label={productStep.product} value={productCode} hint={productStep.productHint} />
      {isRenewal && <p>{productStep.renews(product)}</p>}
      <Field label={productStep.key} value={licenseKey} hint={productStep.keyHint} />
      <StepActions onBack={onBack}>
        <Button kind="main" onClick={createRequest}>
          {productStep.createRequest}
        </Button>
      </StepActions>
    </>
  );
}
