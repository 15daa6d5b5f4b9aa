import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  devicePattern,
  firmwareCharactersMax,
  identifierCharactersMax,
  semverPattern,
  shortNamePattern,
} from '#model/name-forms'

export { deviceIdentifierOf, isShortName } from '#model/name-forms'

/**
 * Identifiers: their patterns and their normal forms.
 *
 * Each has a zod schema for requests. Those that are checked often also have a plain function with the same result.
 * Both return the one normal form, so later code compares identifiers with `===`.
 */

/** The limit of a DNS label, so that a tenant can become a host name. */
export const tenantIdentifierCharactersMax = 63

/** Ids of properties and flake addresses are four bytes on devices. */
export const uint32Max = 0xffff_ffff

/** The last instant of a `Date`, ECMA-262 §21.4.1.1. Milliseconds since 1970. */
export const timestampMsMax = 8_640_000_000_000_000

/** Contract 1.8. */
const servicePattern = /^(?!(?:__proto__|\.{1,2})$)[A-Za-z0-9._:-]+$/

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const tenantPattern = /^[a-z0-9-]+$/

/** The form of all ids that the server makes. §2.1, subscriptionId. */
const serverMadeIdPattern = /^[0-9A-HJ-NP-Za-km-z]{9,16}$/

const decimalKeyPattern = /^[0-9]{1,10}$/
const hexKeyPattern = /^0[xX][0-9a-fA-F]{1,8}$/

/** 1–64 characters, case insensitive; the result is in upper case. §2.1, contract 1.8. */
export const DeviceIdentifier = z
  .string()
  .min(1, { abort: true })
  .max(identifierCharactersMax, { abort: true })
  .regex(devicePattern, 'must be an optional two-character prefix followed by letters, digits, = and -')
  .toUpperCase()

/**
 * Whether a text can be the token of a device: printable ASCII without spaces, because ThingsBoard lets people choose
 * it. Contract 10.
 */
export function isDeviceToken(text: string): boolean {
  return /^[!-~]{16,64}$/.test(text)
}

/**
 * 1–64 of letters, digits and `. _ : -`; those with the shape of a UUID become lower case. §2.1, contract 1.8. `.`,
 * `..` and `__proto__` are refused: no URL can contain the first two as a segment, and no result object can have the
 * third as a key.
 */
export const ServiceIdentifier = z
  .string()
  .min(1)
  .max(identifierCharactersMax)
  .regex(servicePattern, 'must consist of letters, digits and . _ : -')
  .overwrite(lowerCaseOfUuid)

/** A service in a request that also accepts the name of a schema: the name is replaced before this check. */
export const ServiceReference = ServiceIdentifier.clone()

/** The normal form, or undefined if the text is not a service identifier. Same result as `ServiceIdentifier`. */
export function serviceIdentifierOf(text: string): string | undefined {
  if (text.length > identifierCharactersMax || !servicePattern.test(text)) return undefined
  return lowerCaseOfUuid(text)
}

/** `[a-z0-9-]{1,63}`. Contract 1.8. */
export const TenantIdentifier = z
  .string()
  .min(1)
  .max(tenantIdentifierCharactersMax)
  .regex(tenantPattern, 'must consist of lower-case letters, digits and -')

/** Whether a text is a tenant's identifier. Same result as `TenantIdentifier`. */
export function isTenantIdentifier(text: string): boolean {
  return text.length <= tenantIdentifierCharactersMax && tenantPattern.test(text)
}

/** Name of a role, template, project or hardware: 1–64 of letters, digits and `. _ -`. Contract 1.8. */
export const ShortName = z
  .string()
  .min(1)
  .max(identifierCharactersMax)
  .regex(shortNamePattern, 'must consist of letters, digits and . _ -')

/** A semantic version in its strict form, at most 128 characters. §2.7, contract 1.8. */
export const FirmwareVersion = z
  .string()
  .max(firmwareCharactersMax, { abort: true })
  .regex(semverPattern, 'must be a semantic version such as 1.2.3')

/** SHA-256 in lower-case hex: the name of an image. Contract 6, 7. */
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits in lower case')

/** Id created by the server; 9–16 characters. §2.1, contract 1.7. */
export const ServerMadeId = z.string().regex(serverMadeIdPattern, 'must be 9 to 16 Base58 characters')

/** Whether a text has the shape of an id created by the server. Same result as `ServerMadeId`. */
export function isServerMadeId(text: string): boolean {
  return serverMadeIdPattern.test(text)
}

/** 0 … 2³²−1. §2.1, contract 1.8. */
export const PropertyId = z.int().min(0).max(uint32Max)

/** Whether a value is a property's id. Same result as `PropertyId`. */
export function isPropertyId(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= uint32Max && Number.isInteger(value)
}

/**
 * Parses the id of a property: decimal digits, or `0x` and hex digits of either case. Undefined for any other text.
 * §2.1.
 */
export function parsePropertyKey(text: string): number | undefined {
  if (hexKeyPattern.test(text)) return Number.parseInt(text.slice(2), 16)
  if (!decimalKeyPattern.test(text)) return undefined
  const id = Number(text)
  return id <= uint32Max ? id : undefined
}

/** The id of a property as lower-case hex of at least four digits: 0x2000. Contract 1.8. */
export function formatPropertyIdHex(id: number): string {
  return `0x${id.toString(16).padStart(4, '0')}`
}

/** A device's number within its tenant, 1 … 2³²−1, never assigned twice. Contract 3.11. */
export const FlakeAddress = z.int().min(1).max(uint32Max)

/** Unix milliseconds, within what a `Date` can hold. Contract 1.6. */
export const Timestamp = z.int().min(0).max(timestampMsMax)

/** Place in a tenant's event stream; 0 is before the first event. Contract 4.3. */
export const Offset = z.int().min(0)

/** Whether a text has the form 8-4-4-4-12 of hex digits; version and variant are not checked. */
export function isUuidShaped(text: string): boolean {
  return text.length === 36 && uuidPattern.test(text)
}

function lowerCaseOfUuid(text: string): string {
  return isUuidShaped(text) ? text.toLowerCase() : text
}

/** The alphabet of ids that the server makes: no two characters look alike. §2.1. */
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** The largest multiple of 58 that fits into a byte: bytes from there on would make the first letters more likely. */
const fairBytesMax = 256 - (256 % base58.length)

/**
 * A random text of Base58 characters, all equally likely: an id with ten of them (58 bit, contract 1.7), a secret with
 * more.
 */
export function randomId(random: (byteCount: number) => Uint8Array, characters = 10): string {
  let id = ''
  while (id.length < characters) {
    for (const byte of random(characters - id.length)) if (byte < fairBytesMax) id += base58[byte % base58.length]
  }
  return id
}

/** The length of a seed. All ids that one request makes are derived from one seed. */
export const seedBytes = 16

/**
 * Bytes derived from a seed alone; each call returns the next ones. Code that makes ids from them makes the same ids
 * again when it repeats, even after a crash. The bytes are SHA-256 of the seed and a counter, so all values are equally
 * likely.
 *
 * Never for secrets: the seed is stored in clear.
 */
export function seededRandom(seed: Uint8Array): (byteCount: number) => Uint8Array {
  let count = 0
  return (byteCount) => {
    const bytes = new Uint8Array(byteCount)
    for (let filled = 0; filled < byteCount; ) {
      const counter = Buffer.alloc(4)
      counter.writeUInt32BE(count++)
      const block = createHash('sha256').update(seed).update(counter).digest()
      bytes.set(block.subarray(0, byteCount - filled), filled)
      filled += block.byteLength
    }
    return bytes
  }
}
