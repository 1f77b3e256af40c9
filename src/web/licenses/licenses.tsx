import { Notice } from "../parts/notice.tsx";
import { currentRoute } from "../router.ts";
import { AirGapWizard } from "../requests/air-gap/air-gap-wizard.tsx";
import { RequestWizard } from "../requests/request-wizard.tsx";
import { ReceiptDialog } from "./return-license.tsx";
import { licenseLoadError, useLicenseData } from "./license-data.ts";
import { LicenseList } from "./license-list.tsx";
import { LicenseDetail } from "./license-detail.tsx";

/** The licenses view: the list, one license, or a wizard. */
export function Licenses() {
  useLicenseData();
  const [screen = "", detail = ""] = currentRoute.value.params;
  return (
    <>
      <ReceiptDialog />
      {licenseLoadError.value !== "" && <Notice kind="bad">{licenseLoadError.value}</Notice>}
      {screen === "" ? (
        <LicenseList />
      ) : screen === "request" ? (
        <RequestWizard key={detail} product={detail} />
      ) : screen === "air-gap" ? (
        <AirGapWizard />
      ) : (
        <LicenseDetail key={screen} id={Number(screen)} />
      )}
    </>
  );
}
