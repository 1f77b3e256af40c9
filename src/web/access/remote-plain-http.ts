/**
 * Whether a credential typed here would cross the network unencrypted. The server would refuse it,
 * but only after it was sent: so the page does not ask for one.
 */
export const isRemotePlainHttp = ({ protocol, hostname }: Address): boolean =>
  protocol === "http:" && !/^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);

interface Address {
  readonly protocol: string;
  readonly hostname: string;
}
