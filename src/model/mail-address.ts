/** RFC 5321 §4.5.3.1.3, without the angle brackets. */
const addressCharactersMax = 254

/** Dot-atom of RFC 5322 §3.2.3 with the characters of RFC 6531, and a host name. No quotes, comments, lists or groups. */
const addressPattern =
  /^(?=[^@]{1,64}@)[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*@[\p{L}\p{N}\p{M}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?(?:\.[\p{L}\p{N}\p{M}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?)*$/u

/** Whether a mail goes to this address: one mailbox, written so that nothing reads it as anything else. */
export function isMailable(address: string): boolean {
  return address.length <= addressCharactersMax && addressPattern.test(address)
}
