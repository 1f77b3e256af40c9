/** A compact JWE with other members in its protected header, and with the same encrypted bytes. */
export function changeJweHeader(jwe: string, members: object): string {
  const [header = "", ...rest] = jwe.split(".");
  const changed = { ...JSON.parse(Buffer.from(header, "base64url").toString()), ...members };
  return [Buffer.from(JSON.stringify(changed)).toString("base64url"), ...rest].join(".");
}
