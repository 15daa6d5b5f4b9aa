import { domainToASCII } from 'node:url'
import { utf8BytesOf } from '#model/text'

/** Mail addresses of recipients and senders. */

/** RFC 5321 §4.5.3.1.3, without the angle brackets of a path. */
const addressBytesMax = 254
/** RFC 5321 §4.5.3.1.1. */
const localPartBytesMax = 64

/** Dot-atom of RFC 5322 §3.2.3, with the characters that RFC 6531 §3.3 adds. */
const localPart =
  /^(?:[\w!#$%&'*+/=?^`{|}~-]|[^\p{ASCII}\p{C}\p{Z}])+(?:\.(?:[\w!#$%&'*+/=?^`{|}~-]|[^\p{ASCII}\p{C}\p{Z}])+)*$/u
/** As typed: letters outside ASCII are checked after their conversion to ASCII. */
const typedDomain = /^(?:[A-Za-z0-9.-]|[^\p{ASCII}\p{C}\p{Z}])+$/u
/** RFC 1123 §2.1; the last label is not a number, so that it is not an IP address. */
const hostName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/**
 * Whether the server sends mail to this address: one mailbox, written plainly, at a host name. Quoted local parts,
 * address literals, lists, groups, routes and display names are refused, although accounts may have such addresses:
 * mail servers interpret each of them differently.
 */
export function isMailable(address: string): boolean {
  const at = address.indexOf('@')
  const local = address.slice(0, at)
  const domain = address.slice(at + 1)
  return (
    at > 0 &&
    address.isWellFormed() &&
    utf8BytesOf(address) <= addressBytesMax &&
    utf8BytesOf(local) <= localPartBytesMax &&
    localPart.test(local) &&
    typedDomain.test(domain) &&
    hostName.test(domainToASCII(domain))
  )
}

/** The sender of mail: the address, and a display name, which may be empty. */
export interface Sender {
  readonly name: string
  readonly address: string
}

/** Parses `devices@example.com` or `Devices <devices@example.com>`; undefined for any other text. */
export function senderOf(text: string): Sender | undefined {
  const [, name = '', address = text] = /^([^\p{Cc}<>@]+) <([^<>]+)>$/u.exec(text) ?? []
  return isMailable(address) ? { name: name.trim(), address } : undefined
}

/** The part after the `@` of a recipient's address, in ASCII. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.indexOf('@') + 1))
}
