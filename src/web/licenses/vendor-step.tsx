import { Button } from "../parts/button.tsx";
import { Way } from "../parts/steps.tsx";
import { askVendor } from "../texts/ask.ts";
import { trust } from "../texts/trust.ts";
import { VendorFacts } from "../trust/vendor-facts.tsx";
import { Adding } from "./adding.tsx";
import { vendors } from "./known.ts";

/** The first step of every walk: whose licenses are accepted here. */
export function VendorStep({ onNext }: { onNext: () => void }) {
  const known = vendors.value ?? [];
  return (
    <>
      <p>{askVendor.text}</p>
      {known.length === 0 ? (
        <>
          <p>{trust.none}</p>
          <Adding what={trust.what} />
        </>
      ) : (
        <>
          <h4>{askVendor.trusted}</h4>
          <ul class="vendors">
            {known.map((vendor) => (
              <li key={vendor.vendor}>
                <VendorFacts vendor={vendor} />
              </li>
            ))}
          </ul>
          <details>
            <summary>{askVendor.other}</summary>
            <Adding what={trust.what} />
          </details>
        </>
      )}
      <Way>
        <Button kind="main" disabled={known.length === 0} onClick={onNext}>
          {askVendor.next}
        </Button>
      </Way>
    </>
  );
}
