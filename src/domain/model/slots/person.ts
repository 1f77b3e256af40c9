/** A person is the user name up to the first `#`; a leading `#` does not separate anything. */
export function personOf(user: string): string {
  const end = user.indexOf("#", 1);
  return end < 0 ? user : user.slice(0, end);
}
