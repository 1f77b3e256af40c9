import { Button } from "../../parts/button.tsx";
import { Field } from "../../parts/field.tsx";
import { Way } from "../../parts/steps.tsx";
import { askProduct } from "../../texts/ask.ts";
import { licenses, vendors } from "../known.ts";
import { key, makeRequest, product } from "./state.ts";

/** As many as can be looked through; whoever has more types it. */
const CHOICES = 24;

/** What is asked for. */
export function ProductStep({ onBack }: { onBack: () => void }) {
  const products = (vendors.value ?? []).flatMap((vendor) => vendor.products);
  const chosen = product.value.trim();
  const renews = licenses.value?.some((one) => one.product_details.short_code === chosen) === true;
  return (
    <>
      <p>{askProduct.text}</p>
      <div class="row choices" role="group" aria-label={askProduct.text}>
        {products.slice(0, CHOICES).map((code) => (
          <button
            key={code}
            type="button"
            class="button"
            aria-pressed={code === chosen}
            onClick={() => (product.value = code)}
          >
            {code}
          </button>
        ))}
      </div>
      <Field label={askProduct.product} value={product} hint={askProduct.productHint} />
      {renews && <p>{askProduct.renews(chosen)}</p>}
      <Field label={askProduct.key} value={key} hint={askProduct.keyHint} />
      <Way onBack={onBack}>
        <Button kind="main" onClick={makeRequest}>
          {askProduct.make}
        </Button>
      </Way>
    </>
  );
}
