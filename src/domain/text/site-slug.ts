const MAX_LENGTH = 32;

/**
 * The name of a site as a part of a file name, with a dash after it: letters without their accents,
 * digits and dashes. Empty if nothing of the name is left.
 */
export function siteSlug(siteName: string): string {
  const slug = siteName
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_LENGTH)
    .replaceAll(/^-|-$/g, "");
  return slug === "" ? "" : `${slug}-`;
}
