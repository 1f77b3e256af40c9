/**
 * Whether what is typed here would cross a network for everybody to read. The server refuses it
 * then, but by that time it has crossed: better not to ask.
 */
export const isRemotePlainHttp = ({ protocol, hostname }: Address): boolean =>
  protocol === "http:" && !/^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);

interface Address {
  readonly protocol: string;
  readonly hostname: string;
}
