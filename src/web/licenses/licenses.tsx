import { Notice } from "../parts/notice.tsx";
import { place } from "../router.ts";
import { AirGap } from "./air-gap/air-gap.tsx";
import { Ask } from "./ask/ask.tsx";
import { Receipt } from "./give-back.tsx";
import { unread, useKnown } from "./known.ts";
import { LicenseList } from "./license-list.tsx";
import { OneLicense } from "./one-license.tsx";

/** What is installed, and the ways by which licenses come and go. */
export function Licenses() {
  useKnown();
  const [screen = "", detail = ""] = place.value.rest;
  return (
    <>
      <Receipt />
      {unread.value !== "" && <Notice kind="bad">{unread.value}</Notice>}
      {screen === "" ? (
        <LicenseList />
      ) : screen === "request" ? (
        <Ask key={detail} product={detail} />
      ) : screen === "air-gap" ? (
        <AirGap />
      ) : (
        <OneLicense key={screen} id={Number(screen)} />
      )}
    </>
  );
}
