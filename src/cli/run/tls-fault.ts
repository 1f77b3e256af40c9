/** Why a server cannot be used by TLS. Repeating the call does not help. */
export interface TlsFault {
  /** Goes on after the address of the server. */
  readonly reason: string;
  readonly hint: string;
}

const UNTRUSTED: TlsFault = {
  reason: "has a certificate that is not trusted",
  hint: "name the file with the CA certificate of the site with --ca-file",
};

/** By the codes of the runtime. */
const TLS_FAULTS: Readonly<Record<string, TlsFault>> = {
  CERT_UNTRUSTED: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  CERT_HAS_EXPIRED: {
    reason: "has a certificate that has expired",
    hint: "renew it on the server with berth tls init, and check the clock of this machine",
  },
  CERT_NOT_YET_VALID: {
    reason: "has a certificate that is not valid yet",
    hint: "check the clocks of this machine and of the server",
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    reason: "has a certificate for other names",
    hint: "use a name of the server that is in its certificate",
  },
  // The runtime does not tell why.
  EPROTO: {
    reason: "does not complete the TLS handshake",
    hint:
      "check that the address is the TLS address of the server; a server with " +
      'client_auth = "mtls" needs --cert-file',
  },
};

/** Null: another error. */
export function findTlsFault(code: string): TlsFault | null {
  const known = TLS_FAULTS[code];
  if (known !== undefined) return known;
  // Errors of the system begin with E.
  if (!/^(?:ERR_SSL_|ERR_TLS_|(?!E)[A-Z_]+$)/.test(code)) return null;
  return { reason: `cannot be used by TLS: ${code}`, hint: "check the certificate of the server" };
}
