import { Button } from "../parts/button.tsx";
import { StepActions } from "../parts/wizard.tsx";
import { vendorStep } from "../requests/request-texts.ts";
import { trust } from "../trust/trust-texts.ts";
import { VendorFacts } from "../trust/vendor-facts.tsx";
import { DocumentInstaller } from "./document-installer.tsx";
import { trustedVendors } from "./license-data.ts";

/** The first step of both wizards: the trusted vendors. */
export function VendorStep({ onNext }: { onNext: () => void }) {
  const vendors = trustedVendors.value ?? [];
  return (
    <>
      <p>{vendorStep.text}</p>
      {vendors.length === 0 ? (
        <>
          <p>{trust.none}</p>
          <DocumentInstaller fileDescription={trust.fileDescription} />
        </>
      ) : (
        <>
          <h4>{vendorStep.trusted}</h4>
          <ul class="vendors">
            {vendors.map((vendor) => (
              <li key={vendor.vendor}>
                <VendorFacts vendor={vendor} />
              </li>
            ))}
          </ul>
          <details>
            <summary>{vendorStep.addVendor}</summary>
            <DocumentInstaller fileDescription={trust.fileDescription} />
          </details>
        </>
      )}
      <StepActions>
        <Button kind="main" disabled={vendors.length === 0} onClick={onNext}>
          {vendorStep.next}
        </Button>
      </StepActions>
    </>
  );
}
